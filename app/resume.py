"""`pragma resume [RUN]`: go on with a run from its last checkpoint; a finished one only tells its result again."""

from __future__ import annotations

from pathlib import Path

from app import work
from app.answer import Answer
from app.fault import Fault
from app.files import check_compiler
from app.home import check_out, found, writable_home
from graph.context import Context
from knowledge import runs
from knowledge.runs import RunError


def resume(beginning: str, out: Path | None, answer: Answer) -> int:
    """The newest interrupted run, or the one whose id begins so."""
    check_out(out)
    run = found(beginning, "interrupted")
    if run["status"] == "running":
        raise Fault(f"run {run['run_id']} is being worked on by another process", kind="busy")
    home = writable_home()
    context = _context(home, run["run_id"])
    if context.backend == "cpp":
        check_compiler()
    answer.say(f"{run['run_id']}: {run['task']}, up to {context.attempts} attempts in all")
    return work.work(work.again(run["run_id"], context), answer, out)


def _context(home: Path, run_id: str) -> Context:
    """The settings that the run was started with, in the home it is found in."""
    try:
        return Context.model_validate({**runs.request(home, run_id)["context"], "home": str(home)})
    except (RunError, KeyError, ValueError) as error:
        raise Fault(f"run {run_id} cannot be read by this version: {str(error).splitlines()[0]}", kind="unknown-run") from error
