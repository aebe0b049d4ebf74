"""What a person sees while a run works: a live table on a terminal, plain lines elsewhere; both show the state's attempt rows."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from app.numbers import interval, seconds

Rows = Sequence[Mapping[str, Any]]


class View(Protocol):
    """`rows` are the state's attempt rows so far, `now` is what the run is doing."""

    def __enter__(self) -> View: ...
    def __exit__(self, *error: object) -> None: ...
    def show(self, rows: Rows, now: str) -> None: ...


def view(console: Console, attempts: int, minutes: float | None) -> View:
    """The live table where the console is a terminal, plain lines otherwise."""
    clock = Clock(attempts, minutes)
    return TableView(console, clock) if console.is_terminal else LineView(console, clock)


class Clock:
    """Estimates what is left from the limits and the pace so far."""

    def __init__(self, attempts: int, minutes: float | None) -> None:
        self.attempts, self.minutes, self.start = attempts, minutes, time.monotonic()

    def left(self, done: int) -> float | None:
        """Seconds at most; None before the first attempt gives a pace."""
        passed = time.monotonic() - self.start
        limit = None if self.minutes is None else self.minutes * 60 - passed
        pace = None if done == 0 else (self.attempts - done) * passed / done
        known = [max(0.0, x) for x in (limit, pace) if x is not None]
        return min(known) if known else None


class LineView:
    """One line for each judged attempt."""

    def __init__(self, console: Console, clock: Clock) -> None:
        self.console, self.clock, self._shown = console, clock, set[int]()

    def __enter__(self) -> LineView:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def show(self, rows: Rows, now: str) -> None:
        for row in rows:
            if row.get("verdict") and row["n"] not in self._shown:
                self._shown.add(row["n"])
                self.console.print(self._line(row, rows), markup=False)

    def _line(self, row: Mapping[str, Any], rows: Rows) -> str:
        so_far = [r for r in rows if r["n"] <= row["n"]]
        tail = f"best so far {interval(best(so_far))}" if row["verdict"] == "ok" else str(row.get("message") or "")
        left = self.clock.left(len(self._shown))
        return (
            f"attempt {row['n']:>2}  {row.get('method') or 'seed':<22} {row['verdict']:<12} "
            f"{interval(row.get('speedup')):<22} {tail}" + (f"  (at most {seconds(left)} left)" if left is not None else "")
        )


class TableView:
    """A table that grows by one row an attempt, with the best so far and the time left below it."""

    def __init__(self, console: Console, clock: Clock) -> None:
        self.clock, self._rows, self._now = clock, list[Mapping[str, Any]](), "starting"
        self._live = Live(
            get_renderable=self._table, console=console, refresh_per_second=4, redirect_stdout=False, redirect_stderr=False
        )

    def __enter__(self) -> TableView:
        self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.refresh()
        self._live.stop()

    def show(self, rows: Rows, now: str) -> None:
        self._rows, self._now = list(rows), now

    def _table(self) -> Table:
        table = Table(box=None, padding=(0, 2, 0, 0), caption=self._caption(), caption_justify="left")
        for title in ("attempt", "method", "verdict", "speed-up over eager", "time", "outcome"):
            table.add_column(title, justify="right" if title in ("attempt", "time") else "left")
        for row in self._rows[-30:]:
            table.add_row(*_cells(row))
        return table

    def _caption(self) -> Text:
        done = sum(bool(r.get("verdict")) for r in self._rows)
        left = self.clock.left(done)
        parts = [f"best so far {interval(best(self._rows))}", self._now]
        return Text("  ·  ".join([*parts, f"at most {seconds(left)} left"] if left is not None else parts))


def best(rows: Rows) -> Mapping[str, Any] | None:
    """The highest measured speed-up among the verified rows."""
    passed = [r["speedup"] for r in rows if r.get("verdict") == "ok" and r.get("speedup")]
    return max(passed, key=lambda s: float(s["median"])) if passed else None


def _cells(row: Mapping[str, Any]) -> tuple[str | Text, ...]:
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
