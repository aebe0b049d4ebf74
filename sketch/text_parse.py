"""Reads the text form into a Sketch; every mistake is one SketchError with its line and column.

    sketch NAME | dim NAME = SIZE | ROLE NAME: DTYPE[DIM, ...] [from SOURCE] | hint KEY = VALUE
    parallel AXIS in DIM, ...:   or   serial:
        OUT[INDEX, ...] = KIND [COMBINER] [over AXES] [for AXES] [if GUARD]: EXPR  # origin
`for` lists the axes behind the parallel ones, or all of them when it names a parallel one. Instead of EXPR deeper
lines may follow, `let NAME = EXPR` for parts and the expression last.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import get_args

from sketch.ir import COMBINERS, DTYPES, KINDS, Axis, Expr, Nest, Op, Role, Sketch, Tensor
from sketch.text_expr import RESERVED, Expressions, Places, Scope
from sketch.text_tokens import Cursor, Line, SketchError, Token, lines
from sketch.text_validate import validate

ROLES: tuple[str, ...] = get_args(Role)
STATEMENTS = ("dim", *ROLES, "parallel", "serial", "hint")


def parse(text: str) -> Sketch:
    """The sketch that a text describes, validated."""
    return _Reader(lines(text)).read()


class _Reader:
    def __init__(self, found: list[Line]) -> None:
        self.rest = found[::-1]
        self.sketch = Sketch("", {}, {}, ())
        self.places = Places()

    def read(self) -> Sketch:
        if not self.rest:
            raise SketchError(1, 1, "the text is empty; a sketch begins with 'sketch Name'")
        self._title(Cursor(self.rest.pop()))
        while self.rest:
            self._statement(self.rest.pop())
        validate(self.sketch, self.places)
        return self.sketch

    def _title(self, cursor: Cursor) -> None:
        if not cursor.sees("sketch"):
            raise cursor.token.error(f"a sketch begins with 'sketch Name', not {cursor.token}")
        cursor.next()
        name = cursor.next() if cursor.token.kind == "string" else cursor.word("the sketch's name")
        self.sketch = replace(self.sketch, name=_unquoted(name))
        cursor.end("the sketch's name")

    def _statement(self, line: Line) -> None:
        cursor, word = Cursor(line), line.first
        if line.indent:
            raise word.error("unexpected indentation: only operations below parallel or serial are indented")
        if word.text not in STATEMENTS or word.kind != "name":
            raise word.error(f"unknown statement {word}; expected {', '.join(STATEMENTS)}")
        cursor.next()
        if word.text in ROLES:
            self._tensor(cursor, word)
        else:
            {"dim": self._dim, "hint": self._hint, "parallel": self._nest, "serial": self._nest}[word.text](cursor, word)

    def _dim(self, cursor: Cursor, _: Token) -> None:
        name = cursor.word("the dim's name")
        self._fresh(name, self.sketch.dims, "dim")
        cursor.expect("=", "and the size")
        size = cursor.next()
        if not size.text.isdecimal() or int(size.text) < 1:
            raise size.error(f"a dim's size is a whole number of 1 or more, found {size}")
        cursor.end("the size")
        self.sketch.dims[name.text] = int(size.text)

    def _tensor(self, cursor: Cursor, role: Token) -> None:
        name = cursor.word(f"the {role.text}'s name")
        self._fresh(name, self.sketch.tensors, "tensor")
        cursor.expect(":", "and the dtype")
        dtype = cursor.word("a dtype")
        if dtype.text not in DTYPES:
            raise dtype.error(f"unknown dtype '{dtype.text}'; known: {', '.join(DTYPES)}")
        dims, source = self._dims(cursor), ""
        if cursor.accept("from"):
            if cursor.token.kind not in ("number", "string"):
                raise cursor.token.error(f'expected a position or a quoted state key such as "norm.weight", found {cursor.token}')
            source = _unquoted(cursor.next())
        cursor.end("the tensor's declaration")
        self.sketch.tensors[name.text] = Tensor(name.text, dtype.text, dims, role.text, source)  # type: ignore[arg-type]

    def _dims(self, cursor: Cursor) -> tuple[str, ...]:
        cursor.expect("[", "and the tensor's dims")
        dims: list[str] = []
        while not cursor.accept("]"):
            if dims:
                cursor.expect(",", "or ']' after a dim")
            dims.append(self._known_dim(cursor))
        return tuple(dims)

    def _known_dim(self, cursor: Cursor) -> str:
        name = cursor.word("a dim's name")
        if name.text not in self.sketch.dims:
            raise name.error(f"undeclared dim '{name.text}'; declared: {', '.join(self.sketch.dims) or 'none'}")
        return name.text

    def _fresh(self, name: Token, known: dict, what: str) -> None:
        if name.text in known:
            raise name.error(f"{what} '{name.text}' is declared twice")
        self.places.put(f"{what} {name.text}", name)

    def _hint(self, cursor: Cursor, _: Token) -> None:
        key = cursor.word("a hint's name")
        text = key.text
        while cursor.accept("."):
            text += f".{cursor.word('a hint').text}"
        if text in self.sketch.hints:
            raise key.error(f"hint '{text}' is given twice")
        cursor.expect("=", "and the hint's value")
        value = cursor.next()
        if value.kind not in ("name", "number"):
            raise value.error(f"expected a hint's value, found {value}")
        cursor.end("the hint's value")
        self.places.put(f"hint {text}", key)
        self.places.put(f"hint {text}", value, "value")
        self.sketch.hints[text] = int(value.text) if value.text.isdecimal() else value.text

    def _nest(self, cursor: Cursor, word: Token) -> None:
        parallel = self._axes(cursor) if word.text == "parallel" else ()
        cursor.expect(":", f"after {word.text}")
        cursor.end(f"'{word.text} ...:'")
        ops = [self._operation(line, parallel) for line in self._block(0, f"an operation below '{word.text}'", word)]
        nest = Nest(parallel, tuple(ops))
        self.places.put(nest, word)
        self.sketch = replace(self.sketch, nests=(*self.sketch.nests, nest))

    def _block(self, outer: int, what: str, opener: Token) -> Iterator[Line]:
        """The following lines deeper than `outer`, which must agree among themselves."""
        if not self.rest or self.rest[-1].indent <= outer:
            raise opener.error(f"expected {what}, indented by spaces")
        depth = self.rest[-1].indent
        while self.rest and self.rest[-1].indent > outer:
            line = self.rest.pop()
            if line.indent != depth:
                raise line.first.error(f"bad indentation: {line.indent} spaces, where this block has {depth}")
            yield line

    def _axes(self, cursor: Cursor) -> tuple[Axis, ...]:
        axes: list[Axis] = []
        while not axes or cursor.accept(","):
            name = cursor.word("an axis")
            if name.text in RESERVED:
                raise name.error(f"'{name.text}' is a reserved word, not an axis")
            cursor.expect("in", f"and the dim that axis '{name.text}' runs over")
            axes.append(Axis(name.text, self._known_dim(cursor)))
            self.places.put(axes[-1], name)
        return tuple(axes)

    def _operation(self, line: Line, parallel: tuple[Axis, ...]) -> Op:
        cursor, target = Cursor(line), line.first
        if target.kind != "name" or cursor.ahead.text != "[":
            raise target.error(f"expected an operation such as 'y[b] = compute: ...', found {target}")
        if target.text not in self.sketch.tensors:
            raise target.error(f"unknown tensor '{target.text}'; declared: {', '.join(self.sketch.tensors) or 'none'}")
        _skip_to_equals(cursor)
        kind, combiner = _kind(cursor)
        over, own = self._loops(cursor)
        axes = _all_axes(parallel, over, own)
        scope = Scope(self.sketch.dims, self.sketch.tensors, {a.name for a in (*axes, *over)})
        read = Expressions(cursor, scope, self.places)
        guard = read.expression() if cursor.accept("if") else None
        cursor.expect(":", "before the operation's expression")
        expr = self._body(cursor, line, scope)
        index = self._target(line, scope)
        op = Op(kind, target.text, index, axes, over, combiner, expr, guard, line.comment)  # type: ignore[arg-type]
        self.places.put(op, target)
        return op

    def _loops(self, cursor: Cursor) -> tuple[tuple[Axis, ...], tuple[Axis, ...]]:
        """The axes of `over` and of `for`, which may stand in either order."""
        found: dict[str, tuple[Axis, ...]] = {}
        while word := cursor.accept("over", "for"):
            if word.text in found:
                raise word.error(f"'{word.text}' is given twice; separate its axes by commas")
            found[word.text] = self._axes(cursor)
        return found.get("over", ()), found.get("for", ())

    def _target(self, line: Line, scope: Scope) -> tuple:
        cursor = Cursor(line)
        cursor.next()
        index, gather = Expressions(cursor, scope, self.places).index()
        if gather is not None:
            raise line.first.error("a store cannot gather: its index is made of axes")
        return index

    def _body(self, cursor: Cursor, line: Line, scope: Scope) -> Expr:
        if cursor.token.kind != "end":
            return self._whole(cursor, scope)
        found = None
        for inner in self._block(line.indent, "the operation's expression, on this line or deeper below", cursor.token):
            if found is not None:
                raise inner.first.error("unexpected line after the operation's expression")
            cursor = Cursor(inner)
            if cursor.sees("let") and cursor.ahead.kind == "name":
                self._let(cursor, scope)
            else:
                found = self._whole(cursor, scope)
        if found is None:
            raise cursor.token.error("expected the operation's expression after its lets")
        return found

    def _let(self, cursor: Cursor, scope: Scope) -> None:
        cursor.next()
        name = cursor.next()
        if name.text in RESERVED or name.text in scope.lets:
            raise name.error(f"'{name.text}' is {'a reserved word' if name.text in RESERVED else 'named twice by let'}")
        cursor.expect("=", "after let and a name")
        scope.lets[name.text] = self._whole(cursor, scope)

    def _whole(self, cursor: Cursor, scope: Scope) -> Expr:
        expr = Expressions(cursor, scope, self.places).expression()
        cursor.end("the expression")
        return expr


def _unquoted(token: Token) -> str:
    try:
        return str(json.loads(token.text)) if token.kind == "string" else token.text
    except json.JSONDecodeError as error:
        raise token.error(f"this string is not readable: {error.msg}") from None


def _skip_to_equals(cursor: Cursor) -> None:
    while cursor.token.kind != "end" and not cursor.sees("="):
        cursor.next()
    cursor.expect("=", "and an operation kind after the stored element")


def _kind(cursor: Cursor) -> tuple[str, str]:
    kind = cursor.word(f"an operation kind ({', '.join(KINDS)})")
    if kind.text not in KINDS:
        raise kind.error(f"unknown operation kind '{kind.text}'; known: {', '.join(KINDS)}")
    token = cursor.token
    if token.kind == "name" and token.text not in ("over", "for", "if"):
        if token.text not in COMBINERS:
            raise token.error(f"unknown combiner '{token.text}'; known: {', '.join(COMBINERS)}")
        return kind.text, cursor.next().text
    return kind.text, "sum" if kind.text == "contract" else ""


def _all_axes(parallel: tuple[Axis, ...], over: tuple[Axis, ...], own: tuple[Axis, ...]) -> tuple[Axis, ...]:
    folded = {a.name for a in over}
    if {a.name for a in own} & {p.name for p in parallel}:
        return own
    return (*(p for p in parallel if p.name not in folded), *own)
