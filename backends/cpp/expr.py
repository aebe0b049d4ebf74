"""One scalar expression as C++ statements over a vector type T; the same text serves T = float for tails and scalars."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isinf, isnan

from backends.cpp.simd import FUNCTIONS
from sketch.ir import Affine, Call, Const, DType, Expr, Gather, Index, Load, Sketch, children
from sketch.values import Unsupported

SCALAR: dict[DType, str] = {"f32": "float", "f64": "double", "i64": "int64_t", "b1": "mask_t<float>"}
STORAGE: dict[DType, str] = {
    "f32": "float", "f64": "double", "bf16": "bf16", "f16": "f16", "i64": "int64_t", "i32": "int32_t", "i16": "int16_t",
    "i8": "int8_t", "u8": "uint8_t", "b1": "bool",
}  # fmt: skip
WIDE: dict[DType, str] = {"f32": "T", "f64": "like<T, double>", "i64": "like<T, int64_t>", "b1": "mask_t<T>"}
INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
COMPARE = ("lt", "le", "gt", "ge", "eq", "ne")
LOGIC = {"and": "land", "or": "lor", "xor": "lxor"}
Kind = str  # where a tensor's elements stand: "memory", "scalar", "array", "lanes"
Visit = Callable[[Expr], str]


@dataclass
class Text:
    """Lines of C++ under construction."""

    lines: list[str] = field(default_factory=list)
    depth: int = 1
    pieces: set[str] = field(default_factory=set)
    count: int = 0

    def add(self, line: str) -> None:
        self.depth -= line.startswith("}")
        self.lines.append("  " * self.depth + line)
        self.depth += line.endswith("{")

    def fresh(self, stem: str = "e") -> str:
        self.count += 1
        return f"{stem}{self.count}"


@dataclass(frozen=True)
class Scope:
    """Where an expression is evaluated: the lane axis (None in scalar code), tensors' places, values computed before the loops."""

    sketch: Sketch
    lane: str | None
    place: Mapping[str, Kind]
    libm: bool
    hoisted: Mapping[int, str] = field(default_factory=dict)


def literal(value: float | int | bool, dtype: DType) -> str:
    if dtype == "b1":
        return "-1" if value else "0"
    if dtype == "i64":
        return f"INT64_C({int(value)})"
    number = float(value)
    if isnan(number) or isinf(number):
        limit = f"std::numeric_limits<{SCALAR[dtype]}>::"
        return f"{limit}quiet_NaN()" if isnan(number) else f"{'-' if number < 0 else ''}{limit}infinity()"
    return f"{number!r}{'f' if dtype == 'f32' else ''}"


def offset(form: Affine) -> str:
    """The C++ integer expression of an affine form."""
    parts = [axis if coef == 1 else f"{coef} * {axis}" for axis, coef in form.terms]
    if form.const or not parts:
        parts.append(str(form.const))
    return " + ".join(parts)


def axes_of(expr: Expr, memo: dict[int, frozenset[str]]) -> frozenset[str]:
    """The axes that a node's value depends on."""
    if id(expr) not in memo:
        own: set[str] = set()
        if isinstance(expr, Load | Gather):
            own = {a for a, _ in expr.index[0].terms}
        elif isinstance(expr, Index):
            own = {a for a, _ in expr.at.terms}
        memo[id(expr)] = frozenset(own).union(*(axes_of(c, memo) for c in children(expr)))
    return memo[id(expr)]


def write(text: Text, expr: Expr, scope: Scope) -> str:
    """Statements that compute the expression; returns the name (or literal) of its value, of type WIDE[expr.dtype]."""
    memo: dict[int, str] = {}

    def visit(node: Expr) -> str:
        if id(node) in memo:
            return memo[id(node)]
        if id(node) in scope.hoisted:
            value = scope.hoisted[id(node)]
        elif isinstance(node, Const):
            value = f"bc<{WIDE[node.dtype]}>({literal(node.value, node.dtype)})"
        else:
            value = text.fresh()
            text.add(f"const {WIDE[widened(node)]} {value} = {_term(text, node, scope, visit)};")
        memo[id(node)] = value
        return value

    return visit(expr)


def widened(node: Expr) -> DType:
    """The compute type in which a node's value stands."""
    if isinstance(node, Load | Gather) and node.dtype not in SCALAR:
        return "f32" if node.dtype in ("bf16", "f16") else "i64"
    return node.dtype


def _term(text: Text, node: Expr, scope: Scope, visit: Visit) -> str:
    if isinstance(node, Load):
        return _load(node, widened(node), scope)
    if isinstance(node, Gather):
        return _gather(node, widened(node), scope, visit)
    if isinstance(node, Index):
        return _lanes_of(node.at, scope)
    assert isinstance(node, Call)
    if node.fn == "cast":
        return _cast(node, scope, visit)
    return _function(text, node, [visit(a) for a in node.args], scope)


def _lanes_of(form: Affine, scope: Scope) -> str:
    step = dict(form.terms).get(scope.lane or "", 0)
    base = f"bc<{WIDE['i64']}>({offset(form)})"
    return f"{base} + iota<{WIDE['i64']}>() * bc<{WIDE['i64']}>({step})" if step else base


def _load(node: Load, dtype: DType, scope: Scope) -> str:
    place, wide, form = scope.place.get(node.tensor, "memory"), WIDE[dtype], node.index[0]
    if place == "scalar":
        return f"bc<{wide}>({node.tensor})"
    if place == "array":
        return f"{node.tensor}[u]"
    if place == "lanes":
        return f"{node.tensor}[({offset(form)}) * U + u]"
    step = dict(form.terms).get(scope.lane or "", 0)
    at = f"{node.tensor} + {offset(form)}"
    if dtype == "b1":
        mask = f"ne(ldg<mask_t<T>>(reinterpret_cast<const uint8_t*>({at}), {step}), mask_t<T>{{}})"
        return f"ldm<T>({at})" if step == 1 else mask if step else f"bc<mask_t<T>>(ldm<float>({at}))"
    if step == 1:
        return f"ld<{wide}>({at})"
    return f"ldg<{wide}>({at}, {step})" if step else f"bc<{wide}>(ld<{SCALAR[dtype]}>({at}))"


def _gather(node: Gather, dtype: DType, scope: Scope, visit: Visit) -> str:
    if scope.place.get(node.tensor, "memory") != "memory":
        raise Unsupported("aten.gather", "a gathered tensor must stand in memory")
    index = visit(node.at)
    at = f"{_lanes_of(node.index[0], scope)} + {index} * bc<{WIDE['i64']}>({node.dim})"
    return f"gather<{WIDE[dtype]}>({node.tensor}, {at})"


def _cast(node: Call, scope: Scope, visit: Visit) -> str:
    source = node.args[0]
    memory = isinstance(source, Load) and scope.place.get(source.tensor, "memory") == "memory"
    if memory and "b1" not in (source.dtype, node.dtype) and id(source) not in scope.hoisted:
        assert isinstance(source, Load)
        return _load(source, node.dtype, scope)
    value = visit(source)
    if widened(source) == node.dtype:
        return value
    if node.dtype == "b1":
        return f"cvt<mask_t<T>>(ne({value}, {WIDE[widened(source)]}{{}}))"
    if widened(source) == "b1":
        return f"select({value}, bc<{WIDE[node.dtype]}>(1), {WIDE[node.dtype]}{{}})"
    return f"cvt<{WIDE[node.dtype]}>({value})"


def _function(text: Text, node: Call, args: list[str], scope: Scope) -> str:
    kind = widened(node.args[-1])
    if node.fn in INFIX and kind != "b1" and not (node.fn == "div" and kind == "i64"):
        return f"{args[0]} {INFIX[node.fn]} {args[1]}"
    if node.fn in COMPARE:
        if kind == "b1":
            return f"{'' if node.fn == 'ne' else 'lnot'}(lxor({args[0]}, {args[1]}))"
        test = f"{node.fn}({args[0]}, {args[1]})"
        return test if kind == "f32" else f"cvt<mask_t<T>>({test})"
    if node.fn in LOGIC:
        return f"{LOGIC[node.fn]}({args[0]}, {args[1]})"
    if node.fn == "not":
        return f"lnot({args[0]})"
    if node.fn in ("max", "min"):
        return f"v{node.fn}({args[0]}, {args[1]})"
    if node.fn == "where":
        if kind == "b1":
            return f"lor(land({args[0]}, {args[1]}), land(lnot({args[0]}), {args[2]}))"
        return f"select({', '.join(args)})"
    piece, name = FUNCTIONS["libm" if scope.libm else "poly"][node.fn]
    text.pieces.add(piece)
    call = f"{name}({', '.join(args)})"
    return f"cvt<mask_t<T>>({call})" if node.dtype == "b1" and kind != "f32" else call
