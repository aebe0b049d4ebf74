"""One run seen from a door: its events in the live view, an interrupt with the line that resumes it, and its last lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app import live, report
from app.answer import Answer
from app.fault import BAD_INPUT, ENVIRONMENT, REJECTED, VERIFIED, Fault, one_line
from app.home import copy_best
from app.numbers import interval
from app.page import rival
from app.signals import Interrupted
from graph import run as drive
from graph.context import Context
from knowledge import runs
from knowledge.runs import RunError

NOT_THE_MINDS_FAULT = {"bad-task": BAD_INPUT, "unsupported": BAD_INPUT, "environment": ENVIRONMENT}
STOPS = {
    "attempts": "the attempts are used up",
    "minutes": "the minutes are used up",
    "tokens": "the tokens are used up",
    "usd": "the money is used up",
    "at-the-roof": "at the roof, nothing is left to gain",
}


@dataclass(frozen=True)
class Run:
    """A run that was named but not worked on yet: taking its events does the work."""

    run_id: str
    events: Iterator[dict[str, Any]]
    context: Context

    @property
    def folder(self) -> Path:
        return runs.folder(runs.home(self.context.home), self.run_id)


def begin(task: str, context: Context) -> Run:
    """A new run with its folder made."""
    try:
        run_id, events = drive.start(task, context)
    except RunError as error:
        raise Fault(error.message, kind=error.kind) from error
    return Run(run_id, events, context)


def again(run_id: str, context: Context) -> Run:
    """A run that goes on from its last checkpoint."""
    try:
        return Run(run_id, drive.resume(run_id, context.home), context)
    except RunError as error:
        raise Fault(error.message, kind=error.kind) from error


def work(run: Run, answer: Answer, out: Path | None) -> int:
    """Drive the run to its end; the exit code says how it ended."""
    record, path = finished(run, answer)
    if record.get("verified") and out is not None:
        copy_best(run.folder / "best.py", out)
    answer.give(summary(record, path))
    code = code_of(record)
    if code in (BAD_INPUT, ENVIRONMENT):
        raise Fault(complaint(record), code, str(record.get("stop_reason")))
    for line in closing(record, path, out):
        answer.say(line)
    return code


def finished(run: Run, answer: Answer) -> tuple[dict[str, Any], Path]:
    """The run's record and the page made of it."""
    record = driven(run, answer)
    return record, report.write(record, run.folder)


def driven(run: Run, answer: Answer) -> dict[str, Any]:
    """The run's record, after its events were shown."""
    try:
        with live.view(answer.console, run.context.attempts, run.context.minutes) as view:
            for event in run.events:
                view.tell(event)
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted, state saved; go on with: pragma resume {run.run_id}", run_id=run.run_id) from None
    except RunError as error:
        raise Fault(error.message, kind=error.kind) from error
    return runs.load(run.folder / "run.json")


def code_of(record: dict[str, Any]) -> int:
    """0 with a verified kernel, 2 for a task that cannot be worked on, 3 for a broken machine, else 1."""
    return VERIFIED if record.get("verified") else NOT_THE_MINDS_FAULT.get(str(record.get("stop_reason")), REJECTED)


def complaint(record: dict[str, Any]) -> str:
    """One line that names the task file, whoever found the fault."""
    task, message = str(record.get("task")), str(record.get("message") or record.get("stop_reason"))
    return message if task in message else f"{task}: {message}"


def summary(record: dict[str, Any], path: Path) -> dict[str, Any]:
    """What --json prints: the record's headline, without the ladder and the sources."""
    keys = ("run_id", "task", "backend", "model", "precision", "verified", "speedup", "attempts", "best", "stop_reason", "message")
    kept = {key: record.get(key) for key in (*keys, "sandbox_tier", "profile_tier", "spend", "seconds")}
    return {**kept, "report": str(path)}


def closing(record: dict[str, Any], path: Path, out: Path | None) -> list[str]:
    """The last lines: verified or not, against what, and where things are."""
    name, speedup = Path(str(record.get("task"))).stem, record.get("speedup") or {}
    reason = str(record.get("stop_reason"))
    stop = STOPS.get(reason) or reason + (f" ({one_line(record['message'])})" if record.get("message") else "")
    attempts = f"{record.get('attempts')} attempts, stopped: {stop}"
    if not record.get("verified"):
        return [f"{name}: no verified kernel after {attempts}", f"report   {path}"]
    against = ", ".join(f"{interval(s)} over {'torch.compile' if key == 'compile' else key}" for key, s in speedup.items() if s)
    faster = rival(record)
    slow = faster is not None and float(faster[1]["low"]) <= 1
    return [
        f"{name}: verified, {against or 'not timed'} (precision {record.get('precision')}, sandbox {record.get('sandbox_tier')})",
        *(["not shown to be faster than both baselines: the interval's lower end is not above 1"] if slow else []),
        attempts,
        f"kernel   {out or (record.get('best') or {}).get('path')}",
        f"report   {path}",
    ]
