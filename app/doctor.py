"""`pragma doctor`: what this machine offers, what is missing, and the line that lifts it."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from app.answer import Answer
from app.fault import ENVIRONMENT, VERIFIED, Fault, one_line
from app.home import writable_home
from app.numbers import bytes_text

PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
CORE_EVENTS = Path("/sys/bus/event_source/devices/cpu")


@dataclass(frozen=True)
class Check:
    """`missing` is essential and ends in exit 3; `limited` works with less; `lift` is the line that mends it."""

    name: str
    status: Literal["ok", "limited", "missing"]
    value: str
    lift: str = ""


def doctor(measure: bool, answer: Answer) -> int:
    """Print every check; exit 3 if an essential one is missing."""
    checks = list(_checks(measure))
    width = max(len(check.name) for check in checks)
    for check in checks:
        mark = {"ok": "ok     ", "limited": "limited", "missing": "MISSING"}[check.status]
        answer.say(f"{mark}  {check.name:<{width}}  {check.value}")
        if check.lift and check.status != "ok":
            answer.say(f"{'':9}{'':<{width}}  -> {check.lift}")
    missing = [check.name for check in checks if check.status == "missing"]
    answer.give({"ok": not missing, "missing": missing, "checks": [asdict(check) for check in checks]})
    answer.say(f"missing: {', '.join(missing)}" if missing else "ready: pragma optimize examples/softmax.py")
    return ENVIRONMENT if missing else VERIFIED


def _checks(measure: bool) -> Iterator[Check]:
    yield Check("python", "ok", platform.python_version())
    yield _package("torch", essential=True)
    yield _package("triton", essential=False)
    yield from _compiler()
    yield _objdump()
    yield Check("cores", "ok", f"{len(os.sched_getaffinity(0))} of {os.cpu_count()} usable, {_memory()}")
    yield _sandbox()
    yield _perf()
    yield _huge_pages()
    yield _home()
    yield _kernel_cache()
    if measure and shutil.which(_command()[0]):
        yield _ceilings()


def _package(name: str, *, essential: bool) -> Check:
    try:
        return Check(name, "ok", importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Check(name, "missing" if essential else "limited", "not installed", f"pip install {name}")


def _command() -> list[str]:
    named = os.environ.get("CXX", "").split()
    return named or [next((c for c in ("g++", "clang++") if shutil.which(c)), "g++")]


def _compiler() -> Iterator[Check]:
    command = _command()
    lift = "apt-get install g++ (or clang), or set CXX"
    if not shutil.which(command[0]):
        yield Check("compiler", "missing", f"{command[0]} is not on PATH", lift)
        return
    version = one_line(_output([*command, "--version"]).split("\n")[0])
    yield Check("compiler", "ok" if version else "missing", version or f"{command[0]} does not run", lift)


def _objdump() -> Check:
    found = shutil.which("objdump")
    return Check(
        "objdump", "ok" if found else "limited", found or "absent: no share of packed instructions", "apt-get install binutils"
    )


def _output(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _memory() -> str:
    return f"{bytes_text(os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES'))} memory"


def _sandbox() -> Check:
    from measure.sandbox import probe

    found = probe()
    return Check("sandbox", "ok" if found["tier"] == "bubblewrap" else "limited", found["tier"], found["lift"])


def _perf() -> Check:
    level = _read(PARANOID)
    if not CORE_EVENTS.exists():
        return Check(
            "counters", "limited", "no hardware counters here: profiles use software events and the compiler", "run on bare metal"
        )
    fine = level in {"-1", "0", "1", "2"} or os.geteuid() == 0
    return Check(
        "counters", "ok" if fine else "limited", f"perf_event_paranoid {level or '?'}", "sysctl kernel.perf_event_paranoid=1"
    )


def _huge_pages() -> Check:
    modes = _read(HUGE_PAGES)
    chosen = modes.partition("[")[2].partition("]")[0]
    lift = "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"
    return Check("huge pages", "ok" if chosen in {"always", "madvise"} else "limited", chosen or "unavailable", lift)


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _home() -> Check:
    try:
        return Check("run folder", "ok", str(writable_home()))
    except Fault as fault:
        return Check("run folder", "missing", fault.message, "pragma --home FOLDER, or PRAGMA_HOME")


def _kernel_cache() -> Check:
    folder = Path(os.environ.get("PRAGMA_KERNEL_CACHE") or "~/.cache/pragma-kernels").expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return Check("kernel cache", "missing", f"{folder}: {error.strerror}", "set PRAGMA_KERNEL_CACHE to a writable folder")
    fine = os.access(folder, os.W_OK | os.X_OK)
    return Check("kernel cache", "ok" if fine else "missing", str(folder), "set PRAGMA_KERNEL_CACHE to a writable folder")


def _ceilings() -> Check:
    from backends.cpp.ceilings import ceilings

    found = ceilings()
    return Check(
        "ceilings", "ok", f"{found['triad_gbs']:.1f} GB/s triad, {found['fma_gflops']:.0f} GFLOP/s on {found['cores']} cores"
    )
