"""The evaluator against torch's own operators, for every kind of operation and every scalar function."""

import pytest
import torch
from torch.nn import functional

from sketch.evaluate import apply, evaluate
from sketch.ir import FUNCTIONS
from sketch.text import parse

DIMS = "sketch S\ndim B = 3\ndim C = 7\ndim D = 5\ndim K = 3\n"


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def run(body, *inputs, state=None, **options):
    return evaluate(parse(DIMS + body), inputs, state or {}, **options)


def close(mine, reference):
    torch.testing.assert_close(mine, reference, rtol=1e-12, atol=1e-12)


def test_compute_broadcasts_and_weights_come_from_the_state():
    x, w = torch.randn(3, 7, dtype=torch.float64), torch.randn(7, dtype=torch.float64)
    body = """input x: f32[B, C] from 0
weight w: f32[C] from "a.w"
output y: f32[C, B] from 0
parallel c in C:
    y[c, b] = compute for b in B: tanh(x[b, 6 - c]) * w[c] + f32(index(b + 2*c))
"""
    out = run(body, x, state={"a.w": w})
    reference = x.flip(1).tanh().T * w[:, None] + torch.arange(3) + 2 * torch.arange(7)[:, None]
    assert list(out) == ["y"]
    close(out["y"], reference)


FOLDS = {
    "sum": lambda v: v.sum((1, 2)), "prod": lambda v: v.prod(2).prod(1), "max": lambda v: v.amax((1, 2)),
    "min": lambda v: v.amin((1, 2)), "argmax": lambda v: v.flatten(1).argmax(1), "argmin": lambda v: v.flatten(1).argmin(1),
}  # fmt: skip


@pytest.mark.parametrize("combiner", FOLDS)
def test_reduce_over_two_axes(combiner):
    x = torch.randn(3, 7, 5, dtype=torch.float64)
    dtype = "i64" if combiner.startswith("arg") else "f32"
    body = f"input x: f32[B, C, D] from 0\noutput y: {dtype}[B] from 0\n"
    out = run(f"{body}parallel b in B:\n    y[b] = reduce {combiner} over c in C, d in D: x[b, c, d]\n", x)
    close(out["y"], FOLDS[combiner](x))


def test_argmax_takes_the_first_of_equals_over_a_middle_axis():
    x = torch.randint(0, 3, (3, 7, 5)).double()
    body = "input x: f32[B, C, D] from 0\noutput y: i64[B, D] from 0\n"
    out = run(body + "parallel b in B, d in D:\n    y[b, d] = reduce argmax over c in C: x[b, c, d]\n", x)
    first = torch.stack([(x == x.amax(1, keepdim=True))[:, c] * (7 - c) for c in range(7)], 1).argmax(1)
    assert torch.equal(out["y"], first)


@pytest.mark.parametrize("combiner", ["any", "all"])
def test_any_and_all(combiner):
    x = torch.randn(3, 7).abs() + torch.tensor([[0.0], [0.4], [9.0]])
    body = "input x: f32[B, C] from 0\noutput y: b1[B] from 0\n"
    out = run(body + f"parallel b in B:\n    y[b] = reduce {combiner} over c in C: x[b, c] > 1.0\n", x)
    assert torch.equal(out["y"], getattr(torch, combiner)(x > 1.0, dim=1))


SCANS = {
    "sum": lambda v: v.cumsum(1), "prod": lambda v: v.cumprod(1),
    "max": lambda v: v.cummax(1).values, "min": lambda v: v.cummin(1).values,
}  # fmt: skip


@pytest.mark.parametrize("combiner", SCANS)
def test_scan_keeps_each_prefix(combiner):
    x = torch.randn(3, 7, 5, dtype=torch.float64)
    body = "input x: f32[B, C, D] from 0\noutput y: f32[B, C, D] from 0\noutput z: f32[B, C, D] from 1\nparallel b in B:\n"
    body += f"    y[b, c, d] = scan {combiner} over c in C for d in D: x[b, c, d]\n"
    out = run(body + f"    z[b, 6 - c, d] = scan {combiner} over c in C for d in D: x[b, 6 - c, d]\n", x)
    close(out["y"], SCANS[combiner](x))
    close(out["z"], SCANS[combiner](x.flip(1)).flip(1))


def test_contract_is_a_matrix_product():
    x, w = torch.randn(3, 7, dtype=torch.float64), torch.randn(5, 7, dtype=torch.float64)
    body = 'input x: f32[B, C] from 0\nweight w: f32[D, C] from "w"\noutput y: f32[B, D] from 0\n'
    out = run(body + "parallel b in B, d in D:\n    y[b, d] = contract over c in C: x[b, c] * w[d, c]\n", x, state={"w": w})
    close(out["y"], x @ w.T)


def test_window_with_a_guard_is_a_padded_convolution():
    x, w = torch.randn(3, 5, 7, dtype=torch.float64), torch.randn(5, 5, 3, dtype=torch.float64)
    body = """input x: f32[B, D, C] from 0
weight w: f32[D, D, K] from "w"
output y: f32[B, D, C] from 0
parallel b in B, o in D:
    y[b, o, c] = window sum over d in D, k in K for c in C if index(c + k - 1) >= 0 and index(c + k - 1) < 7:
        x[b, d, c + k - 1] * w[o, d, k]
"""
    close(run(body, x, state={"w": w})["y"], functional.conv1d(x, w, padding=1))


@pytest.mark.parametrize("combiner", ["max", "min", "argmax"])
def test_window_guard_leaves_padding_out_of_a_maximum(combiner):
    x = -1 - torch.rand(3, 7, dtype=torch.float64)
    dtype = "i64" if combiner == "argmax" else "f32"
    body = f"input x: f32[B, C] from 0\noutput y: {dtype}[B, C] from 0\nparallel b in B:\n"
    guard = "if index(c + k - 1) >= 0 and index(c + k - 1) < 7"
    out = run(f"{body}    y[b, c] = window {combiner} over k in K for c in C {guard}: x[b, c + k - 1]\n", x)["y"]
    filler = float("inf") if combiner == "min" else float("-inf")
    views = functional.pad(x, (1, 1), value=filler).unfold(1, 3, 1)
    close(out, {"max": views.amax(-1), "min": views.amin(-1), "argmax": views.argmax(-1)}[combiner])


def test_untaken_where_may_reach_out_of_range():
    x = torch.randn(3, 7, dtype=torch.float64)
    body = "input x: f32[B, C] from 0\noutput y: f32[B, C] from 0\n"
    out = run(body + "parallel b in B:\n    y[b, c] = compute for c in C: where(index(c) >= 2, x[b, c - 2], 0.5)\n", x)
    close(out["y"], functional.pad(x, (2, 0), value=0.5)[:, :7])


def test_gather_is_an_embedding_and_a_label_lookup():
    table, labels = torch.randn(7, 5, dtype=torch.float64), torch.tensor([6, 0, 3])
    body = """input t: i64[B] from 0
weight w: f32[C, D] from "w"
output y: f32[B, D] from 0
output z: f32[] from 1
parallel b in B:
    y[b, d] = compute for d in D: w[gather t[b], d]
serial:
    z[] = reduce sum over b in B: -w[gather t[b], 4]
"""
    out = run(body, labels, state={"w": table})
    close(out["y"], functional.embedding(labels, table))
    close(out["z"], -table[labels, 4].sum())


def test_chain_of_nests_is_softmax_in_both_precisions():
    x = 4 * torch.randn(3, 7)
    body = """input x: f32[B, C] from 0
temp m: f32[B]
temp s: f32[B]
output y: f32[B, C] from 0
parallel b in B:
    m[b] = reduce max over c in C: x[b, c]
    s[b] = reduce sum over c in C: exp(x[b, c] - m[b])
parallel b in B, c in C:
    y[b, c] = compute: exp(x[b, c] - m[b]) / s[b]
"""
    close(run(body, x)["y"], torch.softmax(x.double(), 1))
    declared = run(body, x, dtype=None)["y"]
    assert declared.dtype == torch.float32
    torch.testing.assert_close(declared, torch.softmax(x, 1))


def test_declared_dtypes_round_where_float64_does_not():
    x = torch.tensor([1.0 + 2**-10] * 3)
    body = "input x: f32[B] from 0\noutput y: bf16[B] from 0\nparallel b in B:\n    y[b] = compute: bf16(x[b])\n"
    assert torch.equal(run(body, x, dtype=None)["y"], x.bfloat16())
    assert torch.equal(run(body, x)["y"], x.double())


def test_casts_truncate_and_state_is_updated_but_not_in_place():
    x, seen = torch.tensor([1.7, -1.7, 2.5], dtype=torch.float64), torch.ones(3, dtype=torch.int64)
    body = 'input x: f32[B] from 0\nstate n: i64[B] from "n"\noutput y: i64[B] from 0\nparallel b in B:\n'
    out = run(body + "    y[b] = compute: i64(x[b])\n    n[b] = compute: n[b] + 1\n", x, state={"n": seen})
    assert out["y"].tolist() == [1, -1, 2]
    assert out["n"].tolist() == [2, 2, 2]
    assert seen.tolist() == [1, 1, 1]


def test_what_is_never_stored_is_nan():
    out = run("input x: f32[B] from 0\noutput y: f32[C] from 0\nparallel b in B:\n    y[2*b] = compute: x[b]\n", torch.ones(3))
    assert torch.isnan(out["y"]).tolist() == [False, True, False, True, False, True, True]


def test_a_wrong_shape_is_refused():
    with pytest.raises(ValueError, match=r"input 'x' is declared \[3\], given \[4\]"):
        run("input x: f32[B] from 0\noutput y: f32[B] from 0\nparallel b in B:\n    y[b] = compute: x[b]\n", torch.ones(4))


NAMED = {"recip": "reciprocal", "max": "maximum", "min": "minimum", "mod": "remainder", "floordiv": "floor_divide", "pow": "pow"}


@pytest.mark.parametrize("fn", [f for f in FUNCTIONS if f not in ("cast", "where")])
def test_every_scalar_function_is_torch_s(fn):
    x, y = torch.tensor([0.3, 0.8, 0.55], dtype=torch.float64), torch.tensor([0.6, 0.8, 0.2], dtype=torch.float64)
    if fn in ("and", "or", "xor", "not"):
        args = (x > 0.5, y > 0.5)[: FUNCTIONS[fn]]
        assert torch.equal(apply(fn, args), getattr(torch, f"logical_{fn}")(*args))
    else:
        args = (x, y)[: FUNCTIONS[fn]]
        args = (1 + x,) if fn == "acosh" else args
        assert torch.equal(apply(fn, args), getattr(torch, NAMED.get(fn, fn))(*args))
