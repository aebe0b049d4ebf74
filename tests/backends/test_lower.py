"""Lowered C++ against torch: every family under several sets of hints, built by the real compiler and run."""

import copy
import types

import pytest
import torch
from zoo import ZOO, build

from backends.cpp.candidate import render
from backends.cpp.lower import lower
from sketch.capture import capture
from sketch.values import Unsupported

HINTS = {
    "seed": {},
    "fast": {"division": "reciprocal", "vector": 16, "math": "poly", "unroll": 2, "passes": "online", "pages": "huge"},
    "other": {"vector": 8, "math": "poly", "unroll": 4, "stage": "buffer", "store": "streaming", "schedule": "dynamic"},
    "split": {"vector": 4, "fuse": "none", "threads": 1},
}


def candidate(module, inputs, source, hints, name="task"):
    """ModelNew with the module's weights, out of the rendered file alone."""
    sketch = capture(module, inputs, name).with_hints(**hints)
    file = types.ModuleType("candidate")
    exec(compile(render(sketch, lower(sketch), source), "candidate.py", "exec"), file.__dict__)
    new = file.ModelNew()
    new.load_state_dict(module.state_dict(), strict=True)
    return new


def listed(value):
    return value if isinstance(value, tuple) else (value,)


def error(got, golden):
    """Largest error relative to the output's own scale; 0 where both are not finite alike."""
    got, golden = got.double(), golden.double()
    both = got.isfinite() & golden.isfinite()
    assert torch.equal(got.isfinite(), golden.isfinite())
    return ((got - golden)[both].abs().max() / golden[both].abs().max().clamp_min(1e-30)).item() if both.any() else 0.0


CASES = [(n, h) for n in ZOO for h in HINTS if h != "split" or n in ("softmax", "layer_norm", "reductions", "products", "scans")]


@pytest.mark.parametrize(("name", "hints"), CASES)
def test_lowered_kernel_equals_torch(name, hints):
    module, inputs, source = build(name)
    new = candidate(module, inputs, source, HINTS[hints], name)
    reference = listed(copy.deepcopy(module)(*inputs))
    doubles = [x.double() if x.is_floating_point() else x for x in inputs]
    golden = reference if name == "halves" else listed(copy.deepcopy(module).double()(*doubles))
    for got, want, exact in zip(listed(new(*inputs)), reference, golden, strict=True):
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        if not want.is_floating_point():
            assert torch.equal(got, want)
        elif name == "halves":
            torch.testing.assert_close(got, want)
        else:
            assert error(got, exact) <= max(4 * error(want, exact), 1e-6)


def test_long_sums_keep_their_accuracy():
    """A million f32 terms: plain accumulation in one f32 would lose four digits."""

    class Model(torch.nn.Module):
        def forward(self, x):
            return x.sum(0), x.sum()

    inputs = [torch.rand(1 << 18, 5)]
    golden = inputs[0].double().sum(0), inputs[0].double().sum()
    source = "import torch\nfrom torch import nn\n\n\nclass Model(nn.Module):\n    pass\n"
    for hints in HINTS.values():
        for got, exact in zip(candidate(Model(), inputs, source, hints)(*inputs), golden, strict=True):
            assert error(got, exact) < 3e-7


def test_nan_and_infinity_are_kept():
    module, _, source = build("softmax")
    x = torch.randn(40, 1003)
    x[3, 100], x[4, 7], x[5, :], x[6, 50:] = float("nan"), float("inf"), -float("inf"), -float("inf")
    expected = module(x)
    for hints in HINTS.values():
        torch.testing.assert_close(candidate(module, [x], source, hints)(x), expected, equal_nan=True, rtol=1e-5, atol=1e-8)


def test_running_statistics_are_updated_in_place():
    module, inputs, source = build("batch_norm_relu")
    new = candidate(module, inputs, source, HINTS["fast"])
    module(*inputs)
    new(*inputs)
    for key, value in module.state_dict().items():
        torch.testing.assert_close(new.state_dict()[key], value)


def test_other_shapes_are_refused_by_name():
    module, inputs, source = build("softmax")
    new = candidate(module, inputs, source, {})
    with pytest.raises(ValueError, match=r"x: built for f32\[40, 1003\], got torch.float32 \[40, 1004\]"):
        new(torch.randn(40, 1004))


def test_what_cannot_be_lowered_names_its_operator():
    with pytest.raises(Unsupported, match=r"^aten.convolution: ") as error:
        lower(capture(torch.nn.Conv2d(3, 4, 3, padding=1), [torch.randn(1, 3, 8, 8)], "conv"))
    assert "\n" not in str(error.value)


def test_names_that_cpp_uses_are_renamed():
    class Model(torch.nn.Module):
        def forward(self, t, V, total, float_):
            return t * V + total - float_

    source = "import torch\nfrom torch import nn\n\n\nclass Model(nn.Module):\n    pass\n"
    inputs = [torch.randn(5, 6) for _ in range(4)]
    torch.testing.assert_close(candidate(Model(), inputs, source, HINTS["fast"])(*inputs), Model()(*inputs))
