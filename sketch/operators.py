"""ATen's reductions, normalisations, scans, contractions and windows by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from sketch import folds, windows
from sketch.expr import cast, compute_dtype
from sketch.pointwise import DTYPE_OF, call
from sketch.registry import handles
from sketch.values import Builder, Unsupported, Value


def _in_result_dtype(node: torch.fx.Node, x: Value) -> Value:
    """The operand in the dtype of the node's result, in which torch folds it."""
    dtype = DTYPE_OF[node.meta["val"].dtype]
    return Value(x.dims, cast(x.expr, compute_dtype(dtype)), dtype)


@handles("sum", "prod", "amax", "amin", "any", "all")
def _fold(b: Builder, node: torch.fx.Node, x: Value, dim: Any = None, keepdim: bool = False, **_: Any) -> Value:
    name = str(node.target).removeprefix("aten.").split(".")[0]
    x = _in_result_dtype(node, x)
    return folds.fold(b, x, folds.dims_of(x, dim), {"amax": "max", "amin": "min"}.get(name, name), keepdim)


@handles("mean")
def _mean(b: Builder, node: torch.fx.Node, x: Value, dim: Any = None, keepdim: bool = False, **_: Any) -> Value:
    x = _in_result_dtype(node, x)
    return folds.mean(b, x, folds.dims_of(x, dim), keepdim)


@handles("max", "min")
def _extreme(b: Builder, node: torch.fx.Node, x: Value, dim: int | None = None, keepdim: bool = False) -> Any:
    name = str(node.target).removeprefix("aten.").split(".")[0]
    if dim is None:
        return folds.fold(b, x, folds.dims_of(x, None), name, False)
    dims = folds.dims_of(x, dim)
    used = {u.args[1] for u in node.users if len(u.args) > 1}
    values = folds.fold(b, x, dims, name, keepdim) if 0 in used else None
    return values, folds.fold(b, x, dims, f"arg{name}", keepdim) if 1 in used else None


@handles("argmax", "argmin")
def _arg(b: Builder, node: torch.fx.Node, x: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    name = str(node.target).removeprefix("aten.").split(".")[0]
    return folds.fold(b, x, folds.dims_of(x, dim), name, keepdim)


@handles("var")
def _var(
    b: Builder, node: torch.fx.Node, x: Value, dim: Any = None, correction: float | None = 1, keepdim: bool = False, **_: Any
) -> Value:
    return folds.variance(b, x, folds.dims_of(x, dim), 1 if correction is None else correction, keepdim)[0]


@handles("var_mean")
def _var_mean(
    b: Builder, node: torch.fx.Node, x: Value, dim: Any = None, correction: float | None = 1, keepdim: bool = False
) -> Any:
    return folds.variance(b, x, folds.dims_of(x, dim), 1 if correction is None else correction, keepdim)


@handles("linalg_vector_norm")
def _vector_norm(
    b: Builder, node: torch.fx.Node, x: Value, order: float = 2, dim: Any = None, keepdim: bool = False, **_: Any
) -> Value:
    return folds.lp_norm(b, x, order, folds.dims_of(x, dim), keepdim)


@handles("_softmax", "_log_softmax", "_safe_softmax")
def _softmax(b: Builder, node: torch.fx.Node, x: Value, dim: int, *_: Any) -> Value:
    return folds.softmax(b, x, dim, "log" in str(node.target))


@handles("native_layer_norm")
def _layer_norm(b: Builder, node: torch.fx.Node, x: Value, shape: Sequence[int], weight: Any, bias: Any, eps: float) -> Any:
    return folds.layer_norm(b, x, shape, weight, bias, eps), None, None


@handles("native_group_norm")
def _group_norm(
    b: Builder, node: torch.fx.Node, x: Value, weight: Any, bias: Any, n: int, c: int, hw: int, groups: int, eps: float
) -> Any:
    return folds.group_norm(b, x, weight, bias, groups, eps), None, None


@handles("_native_batch_norm_legit_functional")
def _batch_norm(
    b: Builder,
    node: torch.fx.Node,
    x: Value,
    weight: Any,
    bias: Any,
    running_mean: Value,
    running_var: Value,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    rank = len(x.dims)
    if not training:
        return (
            _batch_norm_fixed(b, node, x, weight, bias, running_mean, running_var, momentum, eps),
            None,
            None,
            running_mean,
            running_var,
        )
    dims = [d for d in range(rank) if d != 1]
    y, mean, var = folds.normalise(b, x, dims, eps)
    count = 1
    for d in dims:
        count *= b.extent(x.dims[d])
    flat = [replace(v, dims=(v.dims[1],)) for v in (mean, folds.shift(var, "mul", count / max(count - 1, 1)))]
    new = [_blend(b, old, fresh, momentum) for old, fresh in zip((running_mean, running_var), flat, strict=True)]
    return folds.affine(b, y, folds.channels(weight, rank), folds.channels(bias, rank)), None, None, *new


def _blend(b: Builder, old: Value, new: Value, momentum: float) -> Value:
    fresh, kept = b.align([folds.shift(new, "mul", momentum), folds.shift(old, "mul", 1 - momentum)])
    return replace(fresh, expr=call("add", kept.expr, fresh.expr))


@handles("_native_batch_norm_legit")
def _batch_norm_no_stats(b: Builder, node: torch.fx.Node, x: Value, weight: Any, bias: Any, *rest: Any) -> Any:
    if len(rest) != 3:
        raise Unsupported("aten._native_batch_norm_legit", "the variant that updates its statistics in place cannot be captured")
    rank = len(x.dims)
    y = folds.normalise(b, x, [d for d in range(rank) if d != 1], rest[2])[0]
    return folds.affine(b, y, folds.channels(weight, rank), folds.channels(bias, rank)), None, None


@handles("_native_batch_norm_legit_no_training")
def _batch_norm_fixed(
    b: Builder,
    node: torch.fx.Node,
    x: Value,
    weight: Any,
    bias: Any,
    running_mean: Value,
    running_var: Value,
    momentum: float,
    eps: float,
) -> Any:
    rank = len(x.dims)
    centre, var = folds.channels(running_mean, rank), folds.channels(running_var, rank)
    assert centre is not None
    assert var is not None
    scale = folds.unary(folds.shift(var, "add", eps), "rsqrt")
    y = folds.combine(b, "mul", folds.combine(b, "sub", x, centre), scale)
    y = folds.affine(b, y, folds.channels(weight, rank), folds.channels(bias, rank))
    return (y, None, None) if "no_training" in str(node.target) else y


@handles("cumsum", "cumprod")
def _scan(b: Builder, node: torch.fx.Node, x: Value, dim: int, **_: Any) -> Value:
    x = _in_result_dtype(node, x)
    return folds.scan(b, x, dim % len(x.dims), "sum" if "cumsum" in str(node.target) else "prod") if x.dims else x


@handles("gather")
def _gather(b: Builder, node: torch.fx.Node, x: Value, dim: int, index: Value, **_: Any) -> Value:
    return folds.gather(b, x, dim % len(x.dims), index)


@handles("mm", "bmm")
def _mm(b: Builder, node: torch.fx.Node, left: Value, right: Value) -> Value:
    return folds.contract(b, left, right, "product")


@handles("mv")
def _mv(b: Builder, node: torch.fx.Node, left: Value, right: Value) -> Value:
    y = folds.contract(b, left, replace(right, dims=(*right.dims, ())), "product")
    return replace(y, dims=y.dims[:-1])


@handles("dot")
def _dot(b: Builder, node: torch.fx.Node, left: Value, right: Value) -> Value:
    return folds.fold(b, folds.combine(b, "mul", left, right), [0], "sum", False)


@handles("addmm", "baddbmm")
def _addmm(
    b: Builder, node: torch.fx.Node, bias: Value, left: Value, right: Value, beta: float = 1, alpha: float = 1, **_: Any
) -> Value:
    y = folds.contract(b, left, right, "product")
    y = y if alpha == 1 else folds.shift(y, "mul", alpha)
    return folds.combine(b, "add", y, bias if beta == 1 else folds.shift(bias, "mul", beta))


@handles("convolution")
def _convolution(b: Builder, node: torch.fx.Node, *args: Any) -> Value:
    return windows.convolution(b, *args)


@handles("max_pool2d_with_indices", "max_pool3d_with_indices")
def _max_pool(b: Builder, node: torch.fx.Node, x: Value, size: Sequence[int], *rest: Any) -> Any:
    return windows.pool(b, x, list(node.meta["val"][0].shape), size, "max", *rest), None


@handles("avg_pool1d", "avg_pool2d", "avg_pool3d")
def _avg_pool(b: Builder, node: torch.fx.Node, x: Value, size: Sequence[int], *rest: Any) -> Value:
    return windows.average(b, x, list(node.meta["val"].shape), size, *rest)
