"""The Unified Sketch S = (D, O, C, H) as plain frozen data.

D  tensors over named dims; O  operations, each one comprehension `out[index] = kind over axes: expr`;
C  nests: the parallel axes and the operations that run inside them; H  hints, a flat mapping (see sketch/hints.py).
An index is affine in the axes, so views, windows, flips and convolutions need no operation of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

DType = Literal["f32", "f64", "bf16", "f16", "i64", "i32", "i16", "i8", "u8", "b1"]
Role = Literal["input", "weight", "state", "constant", "temp", "output"]
Kind = Literal["compute", "reduce", "scan", "contract", "window"]

DTYPES: tuple[DType, ...] = ("f32", "f64", "bf16", "f16", "i64", "i32", "i16", "i8", "u8", "b1")
BYTES: dict[DType, int] = {"f64": 8, "i64": 8, "f32": 4, "i32": 4, "bf16": 2, "f16": 2, "i16": 2, "i8": 1, "u8": 1, "b1": 1}
KINDS: tuple[Kind, ...] = ("compute", "reduce", "scan", "contract", "window")
COMBINERS = ("sum", "prod", "max", "min", "argmax", "argmin", "any", "all")
UNARY = (
    "neg", "abs", "exp", "expm1", "log", "log1p", "log2", "exp2", "sqrt", "rsqrt", "recip", "sin", "cos", "tan", "tanh",
    "sigmoid", "erf", "floor", "ceil", "round", "trunc", "sign", "not", "isnan", "isinf", "asin", "acos", "atan",
    "sinh", "cosh", "asinh", "acosh", "atanh", "erfc", "log10", "lgamma",
)  # fmt: skip
BINARY = (
    "add", "sub", "mul", "div", "max", "min", "pow", "mod", "floordiv", "atan2",
    "eq", "ne", "lt", "le", "gt", "ge", "and", "or", "xor",
)  # fmt: skip
FUNCTIONS: dict[str, int] = {**dict.fromkeys(UNARY, 1), **dict.fromkeys(BINARY, 2), "where": 3, "cast": 1}


@dataclass(frozen=True)
class Affine:
    """sum(coef * axis) + const; terms are sorted by axis name and no coef is zero."""

    terms: tuple[tuple[str, int], ...] = ()
    const: int = 0

    @staticmethod
    def of(terms: Mapping[str, int], const: int = 0) -> Affine:
        return Affine(tuple(sorted((a, c) for a, c in terms.items() if c)), const)

    @staticmethod
    def axis(name: str) -> Affine:
        return Affine(((name, 1),))

    def __add__(self, other: Affine) -> Affine:
        merged = dict(self.terms)
        for a, c in other.terms:
            merged[a] = merged.get(a, 0) + c
        return Affine.of(merged, self.const + other.const)

    def scaled(self, k: int) -> Affine:
        return Affine.of({a: c * k for a, c in self.terms}, self.const * k)

    def substitute(self, table: Mapping[str, Affine]) -> Affine:
        out = Affine((), self.const)
        for a, c in self.terms:
            out = out + table.get(a, Affine.axis(a)).scaled(c)
        return out


@dataclass(frozen=True)
class Const:
    value: float | int | bool
    dtype: DType


@dataclass(frozen=True)
class Index:
    """The value of an affine index as an i64 number (arange, masks by position)."""

    at: Affine
    dtype: DType = "i64"


@dataclass(frozen=True)
class Load:
    """One element of a tensor; `dtype` is the tensor's own (bf16 and f16 are computed in f32 after a cast)."""

    tensor: str
    index: tuple[Affine, ...]
    dtype: DType


@dataclass(frozen=True)
class Gather:
    """An element whose position along `dim` is a value (embedding lookups, class targets); index[dim] is unused."""

    tensor: str
    index: tuple[Affine, ...]
    dim: int
    at: Expr
    dtype: DType


@dataclass(frozen=True)
class Call:
    """A scalar function of FUNCTIONS; `cast` converts args[0] to dtype; comparisons give b1."""

    fn: str
    args: tuple[Expr, ...]
    dtype: DType


Expr = Const | Index | Load | Gather | Call


@dataclass(frozen=True)
class Tensor:
    """A row-major tensor; `dims` name Sketch.dims entries; `source` is an input's position or a state-dict key."""

    name: str
    dtype: DType
    dims: tuple[str, ...]
    role: Role
    source: str = ""


@dataclass(frozen=True)
class Axis:
    name: str
    dim: str


@dataclass(frozen=True)
class Op:
    """out[index] = kind combiner (over): expr, for every value of `axes`.

    `compute` has no `over`; `reduce`, `contract` (a sum of products) and `window` (a reduction over a sliding
    window, with bounds) fold `over` with `combiner`; `scan` folds over its one `over` axis and keeps each prefix,
    and that axis then stands in `index`. `guard` (b1) leaves elements out of the fold (padding).
    """

    kind: Kind
    out: str
    index: tuple[Affine, ...]
    axes: tuple[Axis, ...]
    over: tuple[Axis, ...]
    combiner: str
    expr: Expr
    guard: Expr | None = None
    origin: str = ""


@dataclass(frozen=True)
class Nest:
    """One loop nest: `ops` run in order for each point of the `parallel` axes.

    An op's own loops are its axes and `over` axes less the parallel ones. An op that folds over a parallel axis is a
    cross reduction: its partial results are combined after the nest.
    """

    parallel: tuple[Axis, ...]
    ops: tuple[Op, ...]


@dataclass(frozen=True)
class Sketch:
    name: str
    dims: dict[str, int]
    tensors: dict[str, Tensor]
    nests: tuple[Nest, ...]
    hints: dict[str, str | int] = field(default_factory=dict)

    def ops(self) -> Iterator[Op]:
        for nest in self.nests:
            yield from nest.ops

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self.dims[d] for d in self.tensors[name].dims)

    def extent(self, axis: Axis) -> int:
        return self.dims[axis.dim]

    def with_hints(self, **changes: str | int) -> Sketch:
        return replace(self, hints={**self.hints, **changes})


def children(expr: Expr) -> tuple[Expr, ...]:
    if isinstance(expr, Call):
        return expr.args
    return (expr.at,) if isinstance(expr, Gather) else ()


def walk(expr: Expr) -> Iterator[Expr]:
    """Every node once (shared subtrees too), parents first."""
    seen: set[int] = set()
    stack: list[Expr] = [expr]
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        stack.extend(children(node))


def reads(op: Op) -> Iterator[Load | Gather]:
    """The tensor accesses of an op's expression and guard."""
    for expr in (op.expr, op.guard):
        if expr is not None:
            yield from (n for n in walk(expr) if isinstance(n, Load | Gather))
