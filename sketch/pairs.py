"""Pairs of dependent reductions that one pass over the data can serve: max then sum of exp, sum then squared deviations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sketch.expr import intern
from sketch.ir import Call, Const, Expr, Load, Op, Sketch
from sketch.prune import inline, recomputable


@dataclass(frozen=True)
class Pair:
    """`first` and `second` name the operations' outputs."""

    first: str
    second: str
    kind: Literal["exp", "deviation"]


def pairs_of(sketch: Sketch) -> list[Pair]:
    """The pairs inside one nest each, with row temporaries recomputed as the default hints do."""
    everything = list(sketch.ops())
    table = {o.out: o for o in everything if recomputable(sketch, o, everything)}
    found = []
    for nest in sketch.nests:
        found += pairs([o for o in inline(everything, table) if any(o.out == n.out for n in nest.ops)])
    return found


def pairs(ops: Sequence[Op]) -> list[Pair]:
    """The pairs among the operations of one nest."""
    pool: dict[tuple, Expr] = {}
    memo: dict[int, tuple[Expr, Expr]] = {}
    shared = [replace(o, expr=intern(o.expr, pool, memo)) for o in ops]
    made = {o.out: o for o in shared}
    out = []
    for second in shared:
        source = _centre(second)
        pair = source and _pair(second, source[0], source[1], source[2], made)
        if pair:
            out.append(pair)
    return out


def _centre(op: Op) -> tuple[Expr, Expr, Literal["exp", "deviation"]] | None:
    """(term, what is taken from it, kind) of sum(exp(term - c)) or sum((term - c) * (term - c))."""
    e = op.expr
    if op.kind != "reduce" or op.combiner != "sum" or not isinstance(e, Call) or e.dtype != "f32":
        return None
    inner = e.args[0] if e.fn == "exp" or (e.fn == "mul" and e.args[0] is e.args[1]) else None
    if not isinstance(inner, Call) or inner.fn != "sub":
        return None
    return inner.args[0], inner.args[1], "exp" if e.fn == "exp" else "deviation"


def _pair(second: Op, term: Expr, centre: Expr, kind: Literal["exp", "deviation"], made: dict[str, Op]) -> Pair | None:
    if kind == "deviation":
        centre = _undivided(centre, made)
    if not isinstance(centre, Load) or centre.tensor not in made:
        return None
    first = made[centre.tensor]
    alike = first.kind == "reduce" and first.over == second.over and first.axes == second.axes and first.expr is term
    return Pair(first.out, second.out, kind) if alike and first.combiner == ("max" if kind == "exp" else "sum") else None


def _undivided(centre: Expr, made: dict[str, Op]) -> Expr:
    """The sum behind a mean, which may stand in a temporary of its own."""
    if isinstance(centre, Load) and centre.tensor in made and made[centre.tensor].kind == "compute":
        centre = made[centre.tensor].expr
    if isinstance(centre, Call) and centre.fn == "div" and isinstance(centre.args[1], Const):
        return centre.args[0]
    return Const(0, "f32")
