"""The declared precision binds the candidate too: the sketch is captured in the policy's dtype."""

import pytest

from graph.context import Context
from graph.run import start
from knowledge import runs

TASK = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(96)

    def forward(self, x, labels):
        return torch.relu(self.norm(x)), labels + 1


def get_inputs():
    return [torch.randn(64, 96), torch.randint(0, 9, (64,))]


def get_init_inputs():
    return []
"""


@pytest.mark.parametrize(("precision", "dtype"), [("bf16", "bf16"), ("fp16", "f16"), ("kernelbench", "f32")])
def test_first_attempt_is_verified_in_the_policys_dtype(tmp_path, precision, dtype):
    (tmp_path / "task.py").write_text(TASK)
    run_id, events = start(tmp_path / "task.py", Context(precision=precision, attempts=1, home=str(tmp_path / "home")))
    attempt = next(e for e in events if e["event"] == "attempt")
    events.close()
    assert attempt["verdict"] == "ok", attempt["message"]
    (sketch,) = (runs.folder(tmp_path / "home", run_id) / "sketches").iterdir()
    assert f"x: {dtype}[B, C]" in sketch.read_text()
    assert "labels: i64[" in sketch.read_text()
