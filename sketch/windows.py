"""Convolutions and pooling: folds over a sliding window, bounded by a guard where padding reaches outside."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from sketch.expr import substitute
from sketch.ir import Affine, Const, Expr, Index, Load, Op
from sketch.pointwise import call, const
from sketch.values import Builder, Unsupported, Value


def _listed(value: int | Sequence[int], rank: int) -> list[int]:
    items = [value] if isinstance(value, int) else list(value)
    return items * rank if len(items) == 1 else items


def _bounds(b: Builder, at: Affine, size: int) -> Expr | None:
    """0 <= at < size where the loops can leave that range."""
    low = at.const + sum(min(0, c * (b.size[a] - 1)) for a, c in at.terms)
    high = at.const + sum(max(0, c * (b.size[a] - 1)) for a, c in at.terms)
    tests: list[Expr] = []
    if low < 0:
        tests.append(call("ge", Index(at), Const(0, "i64")))
    if high >= size:
        tests.append(call("lt", Index(at), Const(size, "i64")))
    return _every(tests)


def _every(tests: Sequence[Expr | None]) -> Expr | None:
    out: Expr | None = None
    for test in tests:
        if test is not None:
            out = test if out is None else call("and", out, test)
    return out


def _inside(b: Builder, x: Value, at: Sequence[Affine]) -> Expr | None:
    return _every([_bounds(b, a, b.extent(d)) for a, d in zip(at, x.dims[-len(at) :], strict=True)])


def _window(
    b: Builder,
    kind: str,
    out_dims: Sequence[str | None],
    over: Sequence[str],
    combiner: str,
    expr: Expr,
    guard: Expr | None,
    like: Value,
) -> Value:
    """One fold over window taps; the guard leaves out positions outside the input."""
    free = [a for a in out_dims if a is not None]
    name = b.tensor(kind, expr.dtype, [b.size[a] for a in free], "temp")
    index = tuple(Affine.axis(a) for a in free)
    b.ops.append(Op(kind, name, index, b.loops(free), b.loops(over), combiner, expr, guard, b.origin))  # type: ignore[arg-type]
    return Value(tuple((a,) if a else () for a in out_dims), Load(name, index, expr.dtype), like.dtype)


def _slide(
    b: Builder, x: Value, out: Sequence[int], size: Sequence[int], stride: Sequence[int], pad: Sequence[int], dil: Sequence[int]
) -> tuple[Value, list[str | None], list[str], list[Affine]]:
    """Spatial axes of x replaced by stride * o + dilation * tap - padding."""
    if any(len(d) > 1 for d in x.dims[-len(out) :]):
        x = b.reshape(b.flat(x), b.shape(x))
    places: list[str | None] = []
    taps: list[str] = []
    at: list[Affine] = []
    table: dict[str, Affine] = {}
    for i, dim in enumerate(x.dims[-len(out) :]):
        o = b.axis(out[i]) if out[i] != 1 else None
        t = b.axis(size[i])
        where = (Affine.axis(o).scaled(stride[i]) if o else Affine()) + Affine.axis(t).scaled(dil[i]) + Affine((), -pad[i])
        places.append(o)
        taps.append(t)
        at.append(where)
        if dim:
            table[dim[0]] = where
    return Value(x.dims, substitute(x.expr, table), x.dtype), places, taps, at


def pool(
    b: Builder, x: Value, shape: Sequence[int], size: Sequence[int], combiner: str, stride: Sequence[int] = (),
    padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False,
) -> Value:  # fmt: skip
    """A max or sum over windows of the trailing dims."""
    rank = len(size)
    stored = b.store(x, "input") if not x.axes else x
    moved, places, taps, at = _slide(
        b, stored, shape[-rank:], size, _listed(stride or size, rank), _listed(padding, rank), _listed(dilation, rank)
    )
    lead = [a for d in stored.dims[:-rank] for a in d]
    full = _window(b, "window", [*lead, *places], taps, combiner, moved.expr, _inside(b, stored, at), x)
    dims = (*stored.dims[:-rank], *((a,) if a else () for a in places))
    return Value(dims, full.expr, x.dtype)


def average(
    b: Builder, x: Value, shape: Sequence[int], size: Sequence[int], stride: Sequence[int] = (), padding: int | Sequence[int] = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor: int | None = None,
) -> Value:  # fmt: skip
    """The mean over windows; padding counts as torch's default says, and other ways of counting are refused."""
    padded = any(_listed(padding, len(size)))
    if ceil_mode or (padded and not count_include_pad):
        raise Unsupported("aten.avg_pool", "ceil_mode and count_include_pad=False cannot be captured yet")
    total = pool(b, x, shape, size, "sum", stride, padding)
    return Value(total.dims, call("div", total.expr, const(divisor or prod(size), total.expr)), x.dtype)


def convolution(
    b: Builder, x: Value, weight: Value, bias: Value | None, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
    transposed: bool, output_padding: Sequence[int], groups: int,
) -> Value:  # fmt: skip
    """A contraction over input channels and window taps.

    A transposed one also folds over its input's positions, each of which meets an output at stride * i + dilation * tap - padding.
    """
    if any(len(d) > 1 for d in x.dims):
        x = b.reshape(b.flat(x), b.shape(x))
    shape, taps = b.shape(x), b.shape(weight)[2:]
    sizes = zip(shape[2:], padding, dilation, taps, stride, output_padding, strict=True)
    if transposed:
        out = [(n - 1) * s - 2 * p + d * (k - 1) + e + 1 for n, p, d, k, s, e in sizes]
        moved, places, tap_axes, folded, guard = _scatter(b, x, out, taps, stride, padding, dilation)
    else:
        out = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, p, d, k, s, _ in sizes]
        moved, places, tap_axes, at = _slide(b, x, out, taps, stride, padding, dilation)
        folded, guard = [], _inside(b, x, at)
    group = b.axis(groups) if groups > 1 else None
    w_shape = b.shape(weight)
    rows, depth = (w_shape[1], w_shape[0] // groups) if transposed else (w_shape[0] // groups, w_shape[1])
    row, channel = b.axis(rows), b.axis(depth)

    def grouped(axis: str, count: int) -> Affine:
        return Affine.axis(axis) + (Affine.axis(group).scaled(count) if group else Affine())

    x_expr = substitute(moved.expr, {x.dims[1][0]: grouped(channel, depth)} if x.dims[1] else {})
    places_w = [grouped(channel, depth), Affine.axis(row)] if transposed else [grouped(row, rows), Affine.axis(channel)]
    table = {d[0]: to for d, to in zip(weight.dims, [*places_w, *(Affine.axis(t) for t in tap_axes)], strict=True) if d}
    product = call("mul", x_expr, substitute(weight.expr, table))
    lead = x.dims[0][0] if x.dims[0] else None
    y = _window(b, "contract", [lead, group, row, *places], [channel, *folded, *tap_axes], "sum", product, guard, x)
    y = Value((y.dims[0], (*y.dims[1], *y.dims[2]), *y.dims[3:]), y.expr, x.dtype)
    if bias is None:
        return y
    y, per_channel = b.align([y, Value((bias.dims[0], *((),) * len(stride)), bias.expr, bias.dtype)])
    return Value(y.dims, call("add", y.expr, per_channel.expr), x.dtype)


def _scatter(
    b: Builder, x: Value, out: Sequence[int], size: Sequence[int], stride: Sequence[int], pad: Sequence[int], dil: Sequence[int]
) -> tuple[Value, list[str | None], list[str], list[str], Expr | None]:
    """Output axes, taps, input positions and the test that they meet."""
    places: list[str | None] = [b.axis(n) if n != 1 else None for n in out]
    taps = [b.axis(k) for k in size]
    folded, tests = [], []
    for i, dim in enumerate(x.dims[-len(out) :]):
        at = Affine.axis(taps[i]).scaled(dil[i]) + Affine((), -pad[i])
        if dim:
            at = at + Affine.axis(dim[0]).scaled(stride[i])
            folded.append(dim[0])
        o = places[i]
        tests.append(call("eq", Index(at + (Affine.axis(o).scaled(-1) if o else Affine())), Const(0, "i64")))
    return x, places, taps, folded, _every(tests)
