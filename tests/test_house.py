"""The house keeps its shape: imports only point down, files stay small, names say what they hold."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FLOOR = {"app": 5, "graph": 4, "nodes": 3, "knowledge": 2, "measure": 2, "backends": 1, "sketch": 0}
BARE = {"measure", "backends", "sketch"}  # they run on a bare GPU machine
BARE_MAY_IMPORT = {"torch", "triton", "numpy", "pybind11", "typing_extensions", "setuptools"}
FILES = sorted(path for room in FLOOR for path in (ROOT / room).rglob("*.py"))
VAGUE = {"utils", "util", "helpers", "helper", "common", "misc", "tools"}


def module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> list[tuple[str, int]]:
    """Every imported dotted name with its line, whether at module level or inside a function."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            found += [(f"{node.module}.{alias.name}", node.lineno) for alias in node.names]
    return found


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_there_is_a_house():
    assert {path.relative_to(ROOT).parts[0] for path in FILES} >= {"app", "graph", "nodes", "measure", "backends", "sketch"}


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_imports_point_down(path):
    room = path.relative_to(ROOT).parts[0]
    up = [
        f"{relative(path)}:{line} imports {name}"
        for name, line in imports(path)
        if (other := name.split(".")[0]) in FLOOR and other != room and FLOOR[other] >= FLOOR[room]
    ]
    assert not up, up


@pytest.mark.parametrize("path", [p for p in FILES if p.relative_to(ROOT).parts[0] in BARE], ids=relative)
def test_bare_rooms_need_only_torch(path):
    allowed = set(sys.stdlib_module_names) | BARE_MAY_IMPORT | set(FLOOR)
    foreign = [f"{relative(path)}:{line} imports {name}" for name, line in imports(path) if name.split(".")[0] not in allowed]
    assert not foreign, foreign


def test_no_cycles():
    modules = {module(path): path for path in FILES}
    edges = {name: set() for name in modules}
    for name, path in modules.items():
        for target, _ in imports(path):
            for candidate in (target, target.rpartition(".")[0]):
                if candidate in modules and candidate != name and modules[candidate].name != "__init__.py":
                    edges[name].add(candidate)
                    break
    done: set[str] = set()

    def visit(name, trail):
        assert name not in trail, " -> ".join([*trail[trail.index(name) :], name])
        if name not in done:
            for other in sorted(edges[name]):
                visit(other, [*trail, name])
            done.add(name)

    for name in sorted(edges):
        visit(name, [])


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_files_are_small_and_named(path):
    assert len(path.read_text().splitlines()) <= 300, f"{relative(path)} is longer than 300 lines"
    assert not VAGUE & set(path.relative_to(ROOT).with_suffix("").parts), relative(path)


@pytest.mark.parametrize("path", [p for p in FILES if p.name == "__init__.py"], ids=relative)
def test_init_is_a_docstring(path):
    body = ast.parse(path.read_text()).body
    assert len(body) == 1 and ast.get_docstring(ast.parse(path.read_text())), relative(path)


def test_every_python_folder_is_a_package():
    bare = {relative(path.parent) for path in FILES if not (path.parent / "__init__.py").exists()}
    assert not bare, bare


def test_functions_are_short():
    lengths = sorted(
        node.end_lineno - node.lineno + 1
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    median, ninety = lengths[len(lengths) // 2], lengths[len(lengths) * 9 // 10]
    assert median <= 10 and ninety <= 30, (median, ninety)


def test_readme_lists_the_commands():
    from app.cli import app

    readme = (ROOT / "README.md").read_text()
    commands = {command.name or command.callback.__name__ for command in app.registered_commands}
    listed = {line.split()[1] for line in readme.splitlines() if line.startswith(("pragma ", "| `pragma "))} | {
        line.split("`pragma ")[1].split()[0].strip("`") for line in readme.splitlines() if line.startswith("| `pragma ")
    }
    assert commands <= listed, commands - listed
    assert {name for name in listed if name.isalpha() and name != "pragma"} <= commands
