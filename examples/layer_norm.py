"""Layer norm with scale and shift: stands before each attention and feed-forward block of a transformer."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        nn.init.normal_(self.norm.weight, 1.0, 0.1)
        nn.init.normal_(self.norm.bias, 0.0, 0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


def get_inputs():
    return [torch.randn(16, 512, 768)]


def get_init_inputs():
    return [768]
