"""The benches of this process: one for each run, opened on first use, rebuilt after a resume, closed by `finish`.

A bench owns processes and golden outputs, which no checkpoint can hold; so it lives here and the state only names it.
"""

import atexit
import threading
from functools import cache
from typing import Any

from measure.bench import Bench
from measure.environment import fingerprint
from measure.task import TaskError, load
from measure.verdict import Verdict, failed
from nodes.context import Context
from nodes.state import State

_open: dict[str, Bench] = {}
_guard = threading.Lock()


def bench(state: State, context: Context) -> Bench | Verdict:
    """The run's bench, or the verdict that says why there is none (the task file is gone, or changed since admission)."""
    with _guard:
        if state["run_id"] in _open:
            return _open[state["run_id"]]
    try:
        task = load(state["task"])
    except TaskError as error:
        return failed(error.kind, error.message)
    expected = (state.get("admission") or {}).get("fingerprint", task.fingerprint)
    if task.fingerprint != expected:
        return failed("task-changed", f"{state['task']} has changed since this run began: start a new run")
    opened = Bench(task, context.precision)
    opened.__enter__()
    with _guard:
        _open[state["run_id"]] = opened
    return opened


@cache
def here() -> dict[str, Any]:
    """The environment's fingerprint, taken once in a process; `digest` tells two machines apart."""
    return fingerprint()


def close(run_id: str) -> None:
    """Ends the run's processes; harmless when there are none."""
    with _guard:
        opened = _open.pop(run_id, None)
    if opened is not None:
        opened.close()


@atexit.register
def close_all() -> None:
    for run_id in list(_open):
        close(run_id)
