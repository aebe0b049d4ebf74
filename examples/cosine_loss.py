"""Cosine similarity loss between two sets of embeddings: self-supervised and retrieval training (SimSiam, sentence encoders)."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, eps: float):
        super().__init__()
        self.eps = eps

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        dot = (a * b).sum(dim=1)
        lengths = torch.sqrt((a * a).sum(dim=1)) * torch.sqrt((b * b).sum(dim=1))
        return (1.0 - dot / torch.clamp(lengths, min=self.eps)).mean()


def get_inputs():
    # a likeness that differs from draw to draw, so that no constant is near the loss
    a, likeness = torch.randn(2048, 1024), 0.2 + torch.rand(())
    return [a, likeness * a + torch.randn(2048, 1024)]


def get_init_inputs():
    return [1e-8]
