"""Fusion: which operations share a loop nest, and which axes of it are parallel.

An operation joins a nest when it can run point by point of the nest's parallel axes; those shrink to what all members share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from sketch.ir import Affine, Axis, Load, Nest, Op, reads

ENOUGH_POINTS = 8  # below this a smaller set of parallel axes would leave cores idle


@dataclass
class _Group:
    parallel: list[str]
    ops: list[Op] = field(default_factory=list)
    closed: bool = False


def nests(ops: Sequence[Op], size: Mapping[str, int], fuse: bool = True) -> list[Nest]:
    """Greedy fusion in program order; without `fuse` every operation has its own nest."""
    groups: list[_Group] = []
    for op in ops:
        home = _home(groups, op, size) if fuse else None
        if home is None:
            groups.append(_fresh(op))
        else:
            home[0].parallel = home[1]
            home[0].ops.append(op)
    return [Nest(tuple(Axis(a, _dim(g.ops, a)) for a in g.parallel), tuple(g.ops)) for g in groups]


def _dim(ops: Sequence[Op], name: str) -> str:
    return next(a.dim for op in ops for a in (*op.axes, *op.over) if a.name == name)


def _fresh(op: Op) -> _Group:
    free, over = [a.name for a in op.axes], [a.name for a in op.over]
    closed = op.kind in ("scan", "window")
    if free or not over or op.combiner.startswith("arg"):
        return _Group(free, [op], closed)
    return _Group(over[:-1] or over, [op], closed)


def _home(groups: list[_Group], op: Op, size: Mapping[str, int]) -> tuple[_Group, list[str]] | None:
    """The last nest that the operation can join, and the parallel axes it then has."""
    if op.kind not in ("compute", "reduce"):
        return None
    sources = {n.tensor for n in reads(op)}
    for group in reversed(groups):
        parallel = _joined(group, op, size)
        if parallel is not None:
            return group, parallel
        if sources & {o.out for o in group.ops}:
            return None
    return None


def _joined(group: _Group, op: Op, size: Mapping[str, int]) -> list[str] | None:
    free = {a.name for a in op.axes}
    kept = [a for a in group.parallel if a in free]
    if group.closed or not (group.parallel or not free):
        return None
    shrinks = len(kept) < len(group.parallel)
    if shrinks and group.ops[0].kind == "contract":
        return None
    if shrinks and not _pointwise_over(group, op, kept):
        kept = []
    if not kept and group.parallel:
        crosses = (
            op.kind == "reduce"
            and not free
            and not op.combiner.startswith("arg")
            and set(group.parallel) <= {a.name for a in op.over}
        )
        kept = group.parallel if crosses else []
        if not kept:
            return None
    if len(kept) < len(group.parallel) and prod(size[a] for a in kept) < ENOUGH_POINTS:
        return None
    if group.ops[0].kind == "contract" and (op.kind != "compute" or free != set(group.parallel)):
        return None
    return kept if _pointwise_over(group, op, kept) else None


def _pointwise_over(group: _Group, op: Op, parallel: Sequence[str]) -> bool:
    """Everything the operation reads from this nest is complete, and stands at the same parallel point."""
    made = {o.out: o for o in group.ops}
    if any(not set(parallel) <= {a.name for a in o.axes} for o in group.ops if not _crosses(o, parallel)):
        return False
    for node in reads(op):
        source = made.get(node.tensor)
        if source is None:
            continue
        if _crosses(source, parallel) or not isinstance(node, Load):
            return False
        for at, stored in zip(node.index, source.index, strict=True):
            if any(stored == Affine.axis(p) and at != stored for p in parallel):
                return False
            if stored.terms and len(stored.terms) > 1 and at != stored:
                return False
    return True


def _crosses(op: Op, parallel: Sequence[str]) -> bool:
    return any(a.name in parallel for a in op.over)
