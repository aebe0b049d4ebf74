"""The command line as a shell sees it: real processes, with their exit code, stdout and stderr."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SMALL_TASK = """
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x * 2, dim=-1)


def get_inputs():
    return [torch.randn(256, 512)]


def get_init_inputs():
    return []
"""


def environment(**changes):
    """The test's own environment with the checkout importable; a None drops a variable."""
    merged = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200", **changes}
    return {key: value for key, value in merged.items() if value is not None}


def command(*arguments):
    return [sys.executable, "-m", "app.cli", *map(str, arguments)]


@pytest.fixture
def pragma(tmp_path):
    """Runs `pragma ARGUMENTS` in an unrelated folder."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    def run(*arguments, timeout=240, **changes):
        return subprocess.run(
            command(*arguments),
            cwd=elsewhere,
            env=environment(**changes),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    return run


@pytest.fixture
def task(tmp_path):
    path = tmp_path / "small.py"
    path.write_text(SMALL_TASK)
    return path
