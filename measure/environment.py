"""What a number depends on: processor, cores, torch, compiler, Python, system; a digest to compare two machines by."""

import hashlib
import json
import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

import torch

from measure.limits import cores


def fingerprint() -> dict[str, Any]:
    """Facts of this machine and `digest`, the first 16 hex digits of their sha256."""
    facts: dict[str, Any] = {
        "cpu": cpu_model(),
        "cores": cores(),
        "torch": torch.__version__,
        "compiler": compiler(),
        "device": device(),
        "python": platform.python_version(),
        "os": f"{platform.system()} {platform.release()} {platform.machine()}",
    }
    text = json.dumps(facts, sort_keys=True)
    return {**facts, "digest": hashlib.sha256(text.encode()).hexdigest()[:16]}


def cpu_model() -> str:
    """The processor's name as the kernel tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def compiler() -> str:
    """The first line of the C++ compiler's version, or "none"."""
    path = next((p for p in (shutil.which(n) for n in (os.environ.get("CXX", "g++"), "g++", "clang++")) if p), None)
    if path is None:
        return "none"
    done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, check=False)
    return done.stdout.splitlines()[0] if done.stdout else "unknown"


def device() -> str:
    """The accelerator's name, or "cpu"."""
    return torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
