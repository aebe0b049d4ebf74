"""A sketch under its hints as one C++ source with `extern "C" void pragma_kernel(void** t)`.

t holds the data pointers of `arguments(sketch)`, in that order.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from backends.cpp import gemm, simd
from backends.cpp.expr import SCALAR, STORAGE, Text
from backends.cpp.names import safe
from backends.cpp.plan import Loops, Plan, lanes, plan
from backends.cpp.rows import one_pass, online_stage, row_stage, sweep
from backends.cpp.stages import Stage, close, lane_stage, merged, neutral, own_axes, prepared
from sketch.hints import get, number
from sketch.ir import BYTES, Op, Sketch, Tensor
from sketch.pairs import pairs
from sketch.values import Unsupported

PIECES = ("core", "mem", "half", "reduce", "basic", "parallel", "fold")
SMALL = 4096  # elements of a temporary that stands on the stack
CHUNKS = 64  # partial results of a cross reduction: fixed, so that the sum is the same for any number of threads
BLOCK = 2048  # elements of one block of an elementwise nest
HUGE = """inline void huge_pages(void* p, size_t bytes) {
  const uintptr_t page = uintptr_t(1) << 21, at = uintptr_t(p);
  const uintptr_t first = (at + page - 1) & ~(page - 1), last = (at + bytes) & ~(page - 1);
  if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}"""
SCRATCH = """template <int Slot> inline void* scratch(size_t bytes) {  // one buffer per thread and slot, kept between calls
  struct Buffer { char* p = nullptr; size_t size = 0; ~Buffer() { std::free(p); } };
  static thread_local Buffer b;
  if (b.size < bytes) { std::free(b.p); b.p = static_cast<char*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)); b.size = bytes; }
  return b.p;
}"""


@dataclass(frozen=True)
class Argument:
    """One pointer of the kernel: a tensor of the module, or memory that the caller makes."""

    tensor: Tensor
    shape: tuple[int, ...]


def arguments(sketch: Sketch) -> list[Argument]:
    sketch = safe(sketch)
    return [Argument(p.sketch.tensors[n], p.sketch.shape(n)) for p in [plan(sketch)] for n in p.stored if not _small(p, n)]


def lower(sketch: Sketch) -> str:
    """The C++ source; raises Unsupported naming the operator that cannot be lowered yet."""
    planned = plan(safe(sketch))
    for loops in planned.loops:
        for op in loops.ops:
            _refuse(op, loops)
    text = Text(pieces=set(PIECES))
    text.depth = 0
    text.add('extern "C" void pragma_kernel(void** t) {')
    _pointers(text, planned)
    for loops in planned.loops:
        (gemm.write if loops.ops[0].kind == "contract" else _nest)(text, planned, loops)
    text.add("}")
    includes = [f"#include <{h}>" for h in ("algorithm", "cstdint", "cstdlib", "sys/mman.h")]
    head = [*includes, HUGE, SCRATCH, simd.text(sorted(text.pieces)), ""]
    return "\n".join([*head, *text.lines, ""])


def _refuse(op: Op, loops: Loops) -> None:
    if op.guard is not None:
        raise Unsupported(op.origin or op.kind, "padded windows cannot be lowered to C++ yet")
    if op.kind == "contract" and gemm.roles(op, dict(loops.extent)) is None:
        raise Unsupported(op.origin or op.kind, "only matrix products can be lowered to C++ yet, not this contraction")


def _small(p: Plan, name: str) -> bool:
    return p.sketch.tensors[name].role == "temp" and prod(p.sketch.shape(name)) <= SMALL


def _pointers(text: Text, p: Plan) -> None:
    slot = 0
    for name in p.stored:
        tensor = p.sketch.tensors[name]
        kind, shape = STORAGE[tensor.dtype], p.sketch.shape(name)
        if _small(p, name):
            text.add(f"alignas(64) {kind} {name}[{max(prod(shape), 1)}];")
            continue
        constant = "const " if tensor.role in ("input", "weight", "constant") else ""
        text.add(f"{constant}{kind}* const {name} = static_cast<{constant}{kind}*>(t[{slot}]);  // {tensor.role} {list(shape)}")
        size = prod(shape) * BYTES[tensor.dtype]
        if get(p.sketch, "pages") == "huge" and tensor.role in ("output", "temp") and size >= 1 << 21:
            text.add(f"huge_pages({name}, {size});")
        slot += 1


def _nest(text: Text, p: Plan, loops: Loops) -> None:
    width, unroll = lanes(p.sketch, loops.position)
    cross = frozenset(o.out for o in loops.ops if any(a.name in loops.parallel for a in o.over))
    place = {n: _place(p, loops, n) for n in loops.local}
    streaming = get(p.sketch, "store", loops.position) == "streaming"
    stage = Stage(p.sketch, loops, place, get(p.sketch, "math", loops.position) == "libm", streaming, cross)
    text.pieces |= {"stream"} if streaming else set()
    text.pieces |= {"arg"} if any(o.combiner.startswith("arg") for o in loops.ops) else set()
    text.add(f"{{  // nest {loops.position}: {', '.join(o.out for o in loops.ops)}")
    text.add(f"using V = Vec<float, {width}>;")
    text.add(f"constexpr int UNROLL = {unroll};")
    block, points = _blocks(loops, width * unroll)
    if cross:
        _crossing(text, stage, block, points, number(p.sketch, "threads", loops.position))
    elif points > 1:
        _spread(text, p, loops, points)
        _range(text, stage, block, "begin", "end")
        text.add("sfence();" if streaming else "")
        text.add("});")
    else:
        _range(text, stage, block, "0", str(points))
    close(text)


def _spread(text: Text, p: Plan, loops: Loops, points: int) -> None:
    threads = number(p.sketch, "threads", loops.position)
    if get(p.sketch, "schedule", loops.position) == "dynamic":
        text.add(f"parallel_dynamic({threads}, {points}, {max(1, points // 256)}, [&](int64_t begin, int64_t end) {{")
    else:
        text.add(f"parallel_static({threads}, {points}, [&](int64_t begin, int64_t end) {{")


def _place(p: Plan, loops: Loops, name: str) -> str:
    op = next(o for o in loops.ops if o.out == name)
    own = own_axes(op, loops)[0]
    if loops.lane:
        return "lanes" if own else "array"
    return "memory" if own else "scalar"


def _blocks(loops: Loops, step: int) -> tuple[int, int]:
    """(elements of the lane axis in one point, number of points)."""
    outer = prod(loops.extent[a] for a in loops.parallel if a != loops.lane)
    if not loops.lane:
        return 0, outer
    inner = any(sum(map(len, own_axes(o, loops))) for o in loops.ops)
    block, extent = max(step, 64) if inner else max(step, BLOCK), loops.extent[loops.lane]
    while block > step and outer * -(-extent // block) < 32:
        block = max(step, block // 2)
    return block, outer * -(-extent // block)


def _range(text: Text, stage: Stage, block: int, begin: str, end: str) -> None:
    """The points [begin, end) of a nest, each with all its operations."""
    loops = stage.loops
    slots = [n for n in stage.place if stage.place[n] in ("memory", "lanes")]
    for slot, name in enumerate(slots):
        _buffer(text, stage, name, slot)
    text.add(f"for (int64_t point = {begin}; point < {end}; ++point) {{")
    _decode(text, loops, block)
    if loops.lane:
        text.add("auto body = [&]<class T, int U>(T, std::integral_constant<int, U>, const int64_t v0) {")
        _locals(text, stage)
        for op in loops.ops:
            text.add(f"// {op.out}: {op.kind} {op.combiner}")
            lane_stage(text, stage, op, loops.lane)
        text.add("};")
        sweep(text, "body", "first", "last")
    else:
        _locals(text, stage)
        _rows(text, stage)
    for name in stage.cross:
        text.add(f"{name}_flush();")
    close(text)


def _rows(text: Text, stage: Stage) -> None:
    online = get(stage.sketch, "passes", stage.loops.position) == "online"
    found = {p.first: p for p in pairs(stage.loops.ops) if online and one_pass(stage, p)}
    made = {o.out: o for o in stage.loops.ops}
    seconds = {p.second for p in found.values()}
    for op in stage.loops.ops:
        pair = found.get(op.out)
        if op.out in seconds:
            continue
        text.add(f"// {op.out}: {op.kind} {op.combiner}{' with ' + pair.second if pair else ''}".rstrip())
        if pair:
            online_stage(text, stage, op, made[pair.second], pair.kind)
        else:
            row_stage(text, stage, op)


def _buffer(text: Text, stage: Stage, name: str, slot: int) -> None:
    """Row buffers live in memory of the thread's own."""
    op = next(o for o in stage.loops.ops if o.out == name)
    tensor = stage.sketch.tensors[name]
    size = prod(stage.loops.extent[a] for a in own_axes(op, stage.loops)[0])
    if stage.place[name] == "memory":
        kind = STORAGE[tensor.dtype]
        text.add(f"{kind}* const {name} = static_cast<{kind}*>(scratch<{slot}>({size} * sizeof({kind})));")
    else:
        kind = SCALAR[tensor.dtype]  # type: ignore[index]
        text.add(f"void* const {name}_memory = scratch<{slot}>({size} * UNROLL * lanes<V> * sizeof({kind}));")


def _locals(text: Text, stage: Stage) -> None:
    wide = {"f32": "T", "f64": "like<T, double>", "i64": "like<T, int64_t>", "b1": "mask_t<T>"}
    for name, place in stage.place.items():
        dtype = stage.sketch.tensors[name].dtype
        if place == "array":
            text.add(f"{wide[dtype]} {name}[U];")
        elif place == "lanes":
            text.add(f"auto* const {name} = static_cast<{wide[dtype]}*>({name}_memory);")
        elif place == "scalar":
            text.add(f"{SCALAR[dtype]} {name};")  # type: ignore[index]


def _decode(text: Text, loops: Loops, block: int) -> None:
    """The parallel axes of a point, last axis fastest."""
    rest = "point"
    if loops.lane:
        count = -(-loops.extent[loops.lane] // block)
        text.add(f"const int64_t first = {rest if count == 1 and len(loops.parallel) == 1 else f'{rest} % {count}'} * {block};")
        text.add(f"const int64_t last = std::min<int64_t>(first + {block}, {loops.extent[loops.lane]});")
        rest = f"{rest} / {count}"
    outer = [a for a in loops.parallel if a != loops.lane]
    for i, axis in enumerate(reversed(outer)):
        text.add(f"const int64_t {axis} = {rest if i == len(outer) - 1 else f'({rest}) % {loops.extent[axis]}'};")
        rest = f"({rest}) / {loops.extent[axis]}"


def _crossing(text: Text, stage: Stage, block: int, points: int, threads: int) -> None:
    """A nest with results over its parallel axes: a partial result per chunk of points, combined in order at the end."""
    chunks = min(points, CHUNKS)
    outs = [prepared(o) for o in stage.loops.ops if o.out in stage.cross]
    for op in outs:
        text.add(f"{_total(op)} {op.out}_part[{chunks}];")
    text.add(f"parallel_static({threads}, {chunks}, [&](int64_t chunk_begin, int64_t chunk_end) {{")
    text.add("for (int64_t chunk = chunk_begin; chunk < chunk_end; ++chunk) {")
    for op in outs:
        _accumulator(text, op)
    text.add(f"const int64_t begin = {points} * chunk / {chunks}, end = {points} * (chunk + 1) / {chunks};")
    _range(text, stage, block, "begin", "end")
    for op in outs:
        text.add(f"{op.out}_part[chunk] = {op.out}_total;")
    close(text)
    text.add("});")
    for op in outs:
        text.add(f"for (int i = 1; i < {chunks}; ++i) {op.out}_part[0] = {merged(op, f'{op.out}_part[0]', f'{op.out}_part[i]')};")
        text.add(f"*{op.out} = {op.out}_part[0];")


def _total(op: Op) -> str:
    return "double" if op.combiner == "sum" and op.expr.dtype == "f32" else SCALAR[op.expr.dtype]  # type: ignore[index]


def _accumulator(text: Text, op: Op) -> None:
    """NAME_fold(u, value) takes a vector or a scalar; NAME_flush() empties the vectors into the total."""
    name, kind = op.out, SCALAR[op.expr.dtype]  # type: ignore[index]
    wide = f"like<V, {kind}>"
    horizontal = {"sum": "hsum", "prod": "hprod", "max": "hmax", "min": "hmin"}[op.combiner]
    text.add(f"{_total(op)} {name}_total = {neutral(op)};")
    text.add(f"{wide} {name}_acc[UNROLL];")
    text.add(f"for (auto& a : {name}_acc) a = bc<{wide}>({neutral(op)});")
    text.add(f"auto {name}_fold = [&]<class T>(int u, T value) {{")
    text.add(f"if constexpr (!is_scalar<T>) {name}_acc[u] = {merged(op, f'{name}_acc[u]', 'value')};")
    text.add(f"else {name}_total = {merged(op, f'{name}_total', f'{_total(op)}(value)')};")
    text.add("};")
    text.add(f"auto {name}_flush = [&] {{")
    text.add(f"for (auto& a : {name}_acc) {{")
    text.add(f"{name}_total = {merged(op, f'{name}_total', f'{_total(op)}({horizontal}(a))')};")
    text.add(f"a = bc<{wide}>({neutral(op)});")
    close(text)
    text.add("};")
