"""One name for loops over the same dimension, so that operations which only differ in their loop names can share a nest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sketch.expr import substitute
from sketch.ir import Affine, Axis, Expr, Op, reads


def unify(ops: Sequence[Op], size: Mapping[str, int]) -> list[Op]:
    """Axes that walk the same dim of the same tensor become one, unless an operation would then hold one axis twice."""
    out = list(ops)
    seen: dict[tuple[str, int], str] = {}
    for position in range(len(out)):
        op = out[position]
        for tensor, index in [*((n.tensor, n.index) for n in reads(op)), (op.out, op.index)]:
            for dim, at in enumerate(index):
                axis = at.terms[0][0] if len(at.terms) == 1 else ""
                if not axis or at != Affine.axis(axis):
                    continue
                known = seen.setdefault((tensor, dim), axis)
                if known != axis and size[known] == size[axis] and not any({known, axis} <= _axes(o) for o in out):
                    out = [_renamed(o, axis, known) for o in out]
                    seen = {k: known if a == axis else a for k, a in seen.items()}
                    return unify(out, size)
    return out


def _axes(op: Op) -> set[str]:
    return {a.name for a in (*op.axes, *op.over)}


def _renamed(op: Op, old: str, new: str) -> Op:
    if old not in _axes(op):
        return op
    table = {old: Affine.axis(new)}

    def loops(axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return tuple(replace(a, name=new) if a.name == old else a for a in axes)

    def expr(root: Expr) -> Expr:
        return substitute(root, table)

    index = tuple(i.substitute(table) for i in op.index)
    return replace(op, index=index, axes=loops(op.axes), over=loops(op.over), expr=expr(op.expr), guard=op.guard and expr(op.guard))
