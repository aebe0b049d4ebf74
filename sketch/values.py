"""What a tensor is during capture: logical dims made of loop axes, and one scalar expression over those axes.

Views only rearrange the axes (a split axis becomes hi * n + lo), so they cost nothing and never hide a fusion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from sketch.expr import compute_dtype, rewrite, substitute, widen
from sketch.ir import Affine, Axis, DType, Expr, Load, Op, Tensor

Dims = tuple[tuple[str, ...], ...]


class Unsupported(Exception):
    """An operator that cannot be captured or lowered; `operator` names it, the message says why in one line."""

    def __init__(self, operator: str, message: str):
        super().__init__(f"{operator}: {message}")
        self.operator = operator
        self.message = message


class Ragged(Exception):
    """Axes of two views that have no common refinement: one side must be stored first."""


@dataclass(frozen=True)
class Value:
    """`dims` lists each logical dim's axes, outermost first (none for extent 1).

    `dtype` is torch's; `expr` computes in f32 for halves and in i64 for integers.
    """

    dims: Dims
    expr: Expr
    dtype: DType

    @property
    def axes(self) -> tuple[str, ...]:
        return tuple(a for dim in self.dims for a in dim)


class Builder:
    """The sketch under construction: axes with extents, tensors and operations, in program order."""

    def __init__(self) -> None:
        self.size: dict[str, int] = {}
        self.tensors: dict[str, tuple[Tensor, tuple[int, ...]]] = {}
        self.ops: list[Op] = []
        self.named: dict[str, int] = {}
        self.origin = ""

    @property
    def fixed(self) -> set[str]:
        """Axes of operations already emitted: a value keeps them, so that its reader can share their nest."""
        return {a.name for op in self.ops for a in (*op.axes, *op.over)}

    def axis(self, extent: int) -> str:
        name = f"a{len(self.size)}"
        self.size[name] = extent
        return name

    def tensor(self, stem: str, dtype: DType, shape: Sequence[int], role: str, source: str = "") -> str:
        """Declares a tensor under a fresh name; dims are numbered later."""
        stem = "".join(c if c.isalnum() else "_" for c in stem).strip("_") or "t"
        stem = f"t_{stem}" if stem[0].isdigit() else stem
        count = self.named.get(stem, 0)
        self.named[stem] = count + 1
        name = stem if not count else f"{stem}_{count}"
        if name in self.tensors:
            return self.tensor(stem, dtype, shape, role, source)
        self.tensors[name] = (Tensor(name, dtype, (), role, source), tuple(shape))  # type: ignore[arg-type]
        return name

    def unshared(self, expr: Expr) -> Expr:
        """The expression with elementwise temporaries written out again."""
        made = {o.out: o for o in self.ops if o.kind == "compute" and o.index == tuple(Affine.axis(a.name) for a in o.axes)}

        def change(node: Expr) -> Expr:
            source = made.get(node.tensor) if isinstance(node, Load) else None
            if source is None or not isinstance(node, Load):
                return node
            return self.unshared(substitute(source.expr, dict(zip((a.name for a in source.axes), node.index, strict=True))))

        return rewrite(expr, change)

    def load(self, name: str) -> Value:
        """The whole tensor as a value over fresh axes."""
        tensor, shape = self.tensors[name]
        dims = tuple((self.axis(n),) if n != 1 else () for n in shape)
        return Value(dims, widen(Load(name, tuple(Affine.axis(d[0]) if d else Affine() for d in dims), tensor.dtype)), tensor.dtype)

    def extent(self, dim: tuple[str, ...]) -> int:
        return prod(self.size[a] for a in dim)

    def shape(self, value: Value) -> tuple[int, ...]:
        return tuple(self.extent(d) for d in value.dims)

    def loops(self, axes: Sequence[str]) -> tuple[Axis, ...]:
        return tuple(Axis(a, "") for a in axes)

    def emit(self, kind: str, stem: str, axes: Sequence[str], over: Sequence[str], combiner: str, expr: Expr, dtype: DType) -> Load:
        """Appends an operation whose result is a fresh temporary with one dim per axis, and returns a load of it."""
        out = self.tensor(stem, dtype, [self.size[a] for a in axes], "temp")
        index = tuple(Affine.axis(a) for a in axes)
        self.ops.append(Op(kind, out, index, self.loops(axes), self.loops(over), combiner, expr, origin=self.origin))  # type: ignore[arg-type]
        return Load(out, index, dtype)

    def store(self, value: Value, stem: str = "t") -> Value:
        """The value kept in a temporary, so that several readers share it."""
        load = self.emit("compute", stem, value.axes, (), "", value.expr, compute_dtype(value.dtype))
        return Value(value.dims, load, value.dtype)

    def split(self, values: list[Value], axis: str, low: int) -> list[Value]:
        """Axis -> hi * low + lo in every value."""
        hi, lo = self.axis(self.size[axis] // low), self.axis(low)
        table = {axis: Affine.of({hi: low, lo: 1})}

        def dim(d: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(x for a in d for x in ((hi, lo) if a == axis else (a,)))

        return [Value(tuple(dim(d) for d in v.dims), substitute(v.expr, table), v.dtype) for v in values]

    def align(self, values: list[Value]) -> list[Value]:
        """Broadcasts values to one shape over one set of axes (numpy's rules); ragged views are stored first."""
        try:
            return self._align(values)
        except Ragged:
            return self._align([v if not v.axes else self.reshape(self.flat(v), self.shape(v)) for v in values])

    def _align(self, values: list[Value]) -> list[Value]:
        rank = max(len(v.dims) for v in values)
        values = self._apart([replace(v, dims=((),) * (rank - len(v.dims)) + v.dims) for v in values])
        for position in range(rank):
            for k in range(1, len(values)):
                values = self._unify(values, position, k)
        filled = [next((v.dims[p] for v in values if v.dims[p]), ()) for p in range(rank)]
        return [replace(v, dims=tuple(filled)) for v in values]

    def _apart(self, values: list[Value]) -> list[Value]:
        """Values without an axis that stands on different dims of two of them (x[:, None] - x[None, :])."""
        place: dict[str, int] = {}
        out = []
        for value in values:
            for p, dim in enumerate(value.dims):
                for a in dim:
                    if place.setdefault(a, p) != p:
                        (value,) = _rename([value], a, self.axis(self.size[a]))
            out.append(value)
        return out

    def _unify(self, values: list[Value], p: int, k: int) -> list[Value]:
        base = next((j for j in range(k) if values[j].dims[p]), None)
        if base is None or not values[k].dims[p]:
            return values
        done = 0
        while True:
            mine, other = values[base].dims[p], values[k].dims[p]
            if done >= len(mine) or done >= len(other):
                if len(mine) != len(other):
                    raise Ragged
                return values
            a, b = mine[len(mine) - 1 - done], other[len(other) - 1 - done]
            small, large = sorted((self.size[a], self.size[b]))
            if a != b and small == large:
                values = _rename(values, a, b) if b in self.fixed and a not in self.fixed else _rename(values, b, a)
            elif a != b:
                if large % small:
                    raise Ragged
                values = self.split(values, a if self.size[a] == large else b, small)
                continue
            done += 1

    def reshape(self, value: Value, shape: Sequence[int]) -> Value:
        """The value under another shape; a cut that falls inside no axis stores the value first, as one long dim."""
        try:
            return self._regroup(value, shape)
        except Ragged:
            return self._regroup(self.flat(value), shape)

    def flat(self, value: Value) -> Value:
        total = prod(self.shape(value))
        name = self.tensor("flat", compute_dtype(value.dtype), [total], "temp")
        at, step = Affine(), 1
        for a in reversed(value.axes):
            at, step = at + Affine.axis(a).scaled(step), step * self.size[a]
        self.ops.append(Op("compute", name, (at,), self.loops(value.axes), (), "", value.expr, origin=self.origin))
        return replace(self.load(name), dtype=value.dtype)

    def _regroup(self, value: Value, shape: Sequence[int]) -> Value:
        flat = Value((value.axes,), value.expr, value.dtype)
        if len(flat.dims[0]) == 1 and len(self._readsflat(flat)) == 1 and prod(shape) != 1:
            linear = self._linear(flat, shape)
            if linear is not None:
                return linear
        groups: list[tuple[str, ...]] = []
        for want in reversed(list(shape)):
            group: tuple[str, ...] = ()
            while self.extent(group) < want:
                left = flat.dims[0][: len(flat.dims[0]) - sum(len(g) for g in groups) - len(group)]
                axis, need = left[-1], want // self.extent(group)
                if want % self.extent(group):
                    raise Ragged
                if self.size[axis] > need:
                    if self.size[axis] % need:
                        raise Ragged
                    (flat,) = self.split([flat], axis, need)
                    left = flat.dims[0][: len(flat.dims[0]) - sum(len(g) for g in groups) - len(group)]
                group = (left[-1], *group)
            if self.extent(group) != want:
                raise Ragged
            groups.append(group)
        return Value(tuple(reversed(groups)), flat.expr, value.dtype)

    def _readsflat(self, value: Value) -> list[str]:
        return [value.dims[0][0]] if isinstance(value.expr, Load) and len(value.expr.index) == 1 else []

    def _linear(self, flat: Value, shape: Sequence[int]) -> Value | None:
        """A one-dim tensor read under any shape: its index is linear in fresh axes."""
        dims = tuple((self.axis(n),) if n != 1 else () for n in shape)
        at, step = Affine(), 1
        for d, n in zip(reversed(dims), reversed(list(shape)), strict=True):
            at, step = (at + Affine.axis(d[0]).scaled(step) if d else at), step * n
        return Value(dims, substitute(flat.expr, {flat.dims[0][0]: at}), flat.dtype)


def _rename(values: list[Value], old: str, new: str) -> list[Value]:
    table = {old: Affine.axis(new)}
    return [
        Value(tuple(tuple(new if a == old else a for a in d) for d in v.dims), substitute(v.expr, table), v.dtype) for v in values
    ]
