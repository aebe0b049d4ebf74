"""Huber (smooth L1) loss: box regression in detectors, value functions in reinforcement learning."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return nn.functional.smooth_l1_loss(prediction, target)


def get_inputs():
    # a spread that differs from draw to draw, so that no constant is near the mean loss
    spread = 0.5 + 2.0 * torch.rand(())
    return [spread * torch.randn(2048, 2048), torch.randn(2048, 2048)]


def get_init_inputs():
    return []
