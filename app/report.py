"""`pragma report RUN`: rebuild a finished run's page from its record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from app import page
from app.answer import Answer
from app.fault import VERIFIED, Fault
from app.home import found
from knowledge import runs


def report(beginning: str, answer: Answer) -> int:
    """Write report.html and print its path."""
    run = found(beginning, "finished")
    if not run["result"]:
        raise Fault(f"run {run['run_id']} is not finished; `pragma resume {run['run_id']}` goes on with it", kind="unfinished")
    path = write(run["result"], runs.folder(runs.home(), run["run_id"]))
    answer.give({"run_id": run["run_id"], "report": str(path)})
    answer.say(str(path))
    return VERIFIED


def write(record: dict[str, Any], folder: Path) -> Path:
    """The page of a record, written beside it."""
    try:
        return page.write(record, folder)
    except OSError as error:
        raise Fault(f"{folder / 'report.html'} cannot be written ({error.strerror or error})", kind="run-folder") from error
