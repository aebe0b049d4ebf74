"""Names of a sketch that the generated C++ uses for itself get an underscore at their end."""

from __future__ import annotations

import re
from dataclasses import replace

from backends.cpp import simd
from sketch.expr import rewrite, substitute
from sketch.ir import Affine, Axis, Expr, Gather, Load, Op, Sketch

_OWN = """
t T U V UNROLL S M I begin end point first last body block v0 u whole stop total tail part best at tail_at winner chunk chunk_begin
chunk_end p a i j k0 value std scratch huge_pages self torch nn load math int64_t bf16 f16 gemm columns row count batch start done
tag lane high mean squares term size tile
"""
OWN = set(_OWN.split())
PATTERN = re.compile(r"((e|h|total|part|best|at)\d+|.*_(0|1|part|total|acc|fold|flush|memory))_*")


def safe(sketch: Sketch) -> Sketch:
    """The same sketch with no name that the lowering, the simd pieces or the loader use."""
    text = "".join(simd.piece(n)[1] for n in simd.pieces())
    declared = r"(?:INLINE|inline|void)[^(\n]*?\b(\w+)\(|^PRAGMA_\w+\((\w+)|\b(?:struct|using|define|constexpr \w+)\s+(\w+)"
    taken = OWN | {n for found in re.findall(declared, text, re.MULTILINE) for n in found if n}

    def name(old: str) -> str:
        return f"{old}_" if old in taken or PATTERN.fullmatch(old) else old

    axes = {a.name: Affine.axis(name(a.name)) for o in sketch.ops() for a in (*o.axes, *o.over) if name(a.name) != a.name}
    tensors = {t: name(t) for t in sketch.tensors}

    def expr(root: Expr) -> Expr:
        return rewrite(
            substitute(root, axes), lambda n: replace(n, tensor=tensors[n.tensor]) if isinstance(n, Load | Gather) else n
        )

    def loops(old: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return tuple(Axis(name(a.name), a.dim) for a in old)

    def op(o: Op) -> Op:
        index = tuple(i.substitute(axes) for i in o.index)
        guard = o.guard and expr(o.guard)
        return replace(o, out=tensors[o.out], index=index, axes=loops(o.axes), over=loops(o.over), expr=expr(o.expr), guard=guard)

    return replace(
        sketch,
        tensors={tensors[k]: replace(t, name=tensors[k]) for k, t in sketch.tensors.items()},
        nests=tuple(replace(n, parallel=loops(n.parallel), ops=tuple(map(op, n.ops))) for n in sketch.nests),
    )
