"""Scratch folders: in /dev/shm when there is room, locked by their owner, swept when the owner is gone.

`given` (inputs, weights) is written by the reference and read by the candidate; `ref` (goldens) only the reference and the
judge see; `cand` is the only place a candidate may write.
"""

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

PREFIX = "pragma-bench-"
FOLDERS = ("given", "ref", "cand")
ROOM = 2 << 30


class Scratch:
    """One bench's folder; the lock on it tells other benches that its owner lives."""

    def __init__(self, parent: Path | None = None) -> None:
        self.root, self._lock = _made(parent or _place())

    def __getattr__(self, name: str) -> Path:
        if name in FOLDERS:
            return self.root / name
        raise AttributeError(name)

    def free(self) -> int:
        """Bytes left where the folder lies."""
        return shutil.disk_usage(self.root).free

    def close(self) -> None:
        """Removes the folder; safe to call twice."""
        shutil.rmtree(self.root, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
        self._lock = -1


def _place() -> Path:
    shm = Path("/dev/shm")
    roomy = os.access(shm, os.W_OK) and shutil.disk_usage(shm).free > ROOM
    return shm if roomy else Path(tempfile.gettempdir())


def _made(parent: Path) -> tuple[Path, int]:
    parent.mkdir(parents=True, exist_ok=True)
    sweep(parent)
    root = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=parent)).resolve()
    lock = os.open(root / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    for name in FOLDERS:
        (root / name).mkdir()
    return root, lock


def sweep(parent: Path) -> None:
    """Removes folders whose owner died without closing them."""
    for root in parent.glob(f"{PREFIX}*"):
        if _owner(root.name) != os.getpid() and _abandoned(root):
            shutil.rmtree(root, ignore_errors=True)


def _owner(name: str) -> int:
    digits = name.removeprefix(PREFIX).split("-")[0]
    return int(digits) if digits.isdigit() else 0


def _abandoned(root: Path) -> bool:
    if Path(f"/proc/{_owner(root.name)}").exists() and not (root / "lock").exists():
        return False
    try:
        lock = os.open(root / "lock", os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False
    finally:
        os.close(lock)
