"""The best kernels across runs, as the nodes see them: look up before, remember after."""

from pathlib import Path
from typing import Any

from knowledge import runs
from knowledge.store import Kernel, Key, Store
from nodes.context import Context
from nodes.progress import Clock
from nodes.state import Attempt, Known, Speedup, State


def known(state: State, context: Context, clock: Clock) -> Known | None:
    """The best kernel that the store has for this task on this device, copied into the run's folder."""
    store = _store(context)
    kernel = store.get(_key(state, context))
    _tell(store, clock)
    if kernel is None:
        return None
    sha = runs.keep(Path(state["folder"]), "sources", kernel.source)
    return {"run_id": kernel.run_id, "source": sha, "hints": kernel.hints, "speedup": kernel.speedup}


def remember(state: State, context: Context, clock: Clock, row: Attempt, speedup: Speedup) -> None:
    """Keeps a confirmed kernel, unless the store knows a faster one."""
    source = runs.text_path(Path(state["folder"]), "sources", row["source"]).read_text()
    kernel = Kernel(source, row["hints"], speedup["median"], speedup["low"], speedup["high"], state["run_id"])
    store = _store(context)
    store.put(_key(state, context), kernel)
    _tell(store, clock)


def forget(state: State, context: Context, row: Attempt) -> None:
    """Drops a recalled kernel that did not pass this time."""
    source = runs.text_path(Path(state["folder"]), "sources", row["source"]).read_text()
    _store(context).drop(_key(state, context), source)


def _store(context: Context) -> Store:
    return Store(runs.home(context.home) / "store.sqlite")


def _key(state: State, context: Context) -> Key:
    return Key(state["admission"]["fingerprint"], context.backend, _device(state["environment"]), context.precision)


def _device(environment: dict[str, Any]) -> str:
    """An accelerator's name, else the processor with the cores that the run may use."""
    device = str(environment["device"])
    return f"{environment['cpu']} x{environment['cores']}" if device == "cpu" else device


def _tell(store: Store, clock: Clock) -> None:
    for note in store.notes:
        clock.tell("note", message=note)
