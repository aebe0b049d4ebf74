"""SwiGLU's elementwise half: silu(gate) * up, between the two projections of a Llama feed-forward block."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, gate_up: torch.Tensor) -> torch.Tensor:
        gate, up = gate_up.chunk(2, dim=-1)
        return nn.functional.silu(gate) * up


def get_inputs():
    return [torch.randn(1024, 2 * 5632)]


def get_init_inputs():
    return []
