"""GELU by its tanh formula, written out operator by operator as GPT-2 era code does: eight passes over memory where one would do."""

import math

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


def get_inputs():
    return [torch.randn(1024, 3072)]


def get_init_inputs():
    return []
