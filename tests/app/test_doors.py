"""The doors end to end, as processes: exit codes, one JSON object, a kernel that needs no project, interrupts that resume."""

import json
import os
import signal
import subprocess
import sys
import sysconfig
import textwrap
import time

import pytest

from tests.app.conftest import command, environment

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def optimised(tmp_path_factory):
    """One finished run: (record, task file, home)."""
    from tests.app.conftest import SMALL_TASK

    folder = tmp_path_factory.mktemp("optimised")
    (folder / "small.py").write_text(SMALL_TASK)
    done = subprocess.run(
        command("optimize", folder / "small.py", "--attempts", 2, "--json", "--out", folder / "fast.py", "--home", folder / "home"),
        cwd=folder, env=environment(), capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), folder / "small.py", folder / "home"


def test_json_is_one_object_with_the_promised_keys(optimised):
    record, task, home = optimised
    promised = {
        "run_id",
        "task",
        "backend",
        "verified",
        "speedup",
        "attempts",
        "best",
        "stop_reason",
        "sandbox_tier",
        "profile_tier",
        "spend",
    }
    assert promised <= record.keys()
    assert record["verified"] is True and record["attempts"] <= 2 and record["task"] == str(task)
    for baseline in ("eager", "compile"):
        speedup = record["speedup"][baseline]
        assert 0 < speedup["low"] <= speedup["median"] <= speedup["high"]
    best = home / "runs" / record["run_id"] / "best.py"
    assert record["best"]["path"] == str(best) and len(record["best"]["sha256"]) == 64
    assert (task.parent / "fast.py").read_bytes() == best.read_bytes()


def test_best_runs_without_the_project(optimised, tmp_path):
    """-S leaves out the .pth files by which an editable install puts the project on the path; torch's folder is named instead."""
    record, task, _ = optimised
    program = f"""
        import importlib.util, sys
        sys.path.append({sysconfig.get_path("purelib")!r})
        def load(name, path):
            spec = importlib.util.spec_from_file_location(name, path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
        assert importlib.util.find_spec("measure") is None, "the project is on the path"
        best, task = load("best", {record["best"]["path"]!r}), load("task", {str(task)!r})
        import torch
        torch.manual_seed(7)
        inputs = task.get_inputs()
        want = task.Model(*task.get_init_inputs())(*inputs)
        got = best.ModelNew(*task.get_init_inputs())(*inputs)
        torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-7)
        print("same")
    """
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", textwrap.dedent(program)],
        cwd=tmp_path, env=environment(PYTHONPATH=None), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.stdout == "same\n", done.stderr


def test_report_is_there_and_rebuilt(optimised, pragma):
    record, _, home = optimised
    page = home / "runs" / record["run_id"] / "report.html"
    first = page.read_text()
    assert record["run_id"] in first and first.count("<svg") >= 1
    page.unlink()
    done = pragma("report", record["run_id"][:-2], "--home", home)
    assert done.returncode == 0 and done.stdout.strip() == str(page)
    assert page.read_text() == first


def test_runs_lists_it(optimised, pragma):
    record, _, home = optimised
    done = pragma("runs", "--home", home)
    assert done.returncode == 0 and record["run_id"] in done.stdout and "finished" in done.stdout
    listed = json.loads(pragma("runs", "--home", home, "--json").stdout)["runs"]
    assert [run["run_id"] for run in listed] == [record["run_id"]]


def test_verify_accepts_the_best_and_rejects_a_wrong_one(optimised, pragma, tmp_path):
    record, task, _ = optimised
    done = pragma("verify", task, record["best"]["path"], "--json")
    verdict = json.loads(done.stdout)
    assert done.returncode == 0 and verdict["verified"] and verdict["kind"] == "ok" and verdict["speedup"]["compile"]["median"] > 0
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x * 0.5\n")
    done = pragma("verify", task, wrong)
    assert done.returncode == 1 and "rejected" in done.stdout and "Traceback" not in done.stderr


def test_profile_explains(optimised, pragma):
    record, task, _ = optimised
    done = pragma("profile", task, record["best"]["path"])
    assert done.returncode == 0, done.stderr
    for word in ("tier", "roofline", "bottleneck", "wall_ms", "GB/s"):
        assert word in done.stdout, done.stdout
    profile = json.loads(pragma("profile", task, record["best"]["path"], "--json").stdout)
    assert profile["metrics"]["wall_ms"] > 0 and profile["diagnosis"]["bottleneck"]


def attempts_of(text):
    return [line for line in text.splitlines() if line.startswith("attempt ")]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_saves_and_resume_finishes(number, task, home, tmp_path, pragma):
    process = subprocess.Popen(
        command("optimize", task, "--attempts", 4),
        env=environment(PYTHONUNBUFFERED="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    seen = []
    for line in process.stdout:
        seen.append(line)
        if line.startswith("attempt "):
            # a terminal's Ctrl-C reaches every process of the group, a service manager's SIGTERM only the first
            (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
            break
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, (seen, err)
    (line,) = [line for line in err.splitlines() if "pragma resume" in line]
    assert "Traceback" not in err
    (folder,) = (home / "runs").iterdir()
    assert folder.name in line and not (folder / "run.json").exists()

    done = pragma("resume", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads((folder / "run.json").read_text())["rows"]
    assert json.loads(done.stdout)["run_id"] == folder.name
    assert [row["n"] for row in rows] == list(range(1, len(rows) + 1))


def test_resume_of_a_finished_run_tells_its_result(optimised, pragma):
    record, _, home = optimised
    begun = time.monotonic()
    done = pragma("resume", record["run_id"], "--home", home, "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["best"] == record["best"]
    assert time.monotonic() - begun < 20


def test_doctor(pragma):
    done = pragma("doctor", "--no-measure", "--json")
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert {"python", "torch", "compiler", "cores", "sandbox", "run folder", "kernel cache"} <= checks.keys()
    assert done.returncode == 0, done.stdout


def test_doctor_without_a_compiler_is_an_environment_fault(pragma, tmp_path):
    done = pragma("doctor", "--no-measure", PATH=str(tmp_path), CXX=None)
    assert done.returncode == 3 and "MISSING" in done.stdout and "compiler" in done.stdout
