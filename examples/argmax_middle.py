"""Argmax over the class dim of a segmentation map: the reduced axis lies in the middle, so each step strides over the image."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, scores: torch.Tensor) -> torch.Tensor:
        return torch.argmax(scores, dim=1)


def get_inputs():
    return [torch.randn(4, 21, 128, 128)]


def get_init_inputs():
    return []
