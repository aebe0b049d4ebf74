"""Static bounds and races: stores and unguarded loads stay inside their tensor; no point of a nest reads another's."""

from __future__ import annotations

from collections.abc import Mapping

from sketch.ir import Affine, Call, Expr, Gather, Load, Nest, Op, Sketch, children, reads
from sketch.text_expr import Places


def check_bounds(sketch: Sketch, nest: Nest, places: Places) -> None:
    """Raises SketchError for an access out of range, or a race between points of the nest."""
    written: dict[str, list[Op]] = {}
    for op in nest.ops:
        extents = {a.name: sketch.extent(a) for a in (*op.axes, *op.over)}
        for j, at in enumerate(op.index):
            _inside(sketch, op.out, j, at, extents, places, op)
        for node in unguarded(op):
            for j, at in enumerate(node.index):
                if not (isinstance(node, Gather) and j == node.dim):
                    _inside(sketch, node.tensor, j, at, extents, places, node, op)
        for node in reads(op):
            for writer in written.get(node.tensor, ()):
                _own_point(sketch, nest, writer, node, places, op)
        written.setdefault(op.out, []).append(op)


def span(at: Affine, extents: Mapping[str, int]) -> tuple[int, int]:
    """The least and greatest value of an index."""
    reach = [c * (extents[a] - 1) for a, c in at.terms]
    return at.const + sum(r for r in reach if r < 0), at.const + sum(r for r in reach if r > 0)


def _inside(sketch: Sketch, name: str, j: int, at: Affine, extents: Mapping[str, int], places: Places, *parts: object) -> None:
    low, high = span(at, extents)
    size = sketch.shape(name)[j]
    if low < 0 or high >= size:
        reach, dim = low if low < 0 else high, sketch.tensors[name].dims[j]
        raise places.error(f"index {j} of '{name}' reaches {reach}; its dim {dim} holds 0 to {size - 1}", at, *parts)


def unguarded(op: Op) -> list[Load | Gather]:
    """The accesses that happen at every point: not below a branch of `where`, nor in a guarded expression."""
    stack: list[Expr] = [e for e in (op.guard, op.expr if op.guard is None else None) if e is not None]
    seen: dict[int, Expr] = {}
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            seen[id(node)] = node
            stack += node.args[:1] if isinstance(node, Call) and node.fn == "where" else children(node)
    return [n for n in seen.values() if isinstance(n, Load | Gather)]


def _own_point(sketch: Sketch, nest: Nest, writer: Op, node: Load | Gather, places: Places, op: Op) -> None:
    for axis in nest.parallel:
        if sketch.extent(axis) == 1 or axis.name not in {a.name for a in writer.axes}:
            continue
        for j, (stored, read) in enumerate(zip(writer.index, node.index, strict=True)):
            gathered = isinstance(node, Gather) and j == node.dim
            mine = dict(stored.terms).get(axis.name, 0)
            if mine and (gathered or dict(read.terms).get(axis.name, 0) != mine):
                text = f"each point of the parallel axis '{axis.name}' stores its own part of '{node.tensor}'"
                raise places.error(f"{text}; reading another's needs a new nest", read, node, op)
