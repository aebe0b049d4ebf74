"""Time and resource limits of one candidate, and how a process applies them to itself."""

import contextlib
import ctypes
import os
import resource
from dataclasses import dataclass
from pathlib import Path

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
GIB = 1 << 30


@dataclass(frozen=True)
class Limits:
    """Seconds on the judge's clock for loading (which may compile) and for one run; bytes and processes as rlimits."""

    start_s: float = 60.0
    load_s: float = 240.0
    run_s: float = 30.0
    memory: int = 8 * GIB
    file: int = 2 * GIB
    processes: int = 256
    timing_s: float = 1.5
    confirm_s: float = 4.0


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0))


def rlimits(limits: Limits, need: int, gpu: bool) -> dict[str, int]:
    """Names and values of the rlimits for a candidate with `need` bytes of data (a GPU driver reserves address space at will)."""
    values = {
        "RLIMIT_FSIZE": max(limits.file, 2 * need),
        "RLIMIT_CORE": 0,
        "RLIMIT_NPROC": _tasks() + limits.processes,
        "RLIMIT_CPU": int((limits.load_s + limits.run_s) * cores()) + 60,
    }
    if not gpu:
        values["RLIMIT_AS"] = limits.memory + 4 * need
    return values


def _tasks() -> int:
    """Threads that this user runs now: RLIMIT_NPROC counts them all."""
    total = 0
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if process.stat().st_uid == os.getuid():
                total += sum(1 for _ in (process / "task").iterdir())
    return total


def apply(values: dict[str, int]) -> None:
    """Lowers this process's limits for good."""
    for name, value in values.items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (bound, bound))


def prctl(option: int, value: int) -> None:
    """Linux prctl; a kernel that refuses is tolerated, for the judge's own clean-up covers the case."""
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
