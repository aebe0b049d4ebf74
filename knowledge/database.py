"""SQLite files that several runs share: WAL mode and a busy timeout."""

import fcntl
import sqlite3
from pathlib import Path


def connect(path: Path, timeout: float = 30.0) -> sqlite3.Connection:
    """Opens the file in WAL mode, usable from any thread; a write waits `timeout` seconds for another's.

    The switch to WAL takes the whole file and ignores the busy timeout, so it happens behind a lock of its own.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(path, timeout=timeout, check_same_thread=False)
    try:
        with path.with_name(path.name + ".lock").open("a") as alone:
            fcntl.flock(alone, fcntl.LOCK_EX)
            if database.execute("PRAGMA journal_mode").fetchone() != ("wal",):
                database.execute("PRAGMA journal_mode=WAL")
    except BaseException:
        database.close()
        raise
    return database
