"""The README is current: its graph is the drawn one, its Python snippet runs, its make targets and links exist."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.app.conftest import environment

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def block(name, language):
    """The fenced block between the markers `<!-- name:begin ... -->` and `<!-- name:end -->`."""
    return re.search(rf"<!-- {name}:begin.*?-->\s*```{language}\n(.*?)```\s*<!-- {name}:end -->", README, re.DOTALL)[1]


def test_graph_is_the_drawn_one():
    from graph.build import graph

    assert block("graph", "mermaid").strip() == graph.get_graph().draw_mermaid().strip()


@pytest.mark.slow
def test_snippet_runs(tmp_path, home):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    done = subprocess.run(
        [sys.executable, "-c", block("snippet", "python")],
        cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.search(r"\d+\.\d+", done.stdout), done.stdout
    assert list(home.glob("runs/*/best.py"))


def test_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"^make (\w+)", README, re.MULTILINE)) | {
        "demo",
        "install",
        "test",
        "lint",
        "types",
        "dev",
        "bench",
    }:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_named_examples_exist():
    for name in re.findall(r"examples/\w+\.py", README):
        assert (ROOT / name).is_file(), name


def test_map_names_every_room():
    for room in ("app", "graph", "nodes", "knowledge", "measure", "backends", "sketch", "examples", "tests"):
        assert f"| `{room}/` |" in README
