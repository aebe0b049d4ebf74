"""The text form of a sketch: what people and language models write, and what a run keeps.

`parse(print_sketch(s)) == s` for every valid sketch; printing what was parsed gives the one canonical text.
"""

from __future__ import annotations

import json
import re

from sketch.ir import Affine, Axis, Call, Const, Expr, Gather, Index, Load, Nest, Op, Sketch, Tensor, children
from sketch.text_parse import parse
from sketch.text_share import share
from sketch.text_tokens import WORD, SketchError
from sketch.text_types import COMPARE, INFIX, infer, literal
from sketch.text_validate import validate

__all__ = ["SketchError", "parse", "print_sketch", "validate"]

LEVEL = {"or": 1, "and": 2, "not": 3, **dict.fromkeys(COMPARE, 4), "add": 5, "sub": 5, "mul": 6, "div": 6, "neg": 7}
ATOM = 8
DEEP = 24
"""Expressions nested deeper than this are cut by a `let`."""

WIDE = 120
"""An expression that would make a longer line stands on its own."""


def print_sketch(sketch: Sketch) -> str:
    """The canonical text; comments survive only as an operation's origin."""
    parts = [f"sketch {sketch.name if re.fullmatch(WORD, sketch.name) else json.dumps(sketch.name)}"]
    parts.append("\n".join(f"dim {name} = {size}" for name, size in sketch.dims.items()))
    width = max((len(t.role) for t in sketch.tensors.values()), default=0)
    parts.append("\n".join(_tensor(t, width) for t in sketch.tensors.values()))
    parts += [_nest(nest) for nest in sketch.nests]
    parts.append("\n".join(f"hint {key} = {value}" for key, value in sketch.hints.items()))
    return "\n\n".join(p for p in parts if p) + "\n"


def _tensor(tensor: Tensor, width: int) -> str:
    number = tensor.source.isascii() and tensor.source.isdigit()
    source = f" from {tensor.source if number else json.dumps(tensor.source)}" if tensor.source else ""
    return f"{tensor.role:{width}} {tensor.name}: {tensor.dtype}[{', '.join(tensor.dims)}]{source}"


def _nest(nest: Nest) -> str:
    head = f"parallel {_axes(nest.parallel)}:" if nest.parallel else "serial:"
    return "\n".join([head, *(_op(op, nest.parallel) for op in nest.ops)])


def _axes(axes: tuple[Axis, ...]) -> str:
    return ", ".join(f"{a.name} in {a.dim}" for a in axes)


def _op(op: Op, parallel: tuple[Axis, ...]) -> str:
    lets, expr = show(op.expr)
    origin = f"  # {op.origin}" if op.origin else ""
    line = f"    {_head(op, parallel)}: {expr}"
    if not lets and len(line) <= WIDE:
        return f"{line}{origin}"
    body = [f"        let {name} = {text}" for name, text in lets] + [f"        {expr}"]
    return "\n".join([f"    {_head(op, parallel)}:{origin}", *body])


def _head(op: Op, parallel: tuple[Axis, ...]) -> str:
    words = [f"{op.out}[{_index(op.index)}] = {op.kind}", op.combiner]
    words.append(f"over {_axes(op.over)}" if op.over else "")
    own = own_axes(op, parallel)
    words.append(f"for {_axes(own)}" if own else "")
    words.append(f"if {_Printer({}).text(op.guard, 0)}" if op.guard is not None else "")
    return " ".join(w for w in words if w)


def own_axes(op: Op, parallel: tuple[Axis, ...]) -> tuple[Axis, ...]:
    """The axes that `for` must list: those behind the parallel ones, or all where the order is another."""
    folded = {a.name for a in op.over}
    given = tuple(p for p in parallel if p.name not in folded)
    rest = op.axes[len(given) :]
    plain = op.axes[: len(given)] == given and not {a.name for a in rest} & {p.name for p in parallel}
    return rest if plain else op.axes


def _index(index: tuple[Affine, ...]) -> str:
    return ", ".join(affine(i) for i in index)


def affine(index: Affine) -> str:
    """`2*i + k - 1`."""
    parts = [(c, a if abs(c) == 1 else f"{abs(c)}*{a}") for a, c in index.terms]
    if index.const or not parts:
        ahead = index.const > 0 and bool(parts) and parts[0][0] < 0
        parts.insert(0 if ahead else len(parts), (index.const, str(abs(index.const))))
    first = ("-" if parts[0][0] < 0 else "") + parts[0][1]
    return first + "".join(f" {'-' if c < 0 else '+'} {text}" for c, text in parts[1:])


def show(expr: Expr) -> tuple[list[tuple[str, str]], str]:
    """The named parts in order, as (name, text), and the text of the whole."""
    nodes = share(expr)
    named = _named(nodes)
    names = {id(n): f"v{k}" for k, n in enumerate(named)}
    printer = _Printer(names)
    lets = [(names[id(n)], printer.text(n, 0, top=True)) for n in named]
    return lets, printer.text(nodes[-1], 0, top=True)


def _named(nodes: list[Expr]) -> list[Expr]:
    """Calls and gathers used more than once, and cuts through very deep expressions."""
    uses: dict[int, int] = {}
    for child in (c for n in nodes for c in children(n)):
        uses[id(child)] = uses.get(id(child), 0) + 1
    found: list[Expr] = []
    depth: dict[int, int] = {}
    for node in nodes[:-1]:
        depth[id(node)] = 1 + max((depth[id(c)] for c in children(node)), default=0)
        if depth[id(node)] > DEEP or (uses[id(node)] > 1 and not _small(node)):
            found.append(node)
            depth[id(node)] = 0
    return found


def _small(node: Expr) -> bool:
    cast = isinstance(node, Call) and node.fn == "cast" and not isinstance(node.args[0], Gather)
    return not children(node) or (cast and not children(children(node)[0]))


class _Printer:
    """Expressions as text; `names` maps the id of a named part to its name."""

    def __init__(self, names: dict[int, str]) -> None:
        self.names = names

    def text(self, node: Expr, level: int, *, top: bool = False) -> str:
        """The text of a node, in parentheses where it binds looser than `level`; `top` spells a named part out."""
        if not top and id(node) in self.names:
            return self.names[id(node)]
        if isinstance(node, Const):
            return literal(node)
        if isinstance(node, Index):
            return f"index({affine(node.at)}{'' if node.dtype == 'i64' else f', {node.dtype}'})"
        if isinstance(node, Load):
            return f"{node.tensor}[{_index(node.index)}]"
        return self._gather(node) if isinstance(node, Gather) else self._call(node, level)

    def _gather(self, node: Gather) -> str:
        index = [affine(i) for i in node.index]
        index[node.dim] = f"gather {self.text(node.at, 0)}"
        return f"{node.tensor}[{', '.join(index)}]"

    def _call(self, node: Call, level: int) -> str:
        if node.fn == "cast":
            return f"{node.dtype}({self.text(node.args[0], 0)})"
        follows = infer(node.fn, [a.dtype for a in node.args])[0] == node.dtype
        if node.fn in LEVEL and follows and not (node.fn == "neg" and isinstance(node.args[0], Const)):
            text = self._infix(node, LEVEL[node.fn])
            return f"({text})" if LEVEL[node.fn] < level else text
        dtype = "" if follows else f".{node.dtype}"
        return f"{node.fn}{dtype}({', '.join(self.text(a, 0) for a in node.args)})"

    def _infix(self, node: Call, level: int) -> str:
        if node.fn == "neg":
            return f"-{self.text(node.args[0], level)}"
        if node.fn == "not":
            return f"not {self.text(node.args[0], ATOM)}"
        left, right = node.args
        near = level + 1 if node.fn in COMPARE else level
        return f"{self.text(left, near)} {INFIX[node.fn]} {self.text(right, level + 1)}"
