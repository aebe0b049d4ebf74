"""Matrix products: which contractions are one, how its axes map to rows, columns and depth, and the epilogue's fusion."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from backends.cpp.expr import Text, offset
from backends.cpp.plan import Loops, Plan, lanes
from backends.cpp.rows import sweep
from backends.cpp.stages import Stage, close, lane_stage, store
from sketch.hints import get, number
from sketch.ir import Affine, Call, Expr, Load, Op

ROWS = {1: 4, 4: 6, 8: 6, 16: 14, 32: 6}  # accumulator rows that fit the registers beside two vectors of B
VECTORS = {1: 4, 32: 2}
TILE = {"tile_m": 768, "tile_n": 512, "tile_k": 384}


@dataclass(frozen=True)
class Roles:
    """`left` runs over (rows, depth), `right` over (depth, columns); `batch` axes are in both or left over."""

    left: Load
    right: Load
    rows: str
    columns: str
    depth: str
    batch: tuple[str, ...]


def _operand(expr: Expr) -> Load | None:
    bare = expr.args[0] if isinstance(expr, Call) and expr.fn == "cast" else expr
    return bare if isinstance(bare, Load) and bare.dtype in ("f32", "bf16", "f16") else None


def roles(op: Op, extent: dict[str, int]) -> Roles | None:
    """The matrix product in a contraction whose addresses are linear, or None."""
    expr = op.expr
    if op.kind != "contract" or len(op.over) != 1 or not isinstance(expr, Call) or expr.fn != "mul" or expr.dtype != "f32":
        return None
    left, right = map(_operand, expr.args)
    if left is None or right is None:
        return None
    depth, free = op.over[0].name, [a.name for a in op.axes]
    in_left, in_right = ({a for a, _ in x.index[0].terms} for x in (left, right))
    rows = [a for a in free if a in in_left - in_right]
    columns = [a for a in free if a in in_right - in_left]
    if not rows or not columns or depth not in in_left & in_right:
        return None
    steps = dict(op.index[0].terms)
    if any(steps.get(a) == 1 for a in rows) and not any(steps.get(a) == 1 for a in columns):
        left, right, rows, columns = right, left, columns, rows
    row = max(rows, key=lambda a: extent[a])
    column = next((a for a in columns if steps.get(a) == 1), max(columns, key=lambda a: extent[a]))
    return Roles(left, right, row, column, depth, tuple(a for a in free if a not in (row, column)))


def write(text: Text, p: Plan, loops: Loops) -> None:
    """The product with every following operation of its nest as the epilogue of finished rows."""
    op = loops.ops[0]
    r = roles(op, dict(loops.extent))
    assert r is not None
    position = loops.position
    width = lanes(p.sketch, position)[0]
    tiles = [int(number(p.sketch, k, position) or TILE[k]) for k in TILE]
    batches = prod(loops.extent[a] for a in r.batch)
    text.pieces.add("gemm")
    text.add(f"{{  // nest {position}: {', '.join(o.out for o in loops.ops)}")
    text.add(f"using V = Vec<float, {width}>;")
    text.add("constexpr int UNROLL = 1;")
    text.add("auto start = [&]([[maybe_unused]] int64_t batch) {")
    _decode(text, loops, r)
    steps = [dict(x.index[0].terms) for x in (r.left, r.right)]
    bases = [offset(_without(x.index[0], (r.rows, r.columns, r.depth))) for x in (r.left, r.right)]
    text.add(f"return std::pair({r.left.tensor} + {bases[0]}, {r.right.tensor} + {bases[1]});")
    text.add("};")
    text.add(
        f"auto done = [&]([[maybe_unused]] int64_t batch, int64_t {r.rows}, int64_t first, int64_t count, const float* row) {{"
    )
    _epilogue(text, p, loops, r)
    text.add("};")
    size = f"Tile{{{loops.extent[r.rows]}, {loops.extent[r.columns]}, {loops.extent[r.depth]}}}"
    strides = [f"Operand{{{steps[0][r.rows]}, {steps[0][r.depth]}}}", f"Operand{{{steps[1][r.depth]}, {steps[1][r.columns]}}}"]
    dynamic = "true" if get(p.sketch, "schedule", position) == "dynamic" else "false"
    shape = f"V, {ROWS[width]}, {VECTORS.get(width, 2)}"
    text.add(f"gemm<{shape}>({number(p.sketch, 'threads', position)}, {dynamic}, {batches}, {size},")
    text.add(f"  Tile{{{', '.join(map(str, tiles))}}}, {', '.join(strides)}, start, done);")
    close(text)


def _without(form: Affine, axes: tuple[str, ...]) -> Affine:
    return form.substitute({a: Affine() for a in axes})


def _decode(text: Text, loops: Loops, r: Roles) -> None:
    rest = "batch"
    for axis in reversed(r.batch):
        text.add(f"[[maybe_unused]] const int64_t {axis} = {rest} % {loops.extent[axis]};")
        rest = f"({rest} / {loops.extent[axis]})"


def _epilogue(text: Text, p: Plan, loops: Loops, r: Roles) -> None:
    """Rows as they are finished: lanes run over columns, and the product itself stands in registers."""
    op = loops.ops[0]
    _decode(text, loops, r)
    place = dict.fromkeys(loops.local, "array")
    streaming = get(p.sketch, "store", loops.position) == "streaming"
    text.pieces |= {"stream"} if streaming else set()
    libm = get(p.sketch, "math", loops.position) == "libm"
    stage = Stage(p.sketch, loops, place, libm, streaming, frozenset())
    text.add("auto body = [&]<class T, int U>(T, std::integral_constant<int, U>, const int64_t v0) {")
    for name in sorted(loops.local):
        text.add(f"T {name}[U];")
    _load_row(text, stage, op, r, stored=op.out not in loops.local)
    for follower in loops.ops[1:]:
        lane_stage(text, stage, follower, r.columns)
    text.add("};")
    sweep(text, "body", "first", "first + count")


def _load_row(text: Text, stage: Stage, op: Op, r: Roles, stored: bool) -> None:
    text.add("for (int u = 0; u < U; ++u) {")
    text.add(f"[[maybe_unused]] const int64_t {r.columns} = v0 + u * lanes<T>;")
    value = f"ld<T>(row + {r.columns} - first)"
    if stored:
        store(text, stage, op, value, r.columns)
    else:
        text.add(f"{op.out}[u] = {value};")
    close(text)
