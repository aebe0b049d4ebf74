"""`pragma runs`: the runs of this home, newest first."""

from __future__ import annotations

from rich.table import Table

from app.answer import Answer
from app.fault import VERIFIED, Fault
from app.numbers import interval
from knowledge import runs as folders
from knowledge.runs import Listing, RunError


def runs(answer: Answer) -> int:
    """A table of run, status, task, attempts and speed-up over eager."""
    try:
        listing = folders.listing(folders.home())
    except RunError as error:
        raise Fault(error.message, kind=error.kind) from error
    answer.give({"home": str(folders.home()), "runs": [_short(run) for run in listing]})
    if not listing:
        answer.say(f"no runs in {folders.home() / 'runs'} yet: pragma optimize TASK makes one")
    else:
        answer.console.print(_table(listing))
    return VERIFIED


def _short(run: Listing) -> dict[str, object]:
    result = run["result"]
    kept = {key: result.get(key) for key in ("verified", "speedup", "attempts", "stop_reason")}
    return {"run_id": run["run_id"], "status": run["status"], "task": run["task"], "started": run["started"], **kept}


def _table(listing: list[Listing]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("run", "status", "task", "started", "attempts", "speed-up over eager"):
        table.add_column(title, overflow="fold")
    for run in listing:
        result = run["result"]
        speedup = interval((result.get("speedup") or {}).get("eager")) if result.get("verified") else "–"
        table.add_row(run["run_id"], run["status"], run["task"], run["started"][:19], str(result.get("attempts") or "–"), speedup)
    return table
