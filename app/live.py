"""What a person sees while a run works: a live table on a terminal, plain lines elsewhere, fed by the graph's custom events."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from app.fault import one_line
from app.numbers import interval, seconds

Row = Mapping[str, Any]
DOING = {
    "admit": "admitting the task",
    "designer": "capturing the sketch",
    "coder": "writing and building",
    "verifier": "verifying and timing",
    "profiler": "reading the counters",
    "conductor": "choosing the next change",
    "finish": "confirming the best in a fresh process",
}


class View(Protocol):
    """Shows the graph's custom events as they come."""

    def __enter__(self) -> View: ...
    def __exit__(self, *error: object) -> None: ...
    def tell(self, event: Row) -> None: ...


def view(console: Console, attempts: int, minutes: float | None) -> View:
    """The live table where the console is a terminal, plain lines otherwise."""
    ladder = Ladder(attempts, minutes)
    return TableView(console, ladder) if console.is_terminal else LineView(console, ladder)


class Ladder:
    """The attempts so far, merged from the events by their number, and an estimate of the time left."""

    def __init__(self, attempts: int, minutes: float | None) -> None:
        self.attempts, self.minutes, self.start = attempts, minutes, time.monotonic()
        self.rows: dict[int, dict[str, Any]] = {}
        self.now, self.note, self._ran_before = "starting", "", 0.0

    def tell(self, event: Row) -> Row | None:
        """Merge one event; the attempt's row when the event gave it its verdict (a failed build has only an outcome)."""
        kind, n = event.get("event"), event.get("n")
        if not self._ran_before and event.get("elapsed"):
            self._ran_before = max(0.0, float(event["elapsed"]) - (time.monotonic() - self.start))
        if kind == "node":
            self.now = DOING.get(str(event.get("node")), str(event.get("node")))
        elif kind == "note":
            self.note = str(event.get("message") or "")
        if not n or kind not in ("node", "attempt", "outcome"):
            return None
        before = self.rows.get(n, {})
        self.rows[n] = row = {**before, **{k: v for k, v in event.items() if v is not None}}
        if row.get("outcome") == "failed":
            row.setdefault("verdict", "failed")
        return row if row.get("verdict") and not before.get("verdict") else None

    def judged(self) -> list[dict[str, Any]]:
        return [row for _, row in sorted(self.rows.items()) if row.get("verdict")]

    def left(self) -> float | None:
        """Seconds at most; None before the first attempt gives a pace. A resumed run counts what it ran before."""
        passed = time.monotonic() - self.start + self._ran_before
        done = len(self.judged())
        limit = None if self.minutes is None else self.minutes * 60 - passed
        pace = None if done == 0 else (self.attempts - done) * passed / done
        known = [max(0.0, x) for x in (limit, pace) if x is not None]
        return min(known) if known else None


class LineView:
    """One line for each judged attempt."""

    def __init__(self, console: Console, ladder: Ladder) -> None:
        self.console, self.ladder = console, ladder

    def __enter__(self) -> LineView:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def tell(self, event: Row) -> None:
        judged = self.ladder.tell(event)
        if judged:
            self.console.print(self._line(judged), markup=False)
        elif event.get("event") == "note":
            self.console.print(f"note: {event.get('message')}", markup=False)

    def _line(self, row: Row) -> str:
        left = self.ladder.left()
        passed = row["verdict"] == "ok"
        tail = f"best so far {interval(best(self.ladder.judged()))}" if passed else one_line(str(row.get("message") or ""))
        return (
            f"attempt {row['n']:>2}  {row.get('method') or 'seed':<22} {row['verdict']:<10} {interval(row.get('speedup')):<20} "
            f"{tail}" + (f"  (at most {seconds(left)} left)" if left else "")
        )


class TableView:
    """A table that grows by one row an attempt, with the best so far and the time left below it."""

    def __init__(self, console: Console, ladder: Ladder) -> None:
        self.ladder = ladder
        self._live = Live(
            get_renderable=self._table, console=console, refresh_per_second=4, redirect_stdout=False, redirect_stderr=False
        )

    def __enter__(self) -> TableView:
        self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.ladder.now = "done"
        self._live.refresh()
        self._live.stop()

    def tell(self, event: Row) -> None:
        self.ladder.tell(event)

    def _table(self) -> Table:
        table = Table(box=None, padding=(0, 2, 0, 0), caption=self._caption(), caption_justify="left")
        for title in ("attempt", "method", "verdict", "speed-up over eager", "time", "outcome"):
            table.add_column(title, justify="right" if title in ("attempt", "time") else "left")
        for row in self.ladder.judged()[-30:]:
            table.add_row(*_cells(row))
        return table

    def _caption(self) -> Text:
        left = self.ladder.left()
        parts = [f"best so far {interval(best(self.ladder.judged()))}", self.ladder.now]
        parts += [f"at most {seconds(left)} left"] if left and self.ladder.now != "done" else []
        return Text("  ·  ".join([*parts, *([self.ladder.note] if self.ladder.note else [])]))


def best(rows: Sequence[Row]) -> Mapping[str, Any] | None:
    """The highest measured speed-up among the verified rows."""
    passed = [r["speedup"] for r in rows if r.get("verdict") == "ok" and r.get("speedup")]
    return max(passed, key=lambda s: float(s["median"])) if passed else None


def _cells(row: Row) -> tuple[str | Text, ...]:
    verdict = str(row.get("verdict") or "…")
    colour = "green" if verdict == "ok" else "dim" if verdict == "…" else "red"
    spent = row.get("time_ms")
    return (
        str(row.get("n")),
        str(row.get("method") or "seed"),
        Text(verdict, style=colour),
        interval(row.get("speedup")),
        seconds(spent / 1000) if isinstance(spent, (int, float)) else "",
        str(row.get("outcome") or ""),
    )
