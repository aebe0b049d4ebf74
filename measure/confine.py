"""The namespaces tier's own walls: a read-only root, empty folders in place of hidden ones, no capabilities.

Runs inside the new user and mount namespaces before anything else; bubblewrap does the same for its tier.
"""

import ctypes
import os
from pathlib import Path

MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MOUNT_SETATTR, AT_FDCWD, AT_RECURSIVE, ATTR_RDONLY = 442, -100, 0x8000, 1
PR_SET_NO_NEW_PRIVS, PR_CAPBSET_DROP, CAP_VERSION = 38, 24, 0x20080522
LAST_CAP = 40

LIBC = ctypes.CDLL(None, use_errno=True)


class _Attributes(ctypes.Structure):
    _fields_ = (("set", ctypes.c_uint64), ("clear", ctypes.c_uint64), ("propagation", ctypes.c_uint64), ("userns", ctypes.c_uint64))


def enter(write: list[str], read: list[str], hide: list[str], cover: list[str]) -> None:
    """Builds the walls; OSError when the kernel refuses one."""
    handles = {folder: os.open(folder, os.O_PATH) for folder in (*read, *write)}
    _mount("none", "/", "", MS_REC | MS_PRIVATE)
    for folder in hide:
        _mount("tmpfs", folder, "tmpfs", 0)
    for folder, handle in handles.items():
        Path(folder).mkdir(parents=True, exist_ok=True)
        _mount(f"/proc/self/fd/{handle}", folder, "", MS_BIND | MS_REC)
        os.close(handle)
    for file in cover:
        if Path(file).exists():
            _mount("/dev/null", file, "", MS_BIND)
    _attributes("/", _Attributes(set=ATTR_RDONLY), AT_RECURSIVE)
    for folder in write:
        _attributes(folder, _Attributes(clear=ATTR_RDONLY), 0)
    drop_capabilities()


def drop_capabilities() -> None:
    """Gives up every capability for good, so that the walls cannot be taken down from inside."""
    LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    for number in range(LAST_CAP + 1):
        LIBC.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
    header, data = (ctypes.c_uint32 * 2)(CAP_VERSION, 0), (ctypes.c_uint32 * 6)()
    _check(LIBC.capset(header, data), "capset")


def _mount(source: str, target: str, kind: str, flags: int) -> None:
    _check(LIBC.mount(source.encode(), target.encode(), kind.encode() or None, flags, None), f"mount {target}")


def _attributes(target: str, change: _Attributes, flags: int) -> None:
    done = LIBC.syscall(MOUNT_SETATTR, AT_FDCWD, target.encode(), flags, ctypes.byref(change), ctypes.sizeof(change))
    _check(done, f"mount_setattr {target}")


def _check(result: int, what: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
