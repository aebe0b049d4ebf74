"""From a nest to its loops: linear addresses, joined axes, and the axis that runs across vector lanes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod

from backends.cpp.expr import axes_of
from sketch.expr import intern, rewrite
from sketch.hints import get, number
from sketch.ir import BYTES, Affine, Axis, Call, Const, Expr, Gather, Index, Load, Nest, Op, Sketch, reads, walk
from sketch.nest import nests
from sketch.prune import inline, recomputable

SHORT = 16  # a row shorter than this leaves most of a vector empty: lanes then run over rows
BUFFER_BYTES = 1 << 19  # a row buffer beyond this would not stay in a core's own cache


@dataclass(frozen=True)
class Loops:
    """A nest ready to be written: one-dim addresses, `extent` per axis, and the lane axis (None: each op picks its own)."""

    position: int
    parallel: tuple[str, ...]
    ops: tuple[Op, ...]
    extent: Mapping[str, int]
    lane: str | None
    local: frozenset[str]


@dataclass(frozen=True)
class Plan:
    sketch: Sketch
    loops: tuple[Loops, ...]
    stored: tuple[str, ...]
    """Tensors passed to the kernel: everything but nest-local temporaries, in a fixed order."""


def plan(sketch: Sketch) -> Plan:
    """The loops of every nest under the sketch's hints."""
    shaped = _fused(sketch)
    groups = [replace(n, ops=tuple(_interned(_folding(o)) for o in n.ops)) for n in shaped.nests]
    local = [_local(shaped, n, groups) for n in groups]
    loops = tuple(_loops(shaped, i, n, local[i]) for i, n in enumerate(groups))
    hidden = frozenset().union(*local) if local else frozenset()
    used = {o.out for n in groups for o in n.ops} | {r.tensor for n in groups for o in n.ops for r in reads(o)}
    stored = tuple(name for name, t in shaped.tensors.items() if name not in hidden and (name in used or t.role == "input"))
    return Plan(shaped, loops, stored)


def _fused(sketch: Sketch) -> Sketch:
    """The hints `stage` and `fuse` applied: temporaries recomputed by their readers, nests merged or one per operation."""
    ops = list(sketch.ops())
    size = {a.name: sketch.extent(a) for o in ops for a in (*o.axes, *o.over)}
    if get(sketch, "stage") == "recompute" or get(sketch, "fuse") == "none":
        ops = inline(ops, {o.out: o for o in ops if recomputable(sketch, o, ops)})
    if get(sketch, "fuse") == "none":
        return replace(sketch, nests=tuple(nests(ops, size, fuse=False)))
    regrouped = []
    kept = {o.out: o for o in ops}
    for nest in sketch.nests:
        members = tuple(kept[o.out] for o in nest.ops if o.out in kept)
        if members:
            regrouped.append(Nest(nest.parallel, members))
    return replace(sketch, nests=tuple(regrouped))


def _folding(op: Op) -> Op:
    """A contraction with a vector in it, or of doubles, is an ordinary reduction."""
    if op.kind != "contract" or op.guard is not None or not isinstance(op.expr, Call):
        return op
    sides = [{a for n in walk(arg) if isinstance(n, Load) for i in n.index for a, _ in i.terms} for arg in op.expr.args]
    free = {a.name for a in op.axes}
    matrices = all(free & (mine - other) for mine, other in (sides, sides[::-1]))
    return op if matrices and op.expr.dtype == "f32" else replace(op, kind="reduce")


def _interned(op: Op) -> Op:
    pool: dict[tuple, Expr] = {}
    memo: dict[int, tuple[Expr, Expr]] = {}
    return replace(op, expr=intern(op.expr, pool, memo), guard=op.guard and intern(op.guard, pool, memo))


def _local(sketch: Sketch, nest: Nest, groups: Sequence[Nest]) -> frozenset[str]:
    """Temporaries made and read inside this nest only; large row buffers stay in memory of their own."""
    made = {o.out: o for o in nest.ops if sketch.tensors[o.out].role == "temp"}
    parallel = {a.name for a in nest.parallel}
    for other in groups:
        for op in other.ops:
            for node in reads(op):
                if other is not nest or isinstance(node, Gather):
                    made.pop(node.tensor, None)
    keep = set()
    for name, op in made.items():
        crosses = any(a.name in parallel for a in op.over)
        own = [a for a in op.axes if a.name not in parallel]
        size = prod(sketch.extent(a) for a in own) * BYTES[sketch.tensors[name].dtype]
        plain_index = op.index == tuple(Affine.axis(a.name) for a in op.axes)
        if not crosses and op.kind in ("compute", "reduce", "contract") and plain_index and size <= BUFFER_BYTES:
            keep.add(name)
    return frozenset(keep)


def _loops(sketch: Sketch, position: int, nest: Nest, local: frozenset[str]) -> Loops:
    extent = {a.name: sketch.extent(a) for o in nest.ops for a in (*o.axes, *o.over)}
    parallel = tuple(a.name for a in nest.parallel)
    ops = tuple(_linear(sketch, o, local, parallel) for o in nest.ops)
    ops, extent, parallel = join(ops, extent, parallel)
    if get(sketch, "division", position) == "reciprocal":
        ops = tuple(_multiplied(o, parallel) for o in ops)
    return Loops(position, parallel, ops, extent, _lane(ops, extent, parallel, local), local)


def _multiplied(op: Op, parallel: Sequence[str]) -> Op:
    """Divisions by what the operation's own loops do not change become products with a reciprocal."""
    own = {a.name for a in (*op.axes, *op.over)} - set(parallel)
    memo: dict[int, frozenset[str]] = {}

    def change(node: Expr) -> Expr:
        if not isinstance(node, Call) or node.fn != "div" or node.dtype not in ("f32", "f64"):
            return node
        by = node.args[1]
        if isinstance(by, Const) and by.value:
            return Call("mul", (node.args[0], Const(1 / by.value, by.dtype)), node.dtype)
        return (
            node if axes_of(by, memo) & own or not own else Call("mul", (node.args[0], Call("recip", (by,), by.dtype)), node.dtype)
        )

    return replace(op, expr=rewrite(op.expr, change))


def _strides(shape: Sequence[int]) -> list[int]:
    return [prod(shape[i + 1 :]) for i in range(len(shape))]


def _linear(sketch: Sketch, op: Op, local: frozenset[str], parallel: Sequence[str]) -> Op:
    """The operation with one-dim addresses; a nest-local tensor is addressed by its own axes only."""

    def address(tensor: str, index: Sequence[Affine]) -> Affine:
        dims = list(zip(index, sketch.shape(tensor), strict=True))
        if tensor in local:
            dims = [(i, n) for i, n in dims if not any(a in parallel for a, _ in i.terms)]
        at = Affine()
        for (i, _), step in zip(dims, _strides([n for _, n in dims]), strict=True):
            at = at + i.scaled(step)
        return at

    def change(node: Expr) -> Expr:
        if isinstance(node, Load):
            return replace(node, index=(address(node.tensor, node.index),))
        if isinstance(node, Gather):
            step = _strides(sketch.shape(node.tensor))[node.dim]
            rest = tuple(Affine() if d == node.dim else i for d, i in enumerate(node.index))
            return replace(node, index=(address(node.tensor, rest),), dim=step)
        return node

    return replace(
        op, index=(address(op.out, op.index),), expr=rewrite(op.expr, change), guard=op.guard and rewrite(op.guard, change)
    )


def _forms(op: Op) -> Iterable[Affine]:
    """Every affine form of an operation."""
    yield op.index[0]
    for root in (op.expr, op.guard):
        for node in walk(root) if root is not None else ():
            if isinstance(node, Load | Gather):
                yield node.index[0]
            elif isinstance(node, Index):
                yield node.at


def join(
    ops: tuple[Op, ...], extent: dict[str, int], parallel: tuple[str, ...]
) -> tuple[tuple[Op, ...], dict[str, int], tuple[str, ...]]:
    """Neighbouring axes that every address walks as one long axis become one."""
    while True:
        pair = next((pq for pq in _neighbours(ops, parallel) if _joinable(ops, extent, parallel, *pq)), None)
        if pair is None:
            return ops, extent, parallel
        outer, inner = pair
        extent = {**extent, inner: extent[inner] * extent[outer]}
        ops = tuple(_dropped(o, outer) for o in ops)
        parallel = tuple(a for a in parallel if a != outer)


def _neighbours(ops: Sequence[Op], parallel: Sequence[str]) -> Iterable[tuple[str, str]]:
    seen: dict[tuple[str, str], None] = {}
    for op in ops:
        for axes in (op.axes, op.over):
            seen.update({(p.name, q.name): None for p, q in pairwise(axes)})
    seen.update(dict.fromkeys(pairwise(parallel)))
    return seen


def _joinable(ops: Sequence[Op], extent: Mapping[str, int], parallel: Sequence[str], outer: str, inner: str) -> bool:
    if (outer in parallel) != (inner in parallel):
        return False
    if outer in parallel and parallel.index(outer) + 1 != parallel.index(inner):
        return False
    for op in ops:
        axes, over = [a.name for a in op.axes], [a.name for a in op.over]
        for part in (axes, over):
            if (outer in part) != (inner in part) or (op.kind == "scan" and outer in over):
                return False
        if outer in over and over.index(outer) + 1 != over.index(inner):
            return False
        for form in _forms(op):
            terms = dict(form.terms)
            if terms.get(outer, 0) != terms.get(inner, 0) * extent[inner]:
                return False
    return True


def _dropped(op: Op, axis: str) -> Op:
    gone = {axis: Affine()}

    def change(node: Expr) -> Expr:
        if isinstance(node, Load | Gather):
            return replace(node, index=(node.index[0].substitute(gone),))
        return replace(node, at=node.at.substitute(gone)) if isinstance(node, Index) else node

    def keep(axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return tuple(a for a in axes if a.name != axis)

    guard = op.guard and rewrite(op.guard, change)
    return replace(
        op,
        index=(op.index[0].substitute(gone),),
        axes=keep(op.axes),
        over=keep(op.over),
        expr=rewrite(op.expr, change),
        guard=guard,
    )


def _weights(ops: Sequence[Op], extent: Mapping[str, int], local: frozenset[str]) -> dict[str, int]:
    """Elements moved with unit stride along each axis."""
    score: dict[str, int] = {}
    for op in ops:
        moved = [(op.out, op.index[0]), *((n.tensor, n.index[0]) for n in reads(op))]
        for tensor, form in moved:
            points = prod(extent[a] for a, _ in form.terms)
            for axis, step in form.terms if tensor not in local else ():
                score[axis] = score.get(axis, 0) + (points if step == 1 else 0)
    return score


def _lane(ops: Sequence[Op], extent: Mapping[str, int], parallel: Sequence[str], local: frozenset[str]) -> str | None:
    """A parallel axis for the vector lanes, or None where the rows inside the nest are contiguous and long."""
    if not parallel or any(o.kind in ("contract", "scan") for o in ops):
        return None
    score = _weights(ops, extent, local)
    inner = {a.name for o in ops for a in (*o.axes, *o.over)} - set(parallel)
    best = max(parallel, key=lambda a: (score.get(a, 0), parallel.index(a)))
    rows = max((score.get(a, 0) for a in inner), default=-1)
    longest = max((extent[a] for a in inner if score.get(a, 0) == rows), default=0)
    if score.get(best, 0) > rows and extent[best] > 1:
        return best
    return best if inner and longest < SHORT and extent[best] >= 4 * SHORT else None


def vector_axis(op: Op, loops: Loops) -> str | None:
    """The axis of a row-wise operation that runs across lanes: the one with most unit-stride traffic."""
    own = [a.name for a in (*op.axes, *op.over) if a.name not in loops.parallel]
    if not own:
        return None
    score = _weights([op], loops.extent, frozenset())
    return max(own, key=lambda a: (score.get(a, 0), own.index(a)))


def lanes(sketch: Sketch, position: int) -> tuple[int, int]:
    """(f32 lanes of a vector, vectors in flight) for a nest."""
    return number(sketch, "vector", position), number(sketch, "unroll", position)
