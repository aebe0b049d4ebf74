"""Threads of the timed process on cores of their own: after a rest the scheduler may wake two of them on one core."""

import os
from pathlib import Path

TASKS = Path("/proc/self/task")


def spread(cores: list[int]) -> None:
    """The main thread on the first core, free to move so that threads which it starts are too; the busiest others on the next."""
    if len(cores) < 2 or not TASKS.exists():
        return
    main = os.getpid()
    others = sorted((int(t.name) for t in TASKS.iterdir() if int(t.name) != main), key=_busy, reverse=True)
    for i, thread in enumerate(others[: len(cores) - 1]):
        _move(thread, {cores[1 + i]})
    _move(main, {cores[0]})
    _move(main, set(cores))


def _busy(thread: int) -> int:
    """Nanoseconds that a thread has run (0 when it is gone)."""
    try:
        return int((TASKS / str(thread) / "schedstat").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 0


def _move(thread: int, cores: set[int]) -> None:
    try:
        os.sched_setaffinity(thread, cores)
    except OSError:
        return  # it ended meanwhile, or a container forbids it: the guard against noise still sees the result
