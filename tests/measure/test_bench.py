"""The bench's own life: nothing of it stays behind, whichever way it ends."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from measure.bench import Bench
from measure.environment import fingerprint
from tests.measure.conftest import HONEST, candidate

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import sys, threading, time
from measure.bench import Bench
from measure.task import load
bench = Bench(load(sys.argv[1]), sandbox=sys.argv[3], scratch=__import__("pathlib").Path(sys.argv[2]))
assert bench.admit()["ok"]
threading.Thread(target=bench.judge, args=(open(sys.argv[4]).read(),), daemon=True).start()
time.sleep(1.0)
print("ready", flush=True)
if sys.argv[5] == "exit":
    sys.exit(0)
time.sleep(600)
"""


def holders(scratch):
    """Processes that still know the scratch folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            text = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        except OSError:
            continue
        if str(scratch).encode() in text and int(process.name) != os.getpid():
            found.append(int(process.name))
    return found


def gone(scratch, seconds=8.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not holders(scratch):
            return True
        time.sleep(0.05)
    return False


def test_close_leaves_nothing(scale_task, quick, tmp_path, kernel_cache):
    scratch = tmp_path / "s"
    with Bench(scale_task, limits=quick, scratch=scratch) as bench:
        assert bench.judge(HONEST)["ok"]
        assert holders(scratch) and list(scratch.iterdir())
    assert gone(scratch, 2.0) and not list(scratch.iterdir())
    assert bench.judge(HONEST)["kind"] == "environment"
    bench.close()


def test_an_exception_closes_too(scale_task, quick, tmp_path, kernel_cache):
    with pytest.raises(KeyError), Bench(scale_task, limits=quick, scratch=tmp_path / "s"):
        raise KeyError
    assert gone(tmp_path / "s", 2.0)


@pytest.mark.parametrize(("tier", "end"), [("bubblewrap", "kill"), ("rlimits", "kill"), ("rlimits", "exit")])
def test_the_judges_death_ends_everything(scale_task, tmp_path, tier, end, kernel_cache):
    from measure import sandbox

    if sandbox._reason(tier):
        pytest.skip(sandbox._reason(tier))
    scratch, source = tmp_path / "s", tmp_path / "c.py"
    source.write_text(candidate("time.sleep(500)"))
    argv = [sys.executable, "-c", SCRIPT, scale_task.path, str(scratch), tier, str(source), end]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)}) as judge:
        assert judge.stdout.readline() == b"ready\n"
        if end == "kill":
            assert len(holders(scratch)) >= 3
            judge.send_signal(signal.SIGKILL)
        judge.wait(30)
        assert gone(scratch), holders(scratch)
    left = list(scratch.iterdir())
    assert bool(left) == (end == "kill")
    from measure.scratch import sweep

    sweep(scratch)
    assert not list(scratch.iterdir())


def test_a_living_benchs_folder_is_not_swept(bench):
    from measure.scratch import Scratch

    root = bench._session.scratch.root
    Scratch(root.parent).close()
    assert root.exists()


def test_threads_take_turns(bench):
    verdicts = []
    workers = [threading.Thread(target=lambda: verdicts.append(bench.judge(HONEST)["kind"])) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert verdicts == ["ok"] * 3


def test_a_bench_outlives_the_thread_that_made_it(scale_task, quick, kernel_cache):
    made = []
    thread = threading.Thread(target=lambda: made.append(Bench(scale_task, limits=quick)))
    thread.start()
    thread.join()
    with made[0] as bench:
        assert bench.judge(HONEST)["ok"]
        assert bench._session.candidate_host.number == 1


def test_the_environments_fingerprint_is_stable():
    one = fingerprint()
    assert one == fingerprint() and len(one["digest"]) == 16
    assert {"cpu", "cores", "torch", "compiler", "python", "os"} <= set(one)


@pytest.mark.slow
def test_confirm_measures_both_baselines_in_fresh_processes(bench):
    before = bench.judge(HONEST)["evidence"]["seeds"]
    verdict = bench.confirm(HONEST)
    assert verdict["ok"], verdict["message"]
    evidence = verdict["evidence"]
    assert not set(before.values()) & set(evidence["seeds"].values())
    assert evidence["speedup"]["eager"]["median"] > 0 and evidence["baseline"] in ("eager", "compile")
    assert evidence["speedup"]["compile"] is None or evidence["speedup"]["compile"]["median"] > 0
    assert (evidence["speedup"]["compile"] is None) == ("reason" in evidence["compile"])
    assert bench.confirm(candidate("return torch.softmax(x, 1)"))["kind"] == "wrong"
