"""`pragma demo`: three example tasks through `optimize` with a small budget, and a table of what came out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.table import Table

from app import work
from app.answer import Answer
from app.fault import REJECTED, VERIFIED, Fault
from app.numbers import interval, seconds
from app.optimize import Wish, checked, heading

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
TASKS = ("rms_norm.py", "cross_entropy.py", "gelu_tanh.py")


def demo(attempts: int, minutes: float, answer: Answer) -> int:
    """0 when every task has a verified kernel."""
    records = [_one(EXAMPLES / name, attempts, minutes, answer) for name in TASKS]
    answer.give({"tasks": [work.summary(record, path) for record, path in records]})
    if not answer.as_json:
        answer.console.print(_table([record for record, _ in records]))
    answer.say("a kernel is faster than a baseline when the interval's lower end is above 1; `pragma runs` lists the runs")
    return VERIFIED if all(record.get("verified") for record, _ in records) else REJECTED


def _one(task: Path, attempts: int, minutes: float, answer: Answer) -> tuple[dict[str, Any], Path]:
    if not task.is_file():
        raise Fault(f"{task}: the demo needs the checkout's examples; run it from a clone (make demo)", kind="missing-file")
    wish = Wish(str(task), attempts=attempts, minutes=minutes)
    context = checked(wish)
    answer.say(heading(wish))
    record, path = work.finished(work.begin(wish.task, context), answer)
    for line in work.closing(record, path, None):
        answer.say(f"  {line}")
    answer.say()
    return record, path


def _table(records: list[dict[str, Any]]) -> Table:
    table = Table(padding=(0, 1))
    for title in ("task", "verified", "over eager", "over torch.compile", "took", "kernel"):
        table.add_column(title, overflow="fold")
    for record in records:
        speedup = record.get("speedup") or {}
        table.add_row(
            Path(str(record.get("task"))).stem,
            "yes" if record.get("verified") else "no",
            interval(speedup.get("eager")),
            interval(speedup.get("compile")),
            seconds(record.get("seconds")),
            str((record.get("best") or {}).get("path") or "–"),
        )
    return table
