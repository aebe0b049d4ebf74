"""Runs as the doors see them: start one, go on with a killed one; each attempt is a checkpoint in SQLite.

The thread of the checkpoints has the run's name, so a name is all that a resume needs: task and settings stand in the
run's request.json.
"""

import contextlib
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite import SqliteSaver
from pydantic import ValidationError

from graph.build import build
from knowledge import runs
from knowledge.database import connect
from knowledge.runs import RunError
from nodes import benches
from nodes.context import Context
from nodes.state import Input

Event = dict[str, Any]


def start(task: str | Path, context: Context, notes: str = "") -> tuple[str, Iterator[Event]]:
    """Makes the run's folder; gives its name and the events of the work, which happens as they are taken."""
    root = runs.home(context.home)
    path = str(Path(task).absolute())
    run_id = runs.fresh(root, path)
    begun = datetime.now(UTC).isoformat(timespec="seconds")
    settings = context.model_copy(update={"home": str(root)})
    runs.create(root, run_id, {"task": path, "notes": notes, "started": begun, "context": settings.model_dump()})
    return run_id, _work(root, run_id)


def resume(run_id: str, home: str = "") -> Iterator[Event]:
    """The events of the rest of the run; none for a finished one. Raises RunError for an unknown run before any work."""
    root = runs.home(home)
    runs.request(root, run_id)
    return _work(root, run_id)


def _work(root: Path, run_id: str) -> Iterator[Event]:
    """Drives the graph from its last checkpoint, or from the start when there is none."""
    request = runs.request(root, run_id)
    context = _context(request, root)
    config: RunnableConfig = {"configurable": {"thread_id": run_id}}
    with runs.lock(runs.folder(root, run_id)), _saver(root) as saver:
        graph = build(saver)
        begun = graph.get_state(config)
        if begun.values and not begun.tasks:  # `next` is empty too when a node's writes were saved and its checkpoint was not
            return
        given: Input | None = None if begun.tasks else {"task": request["task"], "notes": request.get("notes", "")}
        try:
            for event in graph.stream(given, config, context=context, stream_mode="custom", durability="sync"):
                yield dict(event)  # type: ignore[arg-type]
        finally:
            benches.close(run_id)


def _context(request: dict[str, Any], root: Path) -> Context:
    """The settings that the run was started with; the home is the one it is found in."""
    try:
        return Context.model_validate({**request["context"], "home": str(root)})
    except (KeyError, ValidationError) as error:
        raise RunError("folder", f"the run's request.json does not fit this version: {error}") from error


@contextlib.contextmanager
def _saver(root: Path) -> Iterator[SqliteSaver]:
    """The home's checkpoints, in WAL mode; trouble with the file is told as a RunError that names it."""
    path = root / "checkpoints.sqlite"
    try:
        with contextlib.closing(connect(path)) as connection:
            saver = SqliteSaver(connection)
            saver.setup()
            yield saver
    except sqlite3.DatabaseError as error:
        raise RunError("folder", f"cannot use {path}: {error}; free the disk, or set PRAGMA_HOME to another folder") from error
