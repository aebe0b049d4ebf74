"""Small modules that together meet every operator family the sketch captures; odd sizes on purpose."""

import inspect

import torch
import torch.nn.functional as F
from torch import nn

RANDN = torch.randn


class Softmax(nn.Module):
    def forward(self, x):
        return torch.softmax(x, 1)


class LogSoftmaxMiddle(nn.Module):
    def forward(self, x):
        return torch.log_softmax(x, 1)


class LayerNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm((7, 19))

    def forward(self, x):
        return self.norm(x)


class GroupNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.GroupNorm(2, 8)

    def forward(self, x):
        return self.norm(x)


class BatchNormRelu(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm2d(9)

    def forward(self, x):
        return torch.relu(self.norm(x))


class InstanceNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.InstanceNorm2d(6, affine=True)

    def forward(self, x):
        return self.norm(x)


class RmsNormChannels(nn.Module):
    def forward(self, x):
        return x / torch.sqrt(torch.mean(x**2, dim=1, keepdim=True) + 1e-5)


class CrossEntropy(nn.Module):
    def forward(self, scores, target):
        return F.cross_entropy(scores, target)


class Losses(nn.Module):
    def forward(self, p, t):
        return F.mse_loss(p, t), F.huber_loss(p, t), F.smooth_l1_loss(p, t), torch.mean(torch.clamp(1 - p * t, min=0))


class KlDiv(nn.Module):
    def forward(self, p, t):
        return F.kl_div(torch.log_softmax(p, -1), torch.softmax(t, -1), reduction="batchmean")


class Triplet(nn.Module):
    def forward(self, anchor, positive, negative):
        return F.triplet_margin_loss(anchor, positive, negative)


class Cosine(nn.Module):
    def forward(self, a, b):
        return torch.mean(1 - F.cosine_similarity(a, b, dim=1))


class Reductions(nn.Module):
    def forward(self, x):
        return (
            x.sum(1), x.mean((0, 2)), x.amax(-1), x.min(dim=1)[0], x.prod(0), x.std(dim=1), x.var(dim=(0, 2)), x.norm(dim=2),
            x.norm(p=1, dim=1), torch.logsumexp(x, (1, 2)), (x > 0).any(1), (x > -9).all(2), x.abs().max(), x.sum(),
        )  # fmt: skip


class Positions(nn.Module):
    def forward(self, x):
        return torch.argmax(x, dim=1), torch.argmin(x, dim=-1), torch.argmax(x), x.max(dim=1)[1]


class Frobenius(nn.Module):
    def forward(self, x):
        return x / torch.norm(x, p="fro")


class Activations(nn.Module):
    def forward(self, x):
        y = F.mish(x) + F.gelu(x) * F.elu(x) - F.hardswish(x) + F.softplus(x) + F.silu(x)
        return y + F.selu(x) * F.hardsigmoid(x) + F.leaky_relu(x) + F.gelu(x, approximate="tanh") + F.logsigmoid(x) + F.softsign(x)


class Arithmetic(nn.Module):
    def forward(self, x, y):
        z = torch.where(x > y, x.exp(), y.sin()) + torch.maximum(x, y) - x.clamp(-1, 1) * y.cos()
        return (
            z / (x.abs() + 1),
            torch.floor(x) + torch.round(y),
            x.pow(3) + (y.abs() + 0.1) ** 1.7,
            torch.rsqrt(y * y + 1),
            (x > y) & (x < 1),
        )


class Views(nn.Module):
    def forward(self, x):
        y = x.transpose(1, 2) * 2
        return y.softmax(-1), x[:, 1:6:2].flip(1), x.reshape(4, -1).sum(1), x.unsqueeze(1).expand(4, 3, 9, 33).mean(1), x[:, 2] + 1


class Rearranged(nn.Module):
    def forward(self, x):
        a, b = (x + 1).reshape(8, 6, 11).chunk(2, dim=1)
        return a * torch.sigmoid(b), x.repeat(1, 2, 1) * 2, (x * 3).reshape(44, 12).sum(0)


class Outer(nn.Module):
    def forward(self, x):
        return (x[:, None] - x[None, :]).abs().sum(1), torch.tril(x[:, None] * x[None, :])


class Scans(nn.Module):
    def forward(self, x):
        return torch.cumsum(x, 1), torch.cumprod(x, 2), torch.cumsum(x.flip(1), 1).flip(1), torch.cumsum(x, 0)


class Halves(nn.Module):
    def forward(self, x):
        return torch.softmax(x.bfloat16(), -1), x.half().relu(), x.double().exp(), x.to(torch.int32) * 2


class Linear(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(65, 70)

    def forward(self, x):
        return F.gelu(self.linear(x))


class Products(nn.Module):
    def forward(self, a, b):
        return a @ b, a.transpose(1, 2) @ b.transpose(1, 2).contiguous(), (a @ b).relu() + 1, a[0] @ b[0, :, 0], (a * 2) @ b


class DeepProduct(nn.Module):
    def forward(self, a, b):
        return a.T @ b.T


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(20, 33), nn.ReLU(), nn.Linear(33, 17), nn.LayerNorm(17))

    def forward(self, x):
        return torch.softmax(self.layers(x), -1)


ZOO = {
    "softmax": (Softmax, lambda: [RANDN(40, 1003) * 3]),
    "log_softmax_middle": (LogSoftmaxMiddle, lambda: [RANDN(3, 21, 50)]),
    "layer_norm": (LayerNorm, lambda: [RANDN(10, 7, 19) + 2]),
    "group_norm": (GroupNorm, lambda: [RANDN(8, 8, 5, 7)]),
    "batch_norm_relu": (BatchNormRelu, lambda: [RANDN(4, 9, 6, 7) - 1]),
    "instance_norm": (InstanceNorm, lambda: [RANDN(3, 6, 9, 5)]),
    "rms_norm_channels": (RmsNormChannels, lambda: [RANDN(4, 8, 15, 17)]),
    "cross_entropy": (CrossEntropy, lambda: [RANDN(321, 10), torch.randint(0, 10, (321,))]),
    "losses": (Losses, lambda: [RANDN(100, 77), RANDN(100, 77)]),
    "kl_div": (KlDiv, lambda: [RANDN(33, 45), RANDN(33, 45)]),
    "triplet": (Triplet, lambda: [RANDN(50, 77), RANDN(50, 77), RANDN(50, 77)]),
    "cosine": (Cosine, lambda: [RANDN(50, 77), RANDN(50, 77)]),
    "reductions": (Reductions, lambda: [RANDN(4, 9, 33)]),
    "positions": (Positions, lambda: [RANDN(4, 9, 60)]),
    "frobenius": (Frobenius, lambda: [RANDN(10, 8, 5, 7)]),
    "activations": (Activations, lambda: [RANDN(33, 45) * 3]),
    "arithmetic": (Arithmetic, lambda: [RANDN(33, 1, 45) * 2, RANDN(7, 45)]),
    "views": (Views, lambda: [RANDN(4, 9, 33)]),
    "rearranged": (Rearranged, lambda: [RANDN(4, 4, 33)]),
    "outer": (Outer, lambda: [RANDN(50)]),
    "scans": (Scans, lambda: [RANDN(5, 6, 37)]),
    "halves": (Halves, lambda: [RANDN(9, 133)]),
    "linear": (Linear, lambda: [RANDN(30, 65)]),
    "products": (Products, lambda: [RANDN(3, 37, 70), RANDN(3, 70, 37)]),
    "deep_product": (DeepProduct, lambda: [RANDN(600, 50), RANDN(90, 600)]),
    "mlp": (Mlp, lambda: [RANDN(25, 20)]),
}


def build(name):
    """(module, inputs, source of a task file whose Model is that module)."""
    torch.manual_seed(sorted(ZOO).index(name))
    kind, inputs = ZOO[name]
    source = inspect.getsource(kind).replace(f"class {kind.__name__}", "class Model")
    return kind(), inputs(), f"import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\n{source}"
