"""A task so small that a whole run takes seconds, and a home of its own."""

import pytest

TINY = """
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2 + x


def get_inputs():
    return [torch.randn(64, 256)]


def get_init_inputs():
    return []
"""


@pytest.fixture
def tiny(tmp_path):
    path = tmp_path / "tiny.py"
    path.write_text(TINY)
    return path
