"""ATen's views and creation operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from sketch import folds
from sketch.expr import cast, compute_dtype, substitute
from sketch.ir import Affine, Const, Index
from sketch.pointwise import DTYPE_OF
from sketch.registry import handles
from sketch.values import Builder, Unsupported, Value


@handles("clone", "alias", "contiguous", "detach", "lift_fresh_copy")
def _same(b: Builder, node: torch.fx.Node, x: Value, **_: Any) -> Value:
    return x


@handles("_assert_tensor_metadata", "_assert_scalar", "_assert_async")
def _assertion(b: Builder, node: torch.fx.Node, *_: Any, **__: Any) -> None:
    return None


@handles("_to_copy", "to")
def _to_copy(b: Builder, node: torch.fx.Node, x: Value, **_: Any) -> Value:
    dtype = DTYPE_OF[node.meta["val"].dtype]
    return Value(x.dims, cast(x.expr, compute_dtype(dtype)), dtype)


@handles("view", "reshape", "_unsafe_view", "unsqueeze", "squeeze", "flatten")
def _view(b: Builder, node: torch.fx.Node, x: Value, *_: Any) -> Value:
    return b.reshape(x, list(node.meta["val"].shape))


@handles("permute")
def _permute(b: Builder, node: torch.fx.Node, x: Value, order: Sequence[int]) -> Value:
    return replace(x, dims=tuple(x.dims[d] for d in order))


@handles("t", "transpose")
def _transpose(b: Builder, node: torch.fx.Node, x: Value, first: int = 0, second: int = 1) -> Value:
    order = list(range(len(x.dims)))
    if len(order) > 1:
        order[first], order[second] = order[second], order[first]
    return replace(x, dims=tuple(x.dims[d] for d in order))


@handles("expand")
def _expand(b: Builder, node: torch.fx.Node, x: Value, *_: Any, **__: Any) -> Value:
    shape = list(node.meta["val"].shape)
    dims = ((),) * (len(shape) - len(x.dims)) + x.dims
    return replace(x, dims=tuple(d if d or n == 1 else (b.axis(n),) for d, n in zip(dims, shape, strict=True)))


def _single(b: Builder, x: Value, dim: int) -> Value:
    """The value with at most one axis on `dim`."""
    return x if len(x.dims[dim]) <= 1 else b.reshape(b.flat(x), b.shape(x))


def _moved(b: Builder, x: Value, dim: int, extent: int, step: int, start: int) -> Value:
    """`dim` re-indexed as start + step * new axis."""
    x = _single(b, x, dim)
    new = (b.axis(extent),) if extent != 1 else ()
    at = Affine.axis(new[0]).scaled(step) if new else Affine()
    expr = substitute(x.expr, {x.dims[dim][0]: at + Affine((), start)}) if x.dims[dim] else x.expr
    return replace(x, dims=tuple(new if i == dim else d for i, d in enumerate(x.dims)), expr=expr)


@handles("slice")
def _slice(
    b: Builder, node: torch.fx.Node, x: Value, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Value:
    dim %= len(x.dims)
    size = b.extent(x.dims[dim])
    first, last, step = slice(start, end, step).indices(size)
    extent = max(0, -(-(last - first) // step))
    return x if (first, extent, step) == (0, size, 1) else _moved(b, x, dim, extent, step, first)


@handles("split_with_sizes", "split")
def _split(b: Builder, node: torch.fx.Node, x: Value, sizes: Any, dim: int = 0) -> list[Value]:
    dim %= len(x.dims)
    out, start = [], 0
    for fake in node.meta["val"]:
        extent = fake.shape[dim]
        out.append(_moved(b, x, dim, extent, 1, start))
        start += extent
    return out


@handles("repeat")
def _repeat(b: Builder, node: torch.fx.Node, x: Value, repeats: Sequence[int]) -> Value:
    dims = ((),) * (len(repeats) - len(x.dims)) + x.dims
    return replace(x, dims=tuple(d if n == 1 else (b.axis(n), *d) for d, n in zip(dims, repeats, strict=True)))


@handles("select")
def _select(b: Builder, node: torch.fx.Node, x: Value, dim: int, index: int) -> Value:
    dim %= len(x.dims)
    x = _moved(b, x, dim, 1, 1, index % b.extent(x.dims[dim]))
    return replace(x, dims=x.dims[:dim] + x.dims[dim + 1 :])


@handles("flip")
def _flip(b: Builder, node: torch.fx.Node, x: Value, dims: Sequence[int]) -> Value:
    for dim in folds.dims_of(x, dims):
        size = b.extent(x.dims[dim])
        x = _moved(b, x, dim, size, -1, size - 1)
    return x


def _filled(b: Builder, node: torch.fx.Node, number: float) -> Value:
    fake = node.meta["val"]
    dtype = DTYPE_OF[fake.dtype]
    dims = tuple((b.axis(n),) if n != 1 else () for n in fake.shape)
    return Value(dims, cast(Const(number, "f64"), compute_dtype(dtype)), dtype)


@handles("full")
def _full(b: Builder, node: torch.fx.Node, size: Any, number: float, **_: Any) -> Value:
    return _filled(b, node, number)


@handles("full_like")
def _full_like(b: Builder, node: torch.fx.Node, like: Value, number: float, **_: Any) -> Value:
    return replace(_filled(b, node, number), dims=like.dims)


@handles("scalar_tensor")
def _scalar_tensor(b: Builder, node: torch.fx.Node, number: float, **_: Any) -> Value:
    return _filled(b, node, number)


@handles("arange")
def _arange(b: Builder, node: torch.fx.Node, first: float, last: float | None = None, step: float = 1, **_: Any) -> Value:
    start = 0 if last is None else first
    value = _filled(b, node, 0)
    if not all(float(n).is_integer() for n in (start, step)):
        raise Unsupported("aten.arange", "only whole starts and steps are captured")
    at = Affine((), int(start)) + (Affine.axis(value.dims[0][0]).scaled(int(step)) if value.dims[0] else Affine())
    return replace(value, expr=cast(Index(at), value.expr.dtype))
