"""Expressions rewritten: axes substituted, types cast, equal subtrees shared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from sketch.ir import Affine, Call, Const, DType, Expr, Gather, Index, Load


def rewrite(expr: Expr, change: Callable[[Expr], Expr], memo: dict[int, Expr] | None = None) -> Expr:
    """`change` applied to each node bottom up; shared subtrees stay shared."""
    memo = {} if memo is None else memo
    if id(expr) in memo:
        return memo[id(expr)]
    node = expr
    if isinstance(expr, Call):
        args = tuple(rewrite(a, change, memo) for a in expr.args)
        node = expr if all(x is y for x, y in zip(args, expr.args, strict=True)) else replace(expr, args=args)
    elif isinstance(expr, Gather):
        node = replace(expr, at=rewrite(expr.at, change, memo))
    memo[id(expr)] = out = change(node)
    return out


def substitute(expr: Expr, table: Mapping[str, Affine]) -> Expr:
    """The expression with axes replaced by affine forms."""

    def change(node: Expr) -> Expr:
        if isinstance(node, Load | Gather) and any(a in table for i in node.index for a, _ in i.terms):
            return replace(node, index=tuple(i.substitute(table) for i in node.index))
        if isinstance(node, Index) and any(a in table for a, _ in node.at.terms):
            return replace(node, at=node.at.substitute(table))
        return node

    return rewrite(expr, change) if table else expr


def intern(expr: Expr, pool: dict[tuple, Expr], memo: dict[int, tuple[Expr, Expr]]) -> Expr:
    """The same expression with equal subtrees as one object (hash-consing), so that identity is equality.

    `memo` keeps each key's object beside its result: an id must not be reused while it stands there.
    """
    if id(expr) in memo:
        return memo[id(expr)][1]
    node = expr
    key: tuple
    if isinstance(expr, Call):
        args = tuple(intern(a, pool, memo) for a in expr.args)
        node, key = replace(expr, args=args), ("call", expr.fn, expr.dtype, *(id(a) for a in args))
    elif isinstance(expr, Gather):
        at = intern(expr.at, pool, memo)
        node, key = replace(expr, at=at), ("gather", expr.tensor, expr.index, expr.dim, id(at))
    else:
        key = (type(expr).__name__, repr(expr))
    out = pool.setdefault(key, node)
    memo[id(expr)] = (expr, out)
    return out


def compute_dtype(dtype: DType) -> DType:
    """The type that expressions use for a stored type: halves compute in f32, integers in i64."""
    if dtype in ("bf16", "f16"):
        return "f32"
    return dtype if dtype in ("f32", "f64", "b1") else "i64"


def widen(load: Load | Gather) -> Expr:
    wide = compute_dtype(load.dtype)
    return load if wide == load.dtype else Call("cast", (load,), wide)


def cast(expr: Expr, dtype: DType) -> Expr:
    """The expression in another compute type; constants are converted at once."""
    if expr.dtype == dtype:
        return expr
    if isinstance(expr, Const):
        value = bool(expr.value) if dtype == "b1" else int(expr.value) if dtype == "i64" else float(expr.value)
        return Const(value, dtype)
    return Call("cast", (expr,), dtype)
