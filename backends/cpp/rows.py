"""One operation at one point of the parallel axes: scalar, across lanes of a free axis, or folding along the lanes."""

from __future__ import annotations

from collections.abc import Sequence

from backends.cpp.expr import SCALAR, WIDE, Text, offset, widened, write
from backends.cpp.plan import vector_axis
from backends.cpp.simd import FUNCTIONS
from backends.cpp.stages import Stage, close, hoist, lane_stage, loop, neutral, own_axes, position, prepared, result, store
from sketch.ir import Affine, Op
from sketch.pairs import Pair


def row_stage(text: Text, stage: Stage, op: Op) -> None:
    """The operation for one point of the parallel axes: scalar, across lanes of a free axis, or folding across lanes."""
    op = prepared(op)
    lane = None if op.kind == "scan" else vector_axis(op, stage.loops)
    free, over = own_axes(op, stage.loops)
    if lane is None or (op.kind == "scan"):
        text.add("{")
        text.add("using T = float; constexpr int U = 1;")
        lane_stage(text, stage, op, None)
        close(text)
    elif lane in over:
        _row_fold(text, stage, op, lane, free, [a for a in over if a != lane])
    else:
        _row_lanes(text, stage, op, lane)


def _row_lanes(text: Text, stage: Stage, op: Op, lane: str) -> None:
    text.add("{")
    text.add("auto block = [&]<class T, int U>(T, std::integral_constant<int, U>, const int64_t v0) {")
    lane_stage(text, stage, op, lane)
    text.add("};")
    sweep(text, "block", "0", str(stage.loops.extent[lane]))
    close(text)


def sweep(text: Text, body: str, first: str, last: str) -> None:
    """Calls `body` on blocks of UNROLL vectors, then on single vectors, then on scalars."""
    text.add(f"int64_t v0 = {first};")
    for kind, unroll, step in (("V", "UNROLL", "UNROLL * lanes<V>"), ("V", "1", "lanes<V>"), ("float", "1", "1")):
        call = f"{body}({kind}{{}}, std::integral_constant<int, {unroll}>{{}}, v0);"
        text.add(f"for (; v0 + {step} <= {last}; v0 += {step}) {call}")


def _row_fold(text: Text, stage: Stage, op: Op, lane: str, free: list[str], outer: list[str]) -> None:
    """A fold along the lanes: vector accumulators, combined at the end with a scalar tail."""
    text.add("{")
    for a in free:
        loop(text, a, stage.loops.extent[a])
    scope = hoist(text, op, [lane, *outer], stage.scope(lane), arrays=False)
    wide = WIDE[widened(op.expr)]
    text.add(f"auto term = [&]<class T>(T, {_captures(outer)}const int64_t {lane}) -> {wide} {{")
    text.add(f"return {write(text, op.expr, scope)};")
    text.add("};")
    value = (_arg_fold if op.combiner.startswith("arg") else _value_fold)(text, stage, op, lane, outer)
    text.add("using T = float;")
    if op.out in stage.cross:
        text.add(f"{op.out}_fold(0, {value});")
    else:
        store(text, stage, op, result(stage, op, value), None)
    close(text, 1 + len(free))


def _captures(outer: Sequence[str]) -> str:
    return "".join(f"const int64_t {a}, " for a in outer)


def _value_fold(text: Text, stage: Stage, op: Op, lane: str, outer: list[str]) -> str:
    kind = widened(op.expr)
    deep = op.combiner == "sum" and kind == "f32"
    text.add(f"{'double' if deep else SCALAR[kind]} total = {neutral(op)};")
    for a in outer:
        loop(text, a, stage.loops.extent[a])
    text.add(f"total = fold<{op.combiner.capitalize()}, V, UNROLL>(total, 0, {stage.loops.extent[lane]}, {_along(outer)});")
    close(text, len(outer))
    return f"{SCALAR[kind]}(total)"


def _along(outer: Sequence[str]) -> str:
    """The term as a function of the lane position alone."""
    if not outer:
        return "term"
    return f"[&](auto tag, const int64_t lane) {{ return term(tag, {', '.join(outer)}, lane); }}"


def online_stage(text: Text, stage: Stage, first: Op, second: Op, kind: str) -> None:
    """Two dependent reductions in one pass (see sketch.pairs); both results are scalars of the point."""
    lane = vector_axis(first, stage.loops)
    assert lane is not None
    outer = [a for a in own_axes(first, stage.loops)[1] if a != lane]
    text.pieces.add("online")
    text.add("{")
    scope = hoist(text, first, [lane, *outer], stage.scope(lane), arrays=False)
    text.add(f"auto term = [&]<class T>(T, {_captures(outer)}const int64_t {lane}) -> T {{")
    text.add(f"return {write(text, first.expr, scope)};")
    text.add("};")
    text.add(f"float high = {neutral(first)}; double total = 0;" if kind == "exp" else "double count = 0, mean = 0, squares = 0;")
    for a in outer:
        loop(text, a, stage.loops.extent[a])
    if kind == "exp":
        piece, name = FUNCTIONS["libm" if stage.libm else "poly"]["exp"]
        text.pieces.add(piece)
        exp = f"[](auto x) {{ return {name}(x); }}"
        text.add(f"peak_and_total<V, UNROLL>(high, total, 0, {stage.loops.extent[lane]}, {_along(outer)}, {exp});")
    else:
        text.add(f"moments<V, UNROLL>(count, mean, squares, 0, {stage.loops.extent[lane]}, {_along(outer)});")
    close(text, len(outer))
    text.add("using T = float;")
    store(text, stage, first, "high" if kind == "exp" else "float(mean * count)", None)
    store(text, stage, second, "float(total)" if kind == "exp" else "float(squares)", None)
    close(text)


def _arg_fold(text: Text, stage: Stage, op: Op, lane: str, outer: list[str]) -> str:
    kind, extent, which = widened(op.expr), stage.loops.extent, op.combiner
    index = "int32_t" if kind == "f32" else "int64_t"
    scalar, wide, places = SCALAR[kind], f"like<V, {SCALAR[kind]}>", f"like<V, {index}>"
    args = "".join(f"{a}, " for a in outer)
    base = position(op, extent, [*outer, lane]) + Affine.axis(lane).scaled(-1)
    first = f"{index}({offset(base + Affine.axis('v0'))})"
    text.add(f"{wide} best = bc<{wide}>({neutral(op)}); {places} at = {places}{{}};")
    text.add(f"{scalar} tail = {neutral(op)}; {index} tail_at = std::numeric_limits<{index}>::max();")
    for a in outer:
        loop(text, a, extent[a])
    text.add("int64_t v0 = 0;")
    text.add(f"for (; v0 + lanes<V> <= {extent[lane]}; v0 += lanes<V>)")
    text.add(f"  {which}_step(best, at, term(V{{}}, {args}v0), bc<{places}>({first}) + iota<{places}>());")
    text.add(f"for (; v0 < {extent[lane]}; ++v0) {which}_step(tail, tail_at, term(float{{}}, {args}v0), {first});")
    close(text, len(outer))
    text.pieces.add("arg")
    larger = "true" if "max" in which else "false"
    text.add(f"const auto winner = arg_better<{larger}>(h{which}(best, at), Arg<{scalar}, {index}>{{tail, tail_at}});")
    return "int64_t(winner.at)"


def one_pass(stage: Stage, pair: Pair) -> bool:
    """Whether the pair folds along the lanes to one scalar per point."""
    first = next(o for o in stage.loops.ops if o.out == pair.first)
    free, over = own_axes(first, stage.loops)
    return not free and bool(over) and vector_axis(first, stage.loops) in over and not {pair.first, pair.second} & stage.cross
