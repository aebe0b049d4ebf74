"""What a sketch is made of, as the plain numbers that rules can ask for."""

from collections.abc import Iterator
from math import prod

from sketch.cost import cost
from sketch.ir import BYTES, Call, Nest, Op, Sketch, reads, walk

DIVISIONS = {"div", "sqrt", "rsqrt", "recip", "mod", "floordiv"}


def facts(sketch: Sketch) -> dict[str, float]:
    """Counts (flags are 0 or 1), bytes and flops of one call."""
    spent = cost(sketch)
    calls = [node.fn for op in sketch.ops() for node in walk(op.expr) if isinstance(node, Call)]
    return {
        "ops": sum(1 for _ in sketch.ops()),
        "nests": len(sketch.nests),
        "reductions": sum(op.kind != "compute" for op in sketch.ops()),
        "contraction": int(any(op.kind == "contract" for op in sketch.ops())),
        "special": spent.special,
        "divisions": sum(name in DIVISIONS for name in calls),
        "online": int(any(_dependent(nest) for nest in sketch.nests)),
        "reuse": int(any(_reuse(nest) for nest in sketch.nests)),
        "output_bytes": sum(_bytes(sketch, name) for name, tensor in sketch.tensors.items() if tensor.role == "output"),
        "bytes": spent.bytes,
        "flops": spent.flops,
    }


def _bytes(sketch: Sketch, name: str) -> int:
    return prod(sketch.shape(name)) * BYTES[sketch.tensors[name].dtype]


def _dependent(nest: Nest) -> bool:
    """A fold whose operands depend on an earlier fold of the same nest (softmax, variance)."""
    folded: set[str] = set()
    for op in nest.ops:
        depends = any(name in folded for name in _names(op))
        if op.kind != "compute" and depends:
            return True
        if op.kind != "compute" or depends:
            folded.add(op.out)
    return False


def _reuse(nest: Nest) -> bool:
    """A tensor that two operations of one nest read: it can be kept near, or fetched again."""
    seen: set[str] = set()
    for op in nest.ops:
        names = set(_names(op))
        if names & seen:
            return True
        seen |= names
    return False


def _names(op: Op) -> Iterator[str]:
    return (access.tensor for access in reads(op))
