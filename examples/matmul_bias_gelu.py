"""A linear layer with GELU behind it: the first half of a BERT or ViT feed-forward block, compute-bound with a fusable epilogue."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.linear = nn.Linear(width, hidden)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.gelu(self.linear(x))


def get_inputs():
    return [torch.randn(256, 512)]


def get_init_inputs():
    return [512, 2048]
