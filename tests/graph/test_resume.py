"""Killed by SIGKILL in each node in turn, one run still finishes: no attempt is lost or counted twice, the best is kept."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from graph import build
from graph.context import Context
from graph.run import resume, start
from knowledge import runs
from knowledge.runs import RunError
from nodes import benches

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "LANGGRAPH_STRICT_MSGPACK": "true"}
ATTEMPTS = 3


def _work(home, task="", node=""):
    program = [sys.executable, str(ROOT / "tests/graph/killed.py"), str(home), str(task), node]
    done = subprocess.run(program, env={**ENVIRONMENT}, capture_output=True, text=True, timeout=300)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def _waiting(home):
    """The node that the last checkpoint waits for, and the attempts that are in it."""
    run_id = runs.listing(home)[0]["run_id"]
    with SqliteSaver.from_conn_string(str(home / "checkpoints.sqlite")) as saver:
        state = build.build(saver).get_state({"configurable": {"thread_id": run_id}})
    return state.next, [row["n"] for row in state.values.get("rows", [])]


def _check(home):
    (listed,) = runs.listing(home)
    result = listed["result"]
    assert listed["status"] == "finished"
    assert result["verified"], result["message"]
    assert [row["n"] for row in result["rows"]] == list(range(1, len(result["rows"]) + 1))
    assert result["attempts"] == len(result["rows"]) == result["spend"]["attempts"]
    assert all(row["verdict"] and row["outcome"] for row in result["rows"][:-1])
    assert result["stop_reason"] in ("attempts", "converged", "at-the-roof")
    best = Path(result["best"]["path"]).read_text()
    assert runs.digest(best) == result["best"]["sha256"] == result["rows"][result["best"]["n"] - 1]["source"]
    return result


@pytest.mark.slow
def test_killed_in_each_node_in_turn(tmp_path, tiny):
    """At the worst moment: everything the node writes is written, its checkpoint is not."""
    home = tmp_path / "home"
    task = tiny
    for node in build.NODES:
        code, _, errors = _work(home, task, node)
        assert code == -signal.SIGKILL, errors
        assert runs.listing(home)[0]["status"] == ("finished" if node == "finish" else "interrupted")
        assert _waiting(home)[0] == (node,)
        task = ""
    code, events, errors = _work(home)
    assert code == 0, errors
    assert events[0]["event"] == "node"
    assert events[0]["node"] == "finish"
    result = _check(home)
    assert len(result["rows"]) <= ATTEMPTS
    assert _work(home)[:2] == (0, [])


@pytest.mark.slow
def test_killed_from_outside_while_it_measures(tmp_path, tiny):
    home = tmp_path / "home"
    program = [sys.executable, str(ROOT / "tests/graph/killed.py"), str(home), str(tiny), ""]
    with subprocess.Popen(program, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as working:
        for line in working.stdout:
            event = json.loads(line)
            if (event["event"], event.get("node"), event.get("n")) == ("node", "verifier", 2):
                run_id = runs.listing(home)[0]["run_id"]
                with pytest.raises(RunError, match="another process"):
                    next(resume(run_id, str(home)))
                working.send_signal(signal.SIGKILL)
                break
    assert _waiting(home) == (("verifier",), [1, 2])
    code, events, errors = _work(home)
    assert code == 0, errors
    assert next(event["n"] for event in events if event["event"] == "attempt") == 2
    _check(home)


@pytest.mark.slow
def test_two_runs_at_once_in_one_home(tmp_path, tiny):
    program = [sys.executable, str(ROOT / "tests/graph/killed.py"), str(tmp_path), str(tiny), ""]
    both = [subprocess.Popen(program, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(2)]
    ended = [(working.communicate(timeout=300)[1], working.returncode) for working in both]
    assert [code for _, code in ended] == [0, 0], ended
    listed = runs.listing(tmp_path)
    assert [(row["status"], row["result"]["verified"]) for row in listed] == [("finished", True)] * 2
    for name in ("store.sqlite", "checkpoints.sqlite"):
        with sqlite3.connect(tmp_path / name) as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    with sqlite3.connect(tmp_path / "store.sqlite") as database:
        ((stored,),) = database.execute("SELECT speedup FROM kernels").fetchall()
    assert stored == max(row["result"]["speedup"]["eager"]["median"] for row in listed)
    _check_recall(tmp_path, tiny)


def _check_recall(home, task):
    """The next run starts from what the two left."""
    run_id, events = start(task, Context(home=str(home), attempts=1))
    told = {event["event"]: event for event in events if event["event"] in ("admitted", "attempt")}
    assert told["admitted"]["known"] > 0
    assert (told["attempt"]["n"], told["attempt"]["method"], told["attempt"]["verdict"]) == (1, "recall", "ok")
    assert runs.result(home, run_id)["known"]["run_id"] in [row["run_id"] for row in runs.listing(home)]


@pytest.mark.slow
def test_on_another_machine_the_best_is_measured_anew(tmp_path, tiny):
    config, context = {"configurable": {"thread_id": "moved"}}, Context(attempts=2, home=str(tmp_path))
    with SqliteSaver.from_conn_string(str(tmp_path / "checkpoints.sqlite")) as saver:
        graph = build.build(saver)
        state = graph.invoke({"task": str(tiny)}, config, context=context, interrupt_after=["profiler"])
        assert [row["n"] for row in state["rows"]] == [1]
        elsewhere = {"environment": {**state["environment"], "digest": "elsewhere"}, "best": {**state["best"], "time_ms": -1.0}}
        graph.update_state(config, elsewhere, as_node="profiler")
        told = list(graph.stream(None, config, context=context, stream_mode="custom", interrupt_before=["finish"]))
        after = graph.get_state(config).values
    benches.close(state["run_id"])
    assert any("another machine" in event.get("message", "") for event in told if event["event"] == "note")
    assert [row["n"] for row in after["rows"]] == [1, 2]
    assert after["best"]["time_ms"] > 0
    assert after["environment"]["digest"] == state["environment"]["digest"]


@pytest.mark.slow
def test_a_task_that_changes_during_the_run_is_told(tmp_path, tiny):
    run_id, events = start(tiny, Context(home=str(tmp_path), attempts=2))
    for event in events:
        if event["event"] == "outcome":
            break
    events.close()
    assert runs.listing(tmp_path)[0]["status"] == "interrupted"
    tiny.write_text(tiny.read_text().replace("* 2", "* 3"))
    list(resume(run_id, str(tmp_path)))
    result = runs.result(tmp_path, run_id)
    assert (result["stop_reason"], result["verified"]) == ("bad-task", False)
    assert "has changed since this run began" in result["message"]
    assert [row["verdict"] for row in result["rows"]] == ["ok", "task-changed"]


def test_an_unknown_run_is_refused_before_any_work(tmp_path):
    with pytest.raises(RunError, match="no run 'nothing'"):
        resume("nothing", str(tmp_path))


def test_a_broken_task_ends_with_one_line(tmp_path):
    task = tmp_path / "broken.py"
    task.write_text("class Model:\n    pass\n")
    run_id, events = start(task, Context(home=str(tmp_path / "home")))
    assert [event["event"] for event in events] == ["node", "node", "finish"]
    result = runs.result(tmp_path / "home", run_id)
    assert (result["stop_reason"], result["verified"], result["rows"]) == ("bad-task", False, [])
    assert "get_inputs" in result["message"]
    assert "\n" not in result["message"]


def test_an_unknown_model_is_one_clear_line(tmp_path, tiny):
    run_id, events = start(tiny, Context(home=str(tmp_path / "home"), model="gpt-x"))
    list(events)
    result = runs.result(tmp_path / "home", run_id)
    assert (result["stop_reason"], result["message"]) == ("bad-model", "model 'gpt-x': only --model builtin in this version")


def test_checkpoints_that_are_no_database_are_one_line(tmp_path, tiny):
    run_id, events = start(tiny, Context(home=str(tmp_path)))
    (tmp_path / "checkpoints.sqlite").write_bytes(b"no database at all, but text" * 50)
    with pytest.raises(RunError, match=r"checkpoints\.sqlite") as caught:
        list(events)
    assert caught.value.kind == "folder"
    assert runs.status(runs.folder(tmp_path, run_id)) == "interrupted"
