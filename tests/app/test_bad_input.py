"""Bad input: one clear line on stderr that names the place, exit 2, no traceback; with --json also one object on stdout."""

import json
import subprocess

import pytest

from app import cli

HEAD = "import torch\nfrom torch import nn\n\n\n"
MODEL = "class Model(nn.Module):\n    def forward(self, x):\n        return {result}\n\n\n"
INPUTS = "def get_inputs():\n    return [torch.randn(64, 64)]\n\n\ndef get_init_inputs():\n    return []\n"


def source(result="x + 1", inputs=INPUTS, head=HEAD):
    return head + MODEL.format(result=result) + inputs


TASKS = {
    "syntax": ("def broken(:\n", "broken.py:1"),
    "no-model": (HEAD + INPUTS, "class Model"),
    "no-inputs": (source(inputs=""), "get_inputs"),
    "inputs-raise": (source(inputs="def get_inputs():\n    raise OSError('no such data')\n"), "no such data"),
    "import-raises": (source(head="import torch, no_such_library\nfrom torch import nn\n\n\n"), "no_such_library"),
    "non-tensor-output": (source("'a string'"), "tensor"),
    "reference-raises": (source("x @ torch.randn(3, 3)"), "forward"),
    "nondeterministic": (source("x * (time.perf_counter_ns() % 1000)", head="import time\n\n" + HEAD), "determinis"),
    "draws random numbers": (source("x + torch.rand(64, 64)"), "rand"),
    "unsupported": (source("torch.linalg.svdvals(x)"), "svd"),
}


@pytest.fixture
def inside(capfd, monkeypatch, tmp_path):
    """`pragma ARGUMENTS` in this process (the imports are paid once), seen as a shell would: code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        capfd.readouterr()
        code = cli.run([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return subprocess.CompletedProcess(arguments, code, out, err)

    return run


def refused(done, *words, code=2):
    """One line, as asked; the assertion shows what came instead."""
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr + done.stdout, done.stderr
    complaints = [line for line in done.stderr.splitlines() if line.startswith("pragma: ")]
    assert len(complaints) == 1, done.stderr
    for word in words:
        assert word in complaints[0], complaints[0]
    return complaints[0]


@pytest.mark.parametrize("kind", TASKS)
def test_broken_task(kind, inside, tmp_path):
    text, word = TASKS[kind]
    path = tmp_path / "broken.py"
    path.write_text(text)
    assert str(path) in refused(inside("optimize", path, "--attempts", 2), word)


def test_missing_task(pragma, tmp_path):
    line = refused(pragma("optimize", tmp_path / "absent.py"), "absent.py")
    done = pragma("optimize", tmp_path / "absent.py", "--json")
    refused(done)
    assert json.loads(done.stdout)["message"] in line


def test_task_is_a_folder(inside, tmp_path):
    refused(inside("optimize", tmp_path), str(tmp_path))


@pytest.mark.parametrize(
    ("option", "value", "choice"),
    [("--backend", "fortran", "cpp"), ("--precision", "exact", "kernelbench"), ("--model", "oracle", "builtin")],
)
def test_unknown_choice_lists_the_choices(option, value, choice, inside, task):
    refused(inside("optimize", task, option, value), value, choice)


@pytest.mark.parametrize("arguments", [["--attempts", "0"], ["--attempts", "many"], ["--minutes", "-1"], ["--no-such-option"]])
def test_bad_option(arguments, inside, task):
    refused(inside("optimize", task, *arguments), arguments[0])


def test_unknown_command(pragma):
    refused(pragma("optimise"), "optimise", "--help")


def test_no_compiler(pragma, task, tmp_path):
    empty = tmp_path / "bin"
    empty.mkdir()
    refused(pragma("optimize", task, PATH=str(empty), CXX=None), "compiler", "g++")


@pytest.mark.parametrize("home", ["/proc/pragma", "a-file", "a-file/below"])
def test_unwritable_run_folder(home, inside, task, tmp_path):
    (tmp_path / "a-file").write_text("occupied")
    place = home if home.startswith("/") else tmp_path / home
    refused(inside("optimize", task, "--home", place), str(place), "--home")


def test_full_run_folder(inside, task):
    refused(inside("optimize", task, "--home", "/dev/full"), "/dev/full")


def test_unwritable_out(inside, task, tmp_path):
    (tmp_path / "a-file").write_text("occupied")
    refused(inside("optimize", task, "--out", tmp_path / "a-file" / "best.py"), "--out")


CANDIDATES = {
    "absent": (None, "cannot be read"),
    "syntax": ("class ModelNew(:\n", "candidate.py:1"),
    "no ModelNew": ("class Model:\n    pass\n", "ModelNew"),
    "only mentions ModelNew": ("'''ModelNew'''\n# class ModelNew\n", "ModelNew"),
}


@pytest.mark.parametrize("command", ["verify", "profile"])
@pytest.mark.parametrize("kind", CANDIDATES)
def test_bad_candidate(command, kind, inside, task, tmp_path):
    text, word = CANDIDATES[kind]
    path = tmp_path / "candidate.py"
    if text is not None:
        path.write_text(text)
    refused(inside(command, task, path), "candidate.py", word)


@pytest.mark.parametrize("command", ["resume", "report"])
@pytest.mark.parametrize("run", [[], ["20990101-none"], ["../../etc"]])
def test_unknown_run(command, run, inside):
    refused(inside(command, *run), "pragma runs")
