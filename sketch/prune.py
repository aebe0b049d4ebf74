"""Clean-up after capture: only what reaches an output stays, and an elementwise value with one reader is written into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sketch.expr import cast, rewrite, substitute
from sketch.ir import Affine, Expr, Gather, Load, Op, Sketch, reads
from sketch.values import Builder


def prune(b: Builder) -> list[Op]:
    """The live operations in order."""
    ops = b.ops
    while True:
        ops = _live(b, ops)
        table = {op.out: op for op in ops if _inlinable(op, ops, b)}
        if not table:
            return ops
        ops = inline(ops, table)


def _live(b: Builder, ops: list[Op]) -> list[Op]:
    wanted = {name for name, (tensor, _) in b.tensors.items() if tensor.role in ("output", "state")}
    kept = []
    for op in reversed(ops):
        if op.out in wanted:
            kept.append(op)
            wanted |= {n.tensor for n in reads(op)}
    return kept[::-1]


def plain(op: Op) -> bool:
    """A compute whose index is its axes, so that it can be recomputed by its reader."""
    return op.kind == "compute" and op.index == tuple(Affine.axis(a.name) for a in op.axes)


def _inlinable(op: Op, ops: list[Op], b: Builder) -> bool:
    readers = [(r, n) for r in ops for n in reads(r) if n.tensor == op.out]
    if b.tensors[op.out][0].role != "temp" or not plain(op) or any(isinstance(n, Gather) for _, n in readers):
        return False
    return len({id(r) for r, _ in readers}) == 1 and readers[0][0].kind not in ("contract", "window", "scan")


def inline(ops: list[Op], table: Mapping[str, Op]) -> list[Op]:
    """Operations with the loads of `table`'s tensors replaced by the expressions that make them."""

    def change(node: Expr) -> Expr:
        if not isinstance(node, Load) or node.tensor not in table:
            return node
        source = table[node.tensor]
        axes = dict(zip((a.name for a in source.axes), node.index, strict=True))
        return rewrite(cast(substitute(source.expr, axes), node.dtype), change)

    kept = [op for op in ops if op.out not in table]
    return [replace(op, expr=rewrite(op.expr, change), guard=op.guard and rewrite(op.guard, change)) for op in kept]


def recomputable(sketch: Sketch, op: Op, ops: Sequence[Op]) -> bool:
    """A temporary whose readers each run over all of its axes anyway, so that nothing is computed more often than read."""
    if sketch.tensors[op.out].role != "temp" or not plain(op) or not op.axes:
        return False
    mine = {a.name for a in op.axes}
    for reader in ops:
        for node in reads(reader):
            if node.tensor == op.out:
                bare = all(len(i.terms) == 1 and not i.const for i in node.index) and isinstance(node, Load)
                if not bare or reader.kind not in ("compute", "reduce") or {a.name for a in (*reader.axes, *reader.over)} != mine:
                    return False
    return True
