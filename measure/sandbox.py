"""Sandbox tiers: bubblewrap, then bare namespaces, then rlimits alone; the tier that was used is part of every verdict.

bubblewrap: read-only root, private /tmp, /run, /dev and home, no network, own process and IPC space, no capabilities, dies
with its parent. namespaces: the same walls built by measure/confine.py, but the machine's own /dev. rlimits: limits only.
"""

import functools
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

TIERS = ("bubblewrap", "namespaces", "rlimits")
ROOT = Path(__file__).resolve().parent.parent
KEPT = {
    "PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "CXX", "CC", "CUDA_HOME", "CUDA_VISIBLE_DEVICES",
    "OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_AFFINITY",
    "MKL_NUM_THREADS",
    "TRITON_DEFAULT_FP_FUSION",
}  # fmt: skip
# Idle OpenMP threads give up their core after some 50 us; libgomp's own default lets them spin for up to 20 ms, which is
# right into the samples of the other side.
SPIN = {"GOMP_SPINCOUNT": "1000"}
PRIVATE = ("/tmp", "/run")
DEVICES = ("nvidia*", "kfd", "dri")
WALLS = "PRAGMA_WALLS"
LIFT = {
    "bubblewrap": "nothing to lift: this is the strongest tier",
    "namespaces": "install bubblewrap (the command `bwrap`) for a private /dev as well",
    "rlimits": "install bubblewrap, or allow unprivileged user namespaces (sysctl user.max_user_namespaces), for isolation",
}


@dataclass(frozen=True)
class Box:
    """What one process may see: `hide` folders are empty, `cover` files are unreadable, `write` folders are writable."""

    tier: str
    write: tuple[Path, ...]
    read: tuple[Path, ...] = ()
    hide: tuple[Path, ...] = ()
    cover: tuple[Path, ...] = ()

    def command(self, argv: list[str]) -> list[str]:
        """The argument vector that runs `argv` inside this box."""
        if self.tier == "bubblewrap":
            return [*self._bubblewrap(), *argv]
        return [*_unshare(), *argv] if self.tier == "namespaces" else argv

    def walls(self) -> dict[str, str]:
        """The environment entry by which the namespaces tier's server builds its walls."""
        if self.tier != "namespaces":
            return {}
        plan = {"write": self.write, "read": self._readable(), "hide": self._hidden(), "cover": self.cover}
        return {WALLS: json.dumps({name: [str(p) for p in paths] for name, paths in plan.items()})}

    def _hidden(self) -> list[str]:
        return [*(p for p in PRIVATE if Path(p).is_dir()), *map(str, self.hide)]

    def _readable(self) -> list[Path]:
        return [*_needed(self._hidden()), *self.read]

    def _bubblewrap(self) -> list[str]:
        words = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        for device in (d for pattern in DEVICES for d in Path("/dev").glob(pattern)):
            words += ["--dev-bind", str(device), str(device)]
        for folder in self._hidden():
            words += ["--tmpfs", folder]
        for path in self._readable():
            words += ["--ro-bind", str(path), str(path)]
        for path in self.write:
            words += ["--bind", str(path), str(path)]
        for path in filter(Path.exists, self.cover):
            words += ["--ro-bind-try", "/dev/null", str(path)]
        return [*words, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--chdir", "/"]


def _unshare() -> list[str]:
    return ["unshare", "--user", "--map-root-user", "--net", "--pid", "--ipc", "--mount", "--fork", "--kill-child", "--mount-proc"]


def _needed(hidden: list[str]) -> list[Path]:
    """Folders below a hidden one without which Python, torch, the compiler or this package would be out of reach."""
    compiler = shutil.which(os.environ.get("CXX") or "g++")
    tools = [str(Path(compiler).resolve().parent.parent)] if compiler else []
    places = {Path(p) for p in (sys.prefix, sys.base_prefix, str(ROOT), *sys.path, *tools) if p}
    homes = [Path(h) for h in hidden]
    return sorted(p for p in places if p.is_dir() and any(h in p.resolve().parents for h in homes))


def environment(extra: dict[str, str]) -> dict[str, str]:
    """A scrubbed environment: a short list of kept names, PRAGMA_KERNEL_*, and what the caller adds."""
    kept = {k: v for k, v in os.environ.items() if k in KEPT or k.startswith("PRAGMA_KERNEL_")}
    return {**SPIN, **kept, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1", **extra}


def home() -> Path | None:
    """The user's home when it can be hidden, else None (a home that is / cannot)."""
    folder = Path("~").expanduser().resolve()
    return folder if folder.is_dir() and folder != Path("/") else None


@functools.cache
def _reason(tier: str) -> str:
    """Why a tier does not work here, or an empty string."""
    tool = {"bubblewrap": "bwrap", "namespaces": "unshare"}.get(tier)
    if tool is None:
        return ""
    if shutil.which(tool) is None:
        return f"{tool} is not installed"
    box = Box(tier, ())
    enter = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from measure import confine; confine.enter([], [], [], [])"
    return _tried(box.command([sys.executable, "-c", "pass" if tier == "bubblewrap" else enter]))


def _tried(argv: list[str]) -> str:
    try:
        done = subprocess.run(argv, capture_output=True, timeout=20, env=environment({}), check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if done.returncode == 0 else done.stderr.decode(errors="replace").strip()[-200:] or f"exit {done.returncode}"


def tier(wanted: str | None = None) -> str:
    """The strongest tier that works here, or the wanted one; ValueError says why that one does not."""
    if wanted is None:
        return next(t for t in TIERS if not _reason(t))
    if wanted not in TIERS:
        raise ValueError(f"no sandbox tier {wanted!r}: one of {', '.join(TIERS)}")
    if _reason(wanted):
        raise ValueError(f"sandbox tier {wanted!r} does not work here: {_reason(wanted)}")
    return wanted


def probe() -> dict[str, str]:
    """For `pragma doctor`: the tier, what would lift it, and why each stronger tier does not work."""
    best = tier()
    report = {"tier": best, "lift": LIFT[best]}
    for name in TIERS[: TIERS.index(best)]:
        report[name] = _reason(name)
    return report
