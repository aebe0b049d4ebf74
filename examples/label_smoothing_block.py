"""Log-softmax, label likelihood and label smoothing written out: the training loss of ImageNet and translation recipes."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, smoothing: float):
        super().__init__()
        self.smoothing = smoothing

    def forward(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        log_p = torch.log_softmax(logits, dim=-1)
        likelihood = -log_p.gather(1, labels.unsqueeze(1)).squeeze(1)
        uniform = -log_p.mean(dim=-1)
        return ((1.0 - self.smoothing) * likelihood + self.smoothing * uniform).mean()


def get_inputs():
    # a sharpness that differs from draw to draw, so that no constant is near the mean loss
    sharpness = 1.0 + 3.0 * torch.rand(())
    return [sharpness * torch.randn(4096, 1000), torch.randint(0, 1000, (4096,))]


def get_init_inputs():
    return [0.1]
