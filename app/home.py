"""The folder where runs live, checked before anything long starts, and the runs in it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from app.fault import Fault
from knowledge import runs
from knowledge.runs import Listing, RunError


def writable_home() -> Path:
    """The home, made if absent and tried with a real write of 64 KiB: a read-only or full disk ends here, not after minutes."""
    root = runs.home()
    folder = root / "runs"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"\0" * 65536)
            probe.flush()
            os.fsync(probe.fileno())
    except OSError as error:
        why = error.strerror or str(error)
        raise Fault(
            f"the run folder {folder} cannot be written ({why}); name another with --home or PRAGMA_HOME", kind="run-folder"
        ) from error
    return root


def found(beginning: str, status: str) -> Listing:
    """The run whose id begins so (an exact id wins), or without a beginning the newest run of that status."""
    root = runs.home()
    try:
        listing = runs.listing(root)
    except RunError as error:
        raise Fault(error.message, kind=error.kind) from error
    if not beginning:
        fitting = [run for run in listing if run["status"] == status][:1]
        missing = f"no {status} run in {root / 'runs'}; `pragma runs` lists all"
    else:
        fitting = [run for run in listing if run["run_id"] == beginning] or [
            r for r in listing if r["run_id"].startswith(beginning)
        ]
        missing = f"no run {beginning!r} in {root / 'runs'}; `pragma runs` lists all"
    if len(fitting) > 1:
        raise Fault(
            f"{beginning!r} fits {len(fitting)} runs: {', '.join(run['run_id'] for run in fitting[:5])}; name one",
            kind="unknown-run",
        )
    if not fitting:
        raise Fault(missing, kind="unknown-run")
    return fitting[0]


def check_out(target: Path | None) -> None:
    """Refuse an --out that cannot be a file before the run starts."""
    if target is None:
        return
    parent = next(p for p in target.absolute().parents if p.exists())
    if target.is_dir() or not parent.is_dir() or not os.access(parent, os.W_OK):
        raise Fault(f"--out {target} cannot be written: name a file in a writable folder", kind="run-folder")


def copy_best(source: Path, target: Path) -> None:
    """Copy the best kernel to where --out says."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
    except OSError as error:
        raise Fault(
            f"--out {target} cannot be written ({error.strerror or error}); the kernel is at {source}", kind="run-folder"
        ) from error
