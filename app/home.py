"""The folder where runs live, checked before anything long starts."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from app.fault import Fault


def home() -> Path:
    """$PRAGMA_HOME or ~/.pragma."""
    return Path(os.environ.get("PRAGMA_HOME") or "~/.pragma").expanduser().absolute()


def writable_home() -> Path:
    """The home, made if absent and tried with a real write of 64 KiB: a read-only or full disk ends here, not after minutes."""
    root = home()
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


def copied(source: Path, target: Path) -> None:
    """Copy the best kernel to where --out says."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
    except OSError as error:
        raise Fault(
            f"--out {target} cannot be written ({error.strerror or error}); the kernel is at {source}", kind="run-folder"
        ) from error


def checked_out(target: Path | None) -> None:
    """Refuse an --out that cannot be a file before the run starts."""
    if target is None:
        return
    parent = next((p for p in target.absolute().parents if p.exists()), Path("/"))
    if target.is_dir() or not parent.is_dir() or not os.access(parent, os.W_OK):
        raise Fault(f"--out {target} cannot be written: name a file in a writable folder", kind="run-folder")
