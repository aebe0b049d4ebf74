"""The best kernels across runs: one row for a task's fingerprint, backend, device and precision, the faster one stays.

SQLite in WAL mode with a busy timeout and one statement for each write, so that runs at the same time cannot lose or
tear a row. A file that is no database any more is moved aside and told, never a crash.
"""

import contextlib
import fcntl
import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from knowledge.database import connect

BROKEN = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
SCHEMA = """CREATE TABLE IF NOT EXISTS kernels (
    task TEXT, backend TEXT, device TEXT, precision TEXT,
    speedup REAL NOT NULL, low REAL NOT NULL, high REAL NOT NULL,
    hints TEXT NOT NULL, source TEXT NOT NULL, run_id TEXT NOT NULL, stored REAL NOT NULL,
    PRIMARY KEY (task, backend, device, precision))"""
PUT = """INSERT INTO kernels VALUES (?,?,?,?,?,?,?,?,?,?,?)
    ON CONFLICT DO UPDATE SET speedup=excluded.speedup, low=excluded.low, high=excluded.high, hints=excluded.hints,
    source=excluded.source, run_id=excluded.run_id, stored=excluded.stored WHERE excluded.speedup > kernels.speedup"""
GET = """SELECT speedup, low, high, hints, source, run_id FROM kernels
    WHERE task=? AND backend=? AND device=? AND precision=?"""
DROP = "DELETE FROM kernels WHERE task=? AND backend=? AND device=? AND precision=? AND source=?"
T = TypeVar("T")


class _Broken(Exception):
    """The file is no database, or a damaged one."""


@dataclass(frozen=True)
class Key:
    """What a stored kernel is good for; `task` and `device` are fingerprints."""

    task: str
    backend: str
    device: str
    precision: str

    def columns(self) -> tuple[str, str, str, str]:
        return (self.task, self.backend, self.device, self.precision)


@dataclass(frozen=True)
class Kernel:
    """A confirmed kernel: whole candidate file, hints it was lowered under, median speed-up over eager with interval."""

    source: str
    hints: dict[str, str | int]
    speedup: float
    low: float
    high: float
    run_id: str


@dataclass
class Store:
    """Opens on use; `notes` tells in one line each what had to be moved aside."""

    path: Path
    timeout: float = 30.0
    notes: list[str] = field(default_factory=list)

    def get(self, key: Key) -> Kernel | None:
        """The best kernel known for this key."""
        row = self._mending(lambda db: db.execute(GET, key.columns()).fetchone())
        if row is None:
            return None
        speedup, low, high, hints, source, run_id = row
        return Kernel(source, json.loads(hints), speedup, low, high, run_id)

    def put(self, key: Key, kernel: Kernel) -> bool:
        """Keeps the kernel when it is faster than the one known; False when the known one stays."""
        numbers = (kernel.speedup, kernel.low, kernel.high)
        row = (*key.columns(), *numbers, json.dumps(kernel.hints), kernel.source, kernel.run_id, time.time())
        return self._mending(lambda db: db.execute(PUT, row).rowcount > 0)

    def drop(self, key: Key, source: str) -> bool:
        """Forgets a kernel that was found wrong, unless another one has taken its place."""
        return self._mending(lambda db: db.execute(DROP, (*key.columns(), source)).rowcount > 0)

    def _mending(self, action: Callable[[sqlite3.Connection], T]) -> T:
        """The action on a sound file: a broken one is moved aside first, by one process at a time."""
        with contextlib.suppress(_Broken):
            return self._sound(action)
        with self.path.with_name(self.path.name + ".mend").open("a") as alone:
            fcntl.flock(alone, fcntl.LOCK_EX)
            try:
                return self._sound(action)
            except _Broken as broken:
                self._move_aside(str(broken))
            return self._sound(action)

    def _sound(self, action: Callable[[sqlite3.Connection], T]) -> T:
        try:
            with self._open() as db:
                return action(db)
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in BROKEN:
                raise _Broken(str(error)) from error
            raise

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with contextlib.closing(connect(self.path, self.timeout)) as db, db:
            db.execute(SCHEMA)
            yield db

    def _move_aside(self, why: str) -> None:
        aside = self.path.with_name(f"{self.path.name}.broken-{time.time_ns()}")
        self.path.rename(aside)
        for tail in ("-wal", "-shm"):
            self.path.with_name(self.path.name + tail).unlink(missing_ok=True)
        self.notes.append(f"the store {self.path} was unreadable ({why}); it was moved to {aside.name} and a new one begun")
