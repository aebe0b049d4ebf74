"""Precision policies: which arithmetic both sides may use, and how far a candidate may be from the float64 golden.

The error of one output is the largest |y - g| / (|g| + s) over its elements, where g is the golden and s the mean of |g|
over the output's finite elements. It is relative to the output's own magnitude (a softmax over 400,000 columns has s near
2.5e-6, so zeros score at least 0.5 somewhere), and an element near cancellation (|g| far below s) is measured against s,
where honest rounding noise lives, not against its own tiny value. The mean rather than the rms keeps one outlier from
hiding everything else. A candidate passes with error <= max(floor, factor x e_ref), e_ref being eager's own error,
pooled over the cases of its group so that one lucky exact rounding of a scalar does not condemn an honest kernel.
"""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Policy:
    """`floor` is a relative error, `ulps` counts units of the output's own dtype; the larger of both is the floor."""

    name: str
    factor: float
    floor: float
    ulps: float
    matmul: str | None
    cast: str | None = None

    def limit(self, reference_error: float, dtype: torch.dtype) -> float:
        """The largest admissible error of a candidate whose reference errs by `reference_error`."""
        ulp = torch.finfo(dtype).eps if dtype.is_floating_point or dtype.is_complex else 0.0
        return max(self.floor, self.ulps * ulp, self.factor * reference_error)


POLICIES = {
    "strict": Policy("strict", 4.0, 0.0, 4.0, "highest"),
    "kernelbench": Policy("kernelbench", 2.0, 1e-4, 4.0, None),
    "tf32": Policy("tf32", 4.0, 2.0**-11, 4.0, "high"),
    "bf16": Policy("bf16", 4.0, 0.0, 4.0, "highest", "bfloat16"),
    "fp16": Policy("fp16", 4.0, 0.0, 4.0, "highest", "float16"),
}


def named(name: str) -> Policy:
    """The policy of that name; KeyError's message lists the names."""
    if name not in POLICIES:
        raise KeyError(f"no precision policy {name!r}: one of {', '.join(POLICIES)}")
    return POLICIES[name]


def set_flags(matmul: str | None) -> None:
    """Applies the matmul precision to this process; None keeps torch's defaults."""
    if matmul is not None:
        torch.set_float32_matmul_precision(matmul)


def cast_value(tensor: torch.Tensor, dtype: str | None) -> torch.Tensor:
    """Casts a floating tensor to the policy's dtype; integers and bools stay."""
    if dtype is None or not tensor.dtype.is_floating_point:
        return tensor
    return tensor.to(getattr(torch, dtype))
