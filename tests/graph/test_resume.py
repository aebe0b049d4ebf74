"""Killed by SIGKILL in each node in turn, one run still finishes: no attempt is lost or counted twice, the best is kept."""

import json
import os
import signal
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

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "LANGGRAPH_STRICT_MSGPACK": "true"}
ATTEMPTS = 3


def _work(home, task="", node="", moment=""):
    program = [sys.executable, str(ROOT / "tests/graph/killed.py"), str(home), str(task), node, moment]
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
@pytest.mark.parametrize("moment", ["begin", "end"])
def test_killed_in_each_node_in_turn(tmp_path, tiny, moment):
    home = tmp_path / "home"
    task = tiny
    for node in build.NODES:
        code, _, errors = _work(home, task, node, moment)
        assert code == -signal.SIGKILL, errors
        assert runs.listing(home)[0]["status"] == ("finished" if (node, moment) == ("finish", "end") else "interrupted")
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
    program = [sys.executable, str(ROOT / "tests/graph/killed.py"), str(home), str(tiny), "", ""]
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
