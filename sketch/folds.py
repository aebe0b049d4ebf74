"""ATen's reductions, normalisations, scans, contractions and windows as sketch operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf, prod

from sketch.expr import cast, rewrite, substitute
from sketch.ir import Affine, Call, Const, DType, Expr, Gather, Index, Load, Op
from sketch.pointwise import call, const
from sketch.values import Builder, Unsupported, Value


def dims_of(value: Value, dims: int | Sequence[int] | None) -> list[int]:
    rank = len(value.dims)
    if dims is None or (not isinstance(dims, int) and not len(dims)):
        return list(range(rank))
    return [d % rank for d in ([dims] if isinstance(dims, int) else dims)] if rank else []


def fold(b: Builder, value: Value, dims: Sequence[int], combiner: str, keep: bool, stem: str = "", kind: str = "reduce") -> Value:
    """Reduces `dims`; the result keeps them with extent 1 when `keep`."""
    over = tuple(a for d in dims for a in value.dims[d])
    free = tuple(a for a in value.axes if a not in over)
    dtype: DType = "i64" if combiner in ("argmax", "argmin") else value.expr.dtype
    load: Expr = value.expr if not combiner.startswith("arg") else Const(0, "i64")
    if over:
        load = b.emit(kind, stem or combiner, free, over, combiner, value.expr, dtype)
    left = tuple(() if i in dims else d for i, d in enumerate(value.dims) if keep or i not in dims)
    return Value(left, load, "i64" if dtype == "i64" else value.dtype)


def mean(b: Builder, value: Value, dims: Sequence[int], keep: bool) -> Value:
    total = fold(b, value, dims, "sum", keep)
    count = prod(b.extent(value.dims[d]) for d in dims)
    return replace(total, expr=call("div", total.expr, const(count, total.expr)))


def combine(b: Builder, fn: str, *values: Value) -> Value:
    """An elementwise function of aligned values, in the first one's type."""
    aligned = b.align(list(values))
    return replace(aligned[0], expr=call(fn, *(cast(v.expr, aligned[0].expr.dtype) for v in aligned)))


def unary(value: Value, fn: str) -> Value:
    return replace(value, expr=call(fn, value.expr))


def shift(value: Value, fn: str, number: float) -> Value:
    return replace(value, expr=call(fn, value.expr, const(number, value.expr)))


def variance(b: Builder, value: Value, dims: Sequence[int], correction: float, keep: bool) -> tuple[Value, Value]:
    """(variance, mean): the squared deviations from the mean, in a second reduction."""
    centre = b.store(mean(b, value, dims, True), "mean")
    deviation = combine(b, "sub", value, centre)
    squares = fold(b, combine(b, "mul", deviation, deviation), dims, "sum", keep, "squares")
    count = max(prod(b.extent(value.dims[d]) for d in dims) - correction, 0)
    if not keep:
        centre = replace(centre, dims=tuple(d for i, d in enumerate(centre.dims) if i not in dims))
    return shift(squares, "div", count), centre


def softmax(b: Builder, value: Value, dim: int, log: bool) -> Value:
    dims = dims_of(value, dim)
    peak = fold(b, value, dims, "max", True, "peak")
    shifted = combine(b, "sub", value, peak)
    if log:
        total = fold(b, unary(shifted, "exp"), dims, "sum", True, "total")
        return combine(b, "sub", shifted, unary(total, "log"))
    power = b.store(unary(shifted, "exp"), "power")
    return combine(b, "div", power, fold(b, power, dims, "sum", True, "total"))


def normalise(b: Builder, value: Value, dims: Sequence[int], eps: float) -> tuple[Value, Value, Value]:
    """(normalised, mean, variance): population statistics over `dims`, kept with extent 1."""
    var, centre = variance(b, value, dims, 0, True)
    scale = b.store(unary(shift(var, "add", eps), "rsqrt"), "rstd")
    return combine(b, "mul", combine(b, "sub", value, centre), scale), centre, var


def affine(b: Builder, value: Value, weight: Value | None, bias: Value | None) -> Value:
    """value * weight + bias, in the value's type."""
    for other, fn in ((weight, "mul"), (bias, "add")):
        if other is not None:
            value = combine(b, fn, value, other)
    return value


def channels(value: Value | None, rank: int) -> Value | None:
    """A per-channel vector placed on dim 1 of a tensor of `rank` dims."""
    return None if value is None else replace(value, dims=(value.dims[0], *((),) * (rank - 2)))


def layer_norm(b: Builder, x: Value, shape: Sequence[int], weight: Value | None, bias: Value | None, eps: float) -> Value:
    dims = list(range(len(x.dims) - len(shape), len(x.dims)))
    return affine(b, normalise(b, x, dims, eps)[0], weight, bias)


def group_norm(b: Builder, x: Value, weight: Value | None, bias: Value | None, groups: int, eps: float) -> Value:
    shape = b.shape(x)
    split = b.reshape(x, [shape[0], groups, shape[1] // groups, *shape[2:]])
    y = normalise(b, split, list(range(2, len(shape) + 1)), eps)[0]
    return affine(b, b.reshape(y, shape), channels(weight, len(shape)), channels(bias, len(shape)))


def lp_norm(b: Builder, value: Value, order: float, dims: Sequence[int], keep: bool) -> Value:
    size = unary(value, "abs")
    if order == 2:
        return unary(fold(b, combine(b, "mul", value, value), dims, "sum", keep, "squares"), "sqrt")
    if order == 1:
        return fold(b, size, dims, "sum", keep)
    if order in (inf, -inf):
        return fold(b, size, dims, "max" if order > 0 else "min", keep)
    if order == 0:
        return fold(b, replace(value, expr=cast(call("ne", value.expr, const(0, value.expr)), value.expr.dtype)), dims, "sum", keep)
    total = fold(b, shift(size, "pow", order), dims, "sum", keep)
    return shift(total, "pow", 1 / order)


def scan(b: Builder, value: Value, dim: int, combiner: str) -> Value:
    """Prefix sums or products along one dim."""
    axis = value.dims[dim]
    if not axis:
        return value
    if len(axis) > 1:
        value = b.reshape(b.flat(value), b.shape(value))
        axis = value.dims[dim]
    out = b.tensor("prefix", value.expr.dtype, [b.size[a] for a in value.axes], "temp")
    index = tuple(Affine.axis(a) for a in value.axes)
    free = tuple(a for a in value.axes if a not in axis)
    b.ops.append(Op("scan", out, index, b.loops(free), b.loops(axis), combiner, value.expr, origin=b.origin))
    return replace(value, expr=Load(out, index, value.expr.dtype))


def gather(b: Builder, value: Value, dim: int, index: Value) -> Value:
    """value[..., index, ...] elementwise along `dim`: every load takes its position on that dim from the index."""
    axis = value.dims[dim]
    rest = replace(value, dims=tuple(() if i == dim else d for i, d in enumerate(value.dims)))
    if not axis:
        return b.align([rest, index])[0]
    if len(axis) > 1:
        return gather(b, b.reshape(b.flat(value), b.shape(value)), dim, index)
    rest, index = b.align([replace(rest, expr=b.unshared(rest.expr)), index])
    return replace(rest, expr=rewrite(rest.expr, lambda n: _at(n, axis[0], cast(index.expr, "i64"))))


def _at(node: Expr, axis: str, position: Expr) -> Expr:
    if isinstance(node, Index):
        coef = dict(node.at.terms).get(axis, 0)
        rest = Index(Affine.of({a: c for a, c in node.at.terms if a != axis}, node.at.const))
        return node if not coef else call("add", rest, call("mul", position, Const(coef, "i64")))
    if not isinstance(node, Load):
        return node
    hits = [(i, at) for i, at in enumerate(node.index) if axis in dict(at.terms)]
    if not hits:
        return node
    if len(hits) > 1 or isinstance(node, Gather) or hits[0][1] != Affine.axis(axis):
        raise Unsupported("aten.gather", "the indexed dim is itself a strided or joined view; index a plain tensor instead")
    index = tuple(Affine() if i == hits[0][0] else at for i, at in enumerate(node.index))
    return Gather(node.tensor, index, hits[0][0], position, node.dtype)


def contract(b: Builder, left: Value, right: Value, stem: str) -> Value:
    """left[.., m, k] @ right[.., k, n]; operands that are not plain tensors are stored first."""
    left, right = _plain(b, left), _plain(b, right)
    pairs = [*zip(left.dims[:-2], right.dims[:-2], strict=True), (left.dims[-1], right.dims[-2])]
    table = {r[0]: Affine.axis(lhs[0]) for lhs, r in pairs if lhs and r}
    right_expr = substitute(right.expr, table)
    dims = (*(lhs or r for lhs, r in pairs[:-1]), left.dims[-2], right.dims[-1])
    product = call("mul", left.expr, cast(right_expr, left.expr.dtype))
    if not left.dims[-1]:
        return Value(dims, product, left.dtype)
    free = tuple(a for d in dims for a in d)
    return Value(dims, b.emit("contract", stem, free, left.dims[-1], "sum", product, left.expr.dtype), left.dtype)


def _plain(b: Builder, value: Value) -> Value:
    """A value that is one load with an axis per dim."""
    bare = value.expr.args[0] if isinstance(value.expr, Call) and value.expr.fn == "cast" else value.expr
    simple = isinstance(bare, Load) and all(len(d) <= 1 for d in value.dims)
    if simple and isinstance(bare, Load) and all(len(i.terms) <= 1 for i in bare.index):
        return value
    stored = b.store(value, "operand")
    return stored if all(len(d) <= 1 for d in stored.dims) else b.reshape(b.flat(value), b.shape(value))
