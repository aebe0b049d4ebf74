"""What a sketch means, computed slowly in torch: the reference that captures and lowerings are tested against.

Each operation is evaluated over its whole index grid, one tensor dim per axis, with no chunks and no order of its own.
Positions out of range (legal below a guard or an untaken `where`) are clamped; what was never stored is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from sketch.ir import Affine, Call, Const, DType, Expr, Gather, Index, Op, Sketch
from sketch.ir import Tensor as Declared
from sketch.text_share import share

TORCH: dict[DType, torch.dtype] = {
    "f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16, "f16": torch.float16, "i64": torch.int64,
    "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "b1": torch.bool,
}  # fmt: skip
RENAMED: dict[str, Callable[..., Tensor]] = {
    "recip": torch.reciprocal, "not": torch.bitwise_not, "and": torch.bitwise_and, "or": torch.bitwise_or, "xor": torch.bitwise_xor,
    "max": torch.maximum, "min": torch.minimum, "mod": torch.remainder, "floordiv": torch.floor_divide,
}  # fmt: skip
Fold = Callable[[Tensor], Tensor]
FOLDS: dict[str, Fold] = {
    "sum": lambda v: v.sum(-1), "prod": lambda v: v.prod(-1), "max": lambda v: v.amax(-1), "min": lambda v: v.amin(-1),
    "argmax": lambda v: v.argmax(-1), "argmin": lambda v: v.argmin(-1), "any": lambda v: v.any(-1), "all": lambda v: v.all(-1),
}  # fmt: skip
PREFIXES: dict[str, Fold] = {
    "sum": lambda v: v.cumsum(-1), "prod": lambda v: v.cumprod(-1),
    "max": lambda v: v.cummax(-1).values, "min": lambda v: v.cummin(-1).values,
}  # fmt: skip


def evaluate(
    sketch: Sketch, inputs: Sequence[Tensor], state: Mapping[str, Tensor], dtype: torch.dtype | None = torch.float64
) -> dict[str, Tensor]:
    """Outputs, and states that were stored, by name; floats are `dtype` throughout, or as declared where it is None."""
    memory = {t.name: _allocate(t, sketch.shape(t.name), inputs, state, dtype) for t in sketch.tensors.values()}
    for op in sketch.ops():
        _Grid(sketch, op, memory, dtype).run()
    stored = {op.out for op in sketch.ops()}
    return {n: memory[n] for n, t in sketch.tensors.items() if t.role == "output" or (t.role == "state" and n in stored)}


def torch_dtype(declared: DType, floats: torch.dtype | None) -> torch.dtype:
    return floats if floats is not None and TORCH[declared].is_floating_point else TORCH[declared]


def _allocate(
    declared: Declared, shape: tuple[int, ...], inputs: Sequence[Tensor], state: Mapping[str, Tensor], floats: torch.dtype | None
) -> Tensor:
    dtype = torch_dtype(declared.dtype, floats)
    if declared.role in ("temp", "output"):
        return torch.full(shape, math.nan if dtype.is_floating_point else 77, dtype=dtype)
    given = torch.as_tensor(inputs[int(declared.source)] if declared.role == "input" else state[declared.source]).detach()
    if tuple(given.shape) != shape:
        raise ValueError(f"{declared.role} '{declared.name}' is declared {list(shape)}, given {list(given.shape)}")
    return given.to(dtype, copy=True)


class _Grid:
    """One operation over its axes, in order, then its folded axes."""

    def __init__(self, sketch: Sketch, op: Op, memory: dict[str, Tensor], floats: torch.dtype | None) -> None:
        axes = (*op.axes, *op.over)
        self.op = op
        self.memory = memory
        self.floats = floats
        self.shape = tuple(sketch.extent(a) for a in axes)
        self.points = {
            a.name: torch.arange(n).view([n if k == j else 1 for k in range(len(axes))])
            for j, (a, n) in enumerate(zip(axes, self.shape, strict=True))
        }

    def run(self) -> None:
        value = self.value(self.op.expr)
        out = self.memory[self.op.out]
        if self.op.kind == "compute":
            return self.store(out, value, len(self.shape))
        value = self.guarded(value).expand(self.shape)
        if self.op.kind == "scan":
            return self.store(out, PREFIXES[self.op.combiner](value), len(self.shape))
        kept = len(self.op.axes)
        return self.store(out, FOLDS[self.op.combiner](value.flatten(kept)), kept)

    def guarded(self, value: Tensor) -> Tensor:
        """Elements that the guard leaves out become the combiner's identity."""
        if self.op.guard is None:
            return value
        return torch.where(self.value(self.op.guard), value, identity(self.op.combiner, value.dtype))

    def store(self, out: Tensor, value: Tensor, rank: int) -> None:
        """Writes a value over the first `rank` dims of the grid; a position out of range raises."""
        shape = self.shape[:rank]
        at = [self.at(i) for i in self.op.index]
        if any(int(i.min()) < 0 for i in at):
            raise IndexError(f"'{self.op.out}' is stored at a negative position")
        places = tuple(i.reshape(i.shape[:rank]).expand(shape) for i in at)
        if places:
            out.index_put_(places, value.to(out.dtype).expand(shape))
        else:
            out.copy_(value.reshape(()))

    def at(self, index: Affine) -> Tensor:
        total = torch.tensor(index.const)
        for axis, coef in index.terms:
            total = total + self.points[axis] * coef
        return total

    def value(self, expr: Expr) -> Tensor:
        done: dict[int, Tensor] = {}
        nodes = share(expr)
        for node in nodes:
            done[id(node)] = self._node(node, done).to(torch_dtype(node.dtype, self.floats))
        return done[id(nodes[-1])]

    def _node(self, node: Expr, done: Mapping[int, Tensor]) -> Tensor:
        if isinstance(node, Const):
            return torch.tensor(node.value, dtype=torch_dtype(node.dtype, self.floats))
        if isinstance(node, Index):
            return self.at(node.at)
        if isinstance(node, Call):
            return apply(node.fn, [done[id(a)] for a in node.args])
        at = [self.at(i) for i in node.index]
        if isinstance(node, Gather):
            at[node.dim] = done[id(node.at)].long()
        return self._load(self.memory[node.tensor], at)

    def _load(self, tensor: Tensor, at: list[Tensor]) -> Tensor:
        return tensor[tuple(i.clamp(0, n - 1) for i, n in zip(at, tensor.shape, strict=True))]


def apply(fn: str, args: Sequence[Tensor]) -> Tensor:
    """A scalar function of FUNCTIONS over tensors; `cast` is left to the caller's dtype."""
    if fn == "cast":
        return args[0]
    if fn in RENAMED:
        return RENAMED[fn](*args)
    return getattr(torch, fn)(*args)


def identity(combiner: str, dtype: torch.dtype) -> Tensor:
    """The value that a fold starts from, and gives for an empty window."""
    if combiner in ("sum", "prod", "any", "all"):
        return torch.tensor(combiner in ("prod", "all"), dtype=dtype)
    low = combiner in ("max", "argmax")
    if dtype == torch.bool:
        return torch.tensor(not low)
    if dtype.is_floating_point:
        return torch.tensor(-math.inf if low else math.inf, dtype=dtype)
    limits = torch.iinfo(dtype)
    return torch.tensor(limits.min if low else limits.max, dtype=dtype)
