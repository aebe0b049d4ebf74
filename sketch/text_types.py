"""How dtypes follow from operands, so that the text form writes one only where it does not follow.

Operands of one call share a dtype: nothing is promoted silently. `fn.dtype(...)` states another result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sketch.ir import FUNCTIONS, UNARY, Const, DType

FLOATS: tuple[DType, ...] = ("f32", "f64", "bf16", "f16")
COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
INFIX = {"or": "or", "and": "and", **COMPARE, "add": "+", "sub": "-", "mul": "*", "div": "/"}
LOGIC = ("and", "or", "xor", "not")
ANY_NUMBER = ("neg", "abs", "sign")


def infer(fn: str, args: Sequence[DType]) -> tuple[DType | None, str]:
    """The result's dtype, or None and the reason in one line."""
    if fn == "cast":
        return None, "a cast names its dtype, e.g. f32(x)"
    if fn == "where":
        return _where(args)
    shown = f"'{INFIX.get(fn, fn)}'"
    if any(a != args[0] for a in args):
        return None, f"operands of {shown} are {args[0]} and {args[1]}; cast one, e.g. {args[0]}(...)"
    return _uniform(fn, args[0], shown)


def _where(args: Sequence[DType]) -> tuple[DType | None, str]:
    if args[0] != "b1":
        return None, f"the condition of 'where' is {args[0]}, not b1; compare it, e.g. a != 0"
    if args[1] != args[2]:
        return None, f"the branches of 'where' are {args[1]} and {args[2]}; cast one, e.g. {args[1]}(...)"
    return args[1], ""


def _uniform(fn: str, dtype: DType, shown: str) -> tuple[DType | None, str]:
    if fn in COMPARE:
        return "b1", ""
    if fn in LOGIC:
        return (None, f"{shown} needs b1 or integers, not {dtype}") if dtype in FLOATS else (dtype, "")
    if dtype == "b1":
        return None, f"{shown} does not take b1; cast it, e.g. f32(...)"
    if fn in ("isnan", "isinf"):
        return ("b1", "") if dtype in FLOATS else (None, f"{shown} needs a float, not {dtype}")
    if dtype not in FLOATS and (fn in ("div", "atan2") or (fn in UNARY and fn not in ANY_NUMBER)):
        other = "; use floordiv for whole numbers" if fn == "div" else ""
        return None, f"{shown} needs floats, not {dtype}; cast, e.g. f32(...){other}"
    return dtype, ""


def arity(fn: str, count: int) -> str | None:
    """The reason why `fn` cannot take so many arguments, else None."""
    if fn not in FUNCTIONS:
        return f"unknown function '{fn}'; known: {', '.join(FUNCTIONS)}"
    want = FUNCTIONS[fn]
    return None if want == count else f"'{fn}' takes {want} argument{'s' * (want != 1)}, not {count}"


def literal(const: Const) -> str:
    """A constant as text: 1.0 is f32, 1 is i64, true is b1, anything else carries its dtype (1.0f64, 1i32, inf_f64)."""
    if const.dtype == "b1":
        return "true" if const.value else "false"
    if const.dtype not in FLOATS:
        return f"{int(const.value)}{'' if const.dtype == 'i64' else const.dtype}"
    value, suffix = float(const.value), "" if const.dtype == "f32" else const.dtype
    if math.isfinite(value):
        return f"{value!r}{suffix}"
    name = "nan" if math.isnan(value) else "-inf" if value < 0 else "inf"
    return f"{name}_{suffix}" if suffix else name
