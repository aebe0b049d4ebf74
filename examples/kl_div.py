"""KL divergence between teacher and student logits at a temperature: the loss of knowledge distillation."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, temperature: float):
        super().__init__()
        self.temperature = temperature

    def forward(self, student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
        log_q = torch.log_softmax(student / self.temperature, dim=-1)
        log_p = torch.log_softmax(teacher / self.temperature, dim=-1)
        divergence = (torch.exp(log_p) * (log_p - log_q)).sum(dim=-1)
        return divergence.mean() * self.temperature**2


def get_inputs():
    # a sharpness that differs from draw to draw, so that no constant is near the mean divergence
    sharpness = 1.0 + 3.0 * torch.rand(())
    return [torch.randn(256, 4096), sharpness * torch.randn(256, 4096)]


def get_init_inputs():
    return [2.0]
