"""Equal subexpressions as one object, so that text names each once and cost counts each once."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from sketch.ir import Call, Const, Expr, Gather, children
from sketch.text_types import literal


def share(expr: Expr) -> list[Expr]:
    """The distinct nodes of an expression, operands first and the whole last; equal ones are one object."""
    pool: dict[Hashable, Expr] = {}
    done: dict[int, Expr] = {}
    stack = [expr]
    while stack:
        node = stack[-1]
        todo = [c for c in children(node) if id(c) not in done]
        if id(node) in done or not todo:
            stack.pop()
            if id(node) not in done:
                shared = _with_children(node, done)
                done[id(node)] = pool.setdefault(_key(shared), shared)
        stack.extend(reversed(todo))
    return list(pool.values())


def _with_children(node: Expr, done: dict[int, Expr]) -> Expr:
    if isinstance(node, Call):
        return replace(node, args=tuple(done[id(a)] for a in node.args))
    return replace(node, at=done[id(node.at)]) if isinstance(node, Gather) else node


def _key(node: Expr) -> Hashable:
    if isinstance(node, Call):
        return ("call", node.fn, node.dtype, *(id(a) for a in node.args))
    if isinstance(node, Gather):
        return ("gather", node.tensor, node.index, node.dim, id(node.at))
    return ("const", literal(node), node.dtype) if isinstance(node, Const) else node
