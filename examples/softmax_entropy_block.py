"""Tempered softmax and its entropy per row: sampling heads and the exploration bonus of policy gradients (PPO, GRPO)."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, temperature: float):
        super().__init__()
        self.temperature = temperature

    def forward(self, logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        log_p = torch.log_softmax(logits / self.temperature, dim=-1)
        p = torch.exp(log_p)
        return p, -(p * log_p).sum(dim=-1)


def get_inputs():
    return [(0.5 + 3.0 * torch.rand(256, 1)) * torch.randn(256, 8192)]


def get_init_inputs():
    return [0.7]
