"""One operation on a block of vectors: its own loops, its accumulators, its store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from backends.cpp.expr import SCALAR, WIDE, Scope, Text, axes_of, offset, widened, write
from backends.cpp.plan import Loops
from sketch.expr import cast
from sketch.ir import Affine, Call, Const, Expr, Op, Sketch, children

FLUSH = 64  # steps of an f32 partial sum before it goes to a double total, as in simd/fold.h
NEUTRAL = {"sum": "0", "prod": "1", "any": "0", "all": "-1"}


@dataclass(frozen=True)
class Stage:
    """What writing an operation needs: its nest, where each tensor stands, how to store, and which results cross the nest."""

    sketch: Sketch
    loops: Loops
    place: Mapping[str, str]
    libm: bool
    streaming: bool
    cross: frozenset[str]

    def scope(self, lane: str | None) -> Scope:
        return Scope(self.sketch, lane, self.place, self.libm)


def own_axes(op: Op, loops: Loops) -> tuple[list[str], list[str]]:
    """(free axes, folded axes) that the operation loops over itself."""
    free = [a.name for a in op.axes if a.name not in loops.parallel]
    return free, [a.name for a in op.over if a.name not in loops.parallel]


def prepared(op: Op) -> Op:
    """any and all fold numbers, since masks have no order."""
    if op.combiner in ("any", "all"):
        return replace(op, combiner="max" if op.combiner == "any" else "min", expr=cast(cast(op.expr, "b1"), "f32"))
    return op


def neutral(op: Op) -> str:
    kind = SCALAR[widened(op.expr)]
    if op.combiner in NEUTRAL:
        return NEUTRAL[op.combiner]
    limit = f"std::numeric_limits<{kind}>::"
    if widened(op.expr) == "i64":
        return f"{limit}lowest()" if "max" in op.combiner else f"{limit}max()"
    return f"-{limit}infinity()" if "max" in op.combiner else f"{limit}infinity()"


def merged(op: Op, left: str, right: str) -> str:
    """The combiner applied to two values of one type."""
    if op.combiner in ("sum", "prod"):
        return f"{left} {'+' if op.combiner == 'sum' else '*'} {right}"
    return f"v{op.combiner.removeprefix('arg')}({left}, {right})"


def loop(text: Text, axis: str, extent: int) -> None:
    text.add(f"for (int64_t {axis} = 0; {axis} < {extent}; ++{axis}) {{")


def close(text: Text, count: int = 1) -> None:
    for _ in range(count):
        text.add("}")


def hoist(text: Text, op: Op, varying: Sequence[str], scope: Scope, arrays: bool) -> Scope:
    """Values that the operation's own loops do not change, computed before them: arrays over u, or scalars."""
    memo: dict[int, frozenset[str]] = {}
    found: dict[int, str] = {}

    def visit(node: Expr) -> None:
        if id(node) in found or isinstance(node, Const):
            return
        if axes_of(node, memo) & set(varying):
            for child in children(node):
                visit(child)
        elif isinstance(node, Call) and node.fn != "cast" and any(not isinstance(a, Const) for a in node.args):
            found[id(node)] = (_before_each if arrays else _before_all)(text, node, scope)

    for root in (op.expr, op.guard) if varying else ():
        if root is not None:
            visit(root)
    return replace(scope, hoisted=found)


def _before_each(text: Text, node: Expr, scope: Scope) -> str:
    name = text.fresh("h")
    text.add(f"{WIDE[widened(node)]} {name}[U];")
    each(text, scope.lane)
    text.add(f"{name}[u] = {write(text, node, scope)};")
    close(text)
    return f"{name}[u]"


def _before_all(text: Text, node: Expr, scope: Scope) -> str:
    name = text.fresh("h")
    text.add(f"{SCALAR[widened(node)]} {name};")
    text.add("{")
    text.add("using T = float;")
    text.add(f"{name} = {write(text, node, replace(scope, lane=None))};")
    close(text)
    return f"bc<{WIDE[widened(node)]}>({name})"


def each(text: Text, lane: str | None) -> None:
    """Opens the loop over the vectors of a block; v0 is the block's first lane."""
    text.add("#pragma GCC unroll 16")
    text.add("for (int u = 0; u < U; ++u) {")
    if lane:
        text.add(f"[[maybe_unused]] const int64_t {lane} = v0 + u * lanes<T>;")


def store(text: Text, stage: Stage, op: Op, value: str, lane: str | None) -> None:
    """Writes a value of the vector type (or, for a scalar place, its one element)."""
    place = stage.place.get(op.out, "memory")
    if place == "array":
        text.add(f"{op.out}[u] = {value};")
    elif place == "lanes":
        text.add(f"{op.out}[({offset(op.index[0])}) * U + u] = {value};")
    elif place == "scalar":
        text.add(f"{op.out} = {value};")
    else:
        step = dict(op.index[0].terms).get(lane or "", 0)
        at = f"{op.out} + {offset(op.index[0])}"
        if lane and step != 1:
            at = f"reinterpret_cast<uint8_t*>({at})" if stage.sketch.tensors[op.out].dtype == "b1" else at
            value = f"({value}) & 1" if stage.sketch.tensors[op.out].dtype == "b1" else value
            text.add(f"stg({at}, {step}, {value});")
        else:
            text.add(
                f"{'stream' if stage.streaming and lane and stage.sketch.tensors[op.out].dtype != 'b1' else 'st'}({at}, {value});"
            )


def lane_stage(text: Text, stage: Stage, op: Op, lane: str | None) -> None:
    """The operation on a block of U vectors whose lanes run along `lane` (a scalar when None, with T = float and U = 1)."""
    op = prepared(op)
    free, over = own_axes(op, stage.loops)
    free, over = [a for a in free if a != lane], [a for a in over if a != lane]
    scope = hoist(text, op, [*free, *over], stage.scope(lane), arrays=True)
    for a in free:
        loop(text, a, stage.loops.extent[a])
    if op.kind == "scan":
        _scan(text, stage, op, lane, scope, over)
    elif over or (op.kind in ("reduce", "window") and not stage.cross & {op.out}):
        _lane_fold(text, stage, op, lane, scope, over)
    else:
        each(text, lane)
        value = write(text, op.expr, scope)
        _finish_lane(text, stage, op, value, lane)
        close(text)
    close(text, len(free))


def _finish_lane(text: Text, stage: Stage, op: Op, value: str, lane: str | None) -> None:
    if op.out in stage.cross:
        text.add(f"{op.out}_fold(u, {value});")
    else:
        store(text, stage, op, result(stage, op, value), lane)


def result(stage: Stage, op: Op, value: str) -> str:
    """A fold's value in its tensor's compute type."""
    if stage.sketch.tensors[op.out].dtype == "b1" and op.kind == "reduce":
        return f"cvt<mask_t<T>>(ne({value}, bc<T>(0)))"
    return value


def _lane_fold(text: Text, stage: Stage, op: Op, lane: str | None, scope: Scope, over: list[str]) -> None:
    wide = WIDE[widened(op.expr)]
    if op.combiner.startswith("arg"):
        _lane_arg(text, stage, op, lane, scope, over)
        return
    deep = op.combiner == "sum" and widened(op.expr) == "f32" and prod(stage.loops.extent[a] for a in over) > FLUSH
    total = text.fresh("total")
    text.add(f"{'like<T, double>' if deep else wide} {total}[U];")
    text.add(f"for (int u = 0; u < U; ++u) {total}[u] = bc<{'like<T, double>' if deep else wide}>({neutral(op)});")
    part = text.fresh("part") if deep else total
    for i, a in enumerate(over):
        if deep and i == len(over) - 1:
            _blocked(text, a, stage.loops.extent[a], f"T {part}[U] = {{}};")
        else:
            loop(text, a, stage.loops.extent[a])
    each(text, lane)
    value = write(text, op.expr, scope)
    text.add(f"{part}[u] = {merged(op, f'{part}[u]', value)};")
    close(text)
    if deep:
        close(text)
        text.add(f"for (int u = 0; u < U; ++u) {total}[u] = {total}[u] + cvt<like<T, double>>({part}[u]);")
    close(text, len(over))
    each(text, lane)
    _finish_lane(text, stage, op, f"cvt<T>({total}[u])" if deep else f"{total}[u]", lane)
    close(text)


def _blocked(text: Text, axis: str, extent: int, setup: str) -> None:
    """Opens two loops that walk `axis` in blocks of FLUSH; `setup` runs before each block."""
    text.add(f"for (int64_t {axis}_0 = 0; {axis}_0 < {extent}; {axis}_0 += {FLUSH}) {{")
    text.add(setup)
    text.add(f"const int64_t {axis}_1 = std::min<int64_t>({axis}_0 + {FLUSH}, {extent});")
    text.add(f"for (int64_t {axis} = {axis}_0; {axis} < {axis}_1; ++{axis}) {{")


def position(op: Op, extent: Mapping[str, int], over: Sequence[str]) -> Affine:
    """The row-major position among the folded axes, which is what argmax returns."""
    at, step = Affine(), 1
    for a in reversed(over):
        at, step = at + Affine.axis(a).scaled(step), step * extent[a]
    return at


def _lane_arg(text: Text, stage: Stage, op: Op, lane: str | None, scope: Scope, over: list[str]) -> None:
    wide, which = WIDE[widened(op.expr)], op.combiner
    place = f"like<T, {'int32_t' if widened(op.expr) == 'f32' else 'int64_t'}>"
    best, at = text.fresh("best"), text.fresh("at")
    text.add(f"{wide} {best}[U]; {place} {at}[U];")
    text.add(f"for (int u = 0; u < U; ++u) {{ {best}[u] = bc<{wide}>({neutral(op)}); {at}[u] = {place}{{}}; }}")
    for a in over:
        loop(text, a, stage.loops.extent[a])
    each(text, lane)
    value = write(text, op.expr, scope)
    text.add(f"{which}_step({best}[u], {at}[u], {value}, bc<{place}>({offset(position(op, stage.loops.extent, over))}));")
    close(text, 1 + len(over))
    each(text, lane)
    store(text, stage, op, f"cvt<{WIDE['i64']}>({at}[u])", lane)
    close(text)


def _scan(text: Text, stage: Stage, op: Op, lane: str | None, scope: Scope, over: list[str]) -> None:
    """Prefixes in order; f32 sums run in double, as torch's do."""
    double = widened(op.expr) == "f32"
    wide = "like<T, double>" if double else WIDE[widened(op.expr)]
    total = text.fresh("total")
    text.add(f"{wide} {total}[U];")
    text.add(f"for (int u = 0; u < U; ++u) {total}[u] = bc<{wide}>({neutral(op)});")
    for a in over:
        loop(text, a, stage.loops.extent[a])
    each(text, lane)
    value = write(text, op.expr, scope)
    text.add(f"{total}[u] = {merged(op, f'{total}[u]', f'cvt<{wide}>({value})')};")
    store(text, stage, op, f"cvt<{WIDE[widened(op.expr)]}>({total}[u])", lane)
    close(text, 1 + len(over))
