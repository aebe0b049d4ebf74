"""The work a sketch cannot avoid: arithmetic at every point of every operation, and compulsory memory traffic."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from sketch.ir import BYTES, Affine, Call, Gather, Index, Load, Op, Sketch, reads, walk
from sketch.text_share import share

SPECIAL = {
    "exp", "expm1", "log", "log1p", "log2", "exp2", "log10", "sin", "cos", "tan", "tanh", "sigmoid", "erf", "erfc", "pow",
    "asin", "acos", "atan", "atan2", "sinh", "cosh", "asinh", "acosh", "atanh", "lgamma",
}  # fmt: skip
FREE = {"cast", "where", "not", "and", "or", "xor", "eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf"}
FREE_FOLDS = ("", "any", "all")


@dataclass(frozen=True)
class Cost:
    """`special` counts transcendental calls, each one of `flops` too; `bytes` is each tensor's touched part once per direction."""

    flops: int
    bytes: int
    special: int = 0

    @property
    def intensity(self) -> float:
        """Arithmetic intensity in flops per byte."""
        return self.flops / self.bytes if self.bytes else 0.0


def cost(sketch: Sketch) -> Cost:
    flops, special = 0, 0
    for op in sketch.ops():
        points = prod(sketch.extent(a) for a in (*op.axes, *op.over))
        calls = [n.fn for n in _nodes(op) if isinstance(n, Call) and n.fn not in FREE]
        flops += points * (len(calls) + (op.combiner not in FREE_FOLDS))
        special += points * sum(fn in SPECIAL for fn in calls)
    return Cost(flops, _traffic(sketch), special)


def _nodes(op: Op) -> list:
    return [*share(op.expr), *(share(op.guard) if op.guard is not None else ())]


def _traffic(sketch: Sketch) -> int:
    read: dict[str, dict[tuple[Affine, ...], int]] = {}
    stored = {op.out for op in sketch.ops()}
    for op in sketch.ops():
        for node in reads(op):
            places = read.setdefault(node.tensor, {})
            places[node.index] = max(places.get(node.index, 0), _touched(sketch, op, node))
    total = 0
    for name, tensor in sketch.tensors.items():
        size = prod(sketch.shape(name))
        if tensor.role not in ("temp", "output"):
            total += BYTES[tensor.dtype] * min(size, sum(read.get(name, {}).values()))
        if tensor.role in ("output", "state") and name in stored:
            total += BYTES[tensor.dtype] * size
    return total


def _touched(sketch: Sketch, op: Op, node: Load | Gather) -> int:
    """At most so many elements: one for each point of the axes that the access depends on."""
    used = {axis for at in node.index for axis, _ in at.terms}
    for part in walk(node.at) if isinstance(node, Gather) else ():
        places = part.index if isinstance(part, Load | Gather) else (part.at,) if isinstance(part, Index) else ()
        used |= {axis for at in places for axis, _ in at.terms}
    return prod(sketch.extent(a) for a in (*op.axes, *op.over) if a.name in used)
