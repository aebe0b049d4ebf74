"""What a sketch is made of, as the plain numbers that rules can ask for."""

from math import prod

from sketch.cost import cost
from sketch.ir import BYTES, Call, Sketch, walk
from sketch.pairs import pairs_of
from sketch.prune import recomputable

DIVISIONS = {"div", "sqrt", "rsqrt", "recip", "mod", "floordiv"}


def facts(sketch: Sketch) -> dict[str, float]:
    """Counts (flags are 0 or 1), bytes and flops of one call."""
    spent, ops = cost(sketch), list(sketch.ops())
    calls = [node.fn for op in ops for node in walk(op.expr) if isinstance(node, Call)]
    return {
        "ops": len(ops),
        "nests": len(sketch.nests),
        "reductions": sum(op.kind != "compute" for op in ops),
        "contraction": int(any(op.kind == "contract" for op in ops)),
        "special": spent.special,
        "divisions": sum(name in DIVISIONS for name in calls),
        "online": int(bool(pairs_of(sketch))),
        "reuse": int(any(recomputable(sketch, op, ops) for op in ops)),
        "output_bytes": sum(_bytes(sketch, name) for name, tensor in sketch.tensors.items() if tensor.role == "output"),
        "bytes": spent.bytes,
        "flops": spent.flops,
    }


def _bytes(sketch: Sketch, name: str) -> int:
    return prod(sketch.shape(name)) * BYTES[sketch.tensors[name].dtype]
