"""Expressions of the text form: precedence climbing over one line's tokens.

or < and < not < == != < <= > >= < + - < * / < unary minus < names, calls, loads.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from sketch.ir import DTYPES, FUNCTIONS, Affine, Call, Const, DType, Expr, Gather, Index, Load, Tensor
from sketch.text_tokens import Cursor, SketchError, Token
from sketch.text_types import FLOATS, INFIX, arity, infer

FUNCTION = {text: fn for fn, text in INFIX.items()}
LEVELS: tuple[tuple[str, ...], ...] = (("or",), ("and",), ("==", "!=", "<", "<=", ">", ">="), ("+", "-"), ("*", "/"))
COMPARISONS = LEVELS[2]
NESTING = 60
SPECIAL = re.compile(rf"(inf|nan)(?:_({'|'.join(FLOATS)}))?")
RESERVED = ("in", "for", "over", "if", "let", "gather", "and", "or", "not", "true", "false", "inf", "nan", "index")


Part = TypeVar("Part")


class Places:
    """Where in the text each part of a sketch stands, by the part's key or object."""

    def __init__(self) -> None:
        self._found: dict[object, tuple[int, int]] = {}
        self._kept: list[object] = []

    def put(self, part: object, token: Token, detail: str = "") -> None:
        self._kept.append(part)
        self._found.setdefault(_key(part, detail), (token.line, token.column))

    def error(self, message: str, *parts: object, detail: str = "") -> SketchError:
        """The error at the first part whose place is known."""
        keys = [_key(parts[0], detail), *(_key(p, "") for p in parts)]
        return SketchError(*next((self._found[k] for k in keys if k in self._found), (0, 0)), message)


def _key(part: object, detail: str) -> object:
    return (part if isinstance(part, str) else id(part), detail)


@dataclass
class Scope:
    """What names mean inside one operation."""

    dims: Mapping[str, int]
    tensors: Mapping[str, Tensor]
    axes: set[str]
    lets: dict[str, Expr] = field(default_factory=dict)


class Expressions:
    """Reads expressions and indices from a cursor."""

    def __init__(self, cursor: Cursor, scope: Scope, places: Places) -> None:
        self.cursor = cursor
        self.scope = scope
        self.places = places
        self.depth = 0

    def expression(self) -> Expr:
        self.deeper(1)
        node = self._binary(0)
        self.deeper(-1)
        return node

    def deeper(self, by: int) -> None:
        self.depth += by
        if self.depth > NESTING:
            raise self.cursor.token.error(f"expression nests deeper than {NESTING}; name parts of it with let")

    def _binary(self, level: int) -> Expr:
        if level == len(LEVELS):
            return self._unary()
        if level == 2 and self.cursor.sees("not") and self.cursor.ahead.text not in (".", "["):
            return self._negation()
        left = self._binary(level + 1)
        while token := self.cursor.accept(*LEVELS[level]):
            left = self._call(token, FUNCTION[token.text], [left, self._binary(level + 1)], None)
            if level == 2 and self.cursor.sees(*COMPARISONS):
                raise self.cursor.token.error("comparisons do not chain; join them with 'and'")
        return left

    def _negation(self) -> Expr:
        tokens = []
        while self.cursor.sees("not"):
            tokens.append(self.cursor.next())
        node = self._binary(2)
        for token in reversed(tokens):
            node = self._call(token, "not", [node], None)
        return node

    def _unary(self) -> Expr:
        minuses = []
        while token := self.cursor.accept("-"):
            minuses.append(token)
        constant = self._constant(negative=bool(minuses))
        node = self._atom() if constant is None else constant
        minuses = minuses if constant is None else minuses[:-1]
        for token in reversed(minuses):
            node = self._call(token, "neg", [node], None)
        return node

    def _constant(self, negative: bool) -> Const | None:
        token, sign = self.cursor.token, -1 if negative else 1
        special = SPECIAL.fullmatch(token.text) if token.kind == "name" and self.cursor.ahead.text != "[" else None
        if special:
            self.cursor.next()
            value = math.nan if special[1] == "nan" else sign * math.inf
            return self._placed(Const(value, special[2] or "f32"), token)  # type: ignore[arg-type]
        if token.kind != "number":
            return None
        self.cursor.next()
        return self._placed(_number(token, sign), token)

    def _atom(self) -> Expr:
        cursor, token = self.cursor, self.cursor.token
        if cursor.accept("("):
            node = self.expression()
            cursor.expect(")", "to close the parenthesis")
            return node
        if token.kind != "name":
            raise token.error(f"expected a value, found {token}")
        cursor.next()
        if cursor.sees("["):
            return self._access(token)
        if cursor.sees("(", "."):
            return self._index_value(token) if token.text == "index" else self._function(token)
        return self._word(token)

    def _word(self, token: Token) -> Expr:
        if token.text in ("true", "false"):
            return self._placed(Const(token.text == "true", "b1"), token)
        if token.text in self.scope.lets:
            return self.scope.lets[token.text]
        name, hint = token.text, "a tensor is read as name[...], a part is named by let"
        if name in self.scope.axes:
            hint = f"an axis is a value as index({name})"
        elif name in self.scope.tensors:
            hint = f"read the tensor as {name}[{', '.join(self.scope.tensors[name].dims).lower()}]"
        elif name in self.scope.dims:
            hint = f"write the number {self.scope.dims[name]}"
        raise token.error(f"'{name}' is not a value here; {hint}")

    def _function(self, token: Token) -> Expr:
        fn, dtype = token.text, None
        if fn != "cast" and fn not in FUNCTIONS and fn not in DTYPES:
            raise token.error(f"unknown function '{fn}'; known: {', '.join(FUNCTIONS)} and casts such as f32(...)")
        if self.cursor.accept("."):
            dtype = self.cursor.word("a dtype")
            if dtype.text not in DTYPES:
                raise dtype.error(f"unknown dtype '{dtype.text}'; known: {', '.join(DTYPES)}")
        self.cursor.expect("(", f"after '{fn}'")
        args = [] if self.cursor.sees(")") else [self.expression()]
        while self.cursor.accept(","):
            args.append(self.expression())
        self.cursor.expect(")", f"to close the call of '{fn}'")
        if fn in DTYPES:
            return self._call(token, "cast", args, fn)
        return self._call(token, fn, args, dtype.text if dtype else None)

    def _call(self, token: Token, fn: str, args: list[Expr], dtype: str | None) -> Expr:
        wrong = arity(fn, len(args))
        found, reason = (dtype, "") if dtype or wrong else infer(fn, [a.dtype for a in args])
        if wrong or found is None:
            raise token.error(wrong or reason)
        return self._placed(Call(fn, tuple(args), found), token)  # type: ignore[arg-type]

    def _index_value(self, token: Token) -> Expr:
        self.cursor.expect("(", "after 'index'")
        at, dtype = self.affine(), "i64"
        if self.cursor.accept(","):
            dtype = self.cursor.word("a dtype").text
        self.cursor.expect(")", "to close index(...)")
        return self._placed(Index(at, dtype), token)  # type: ignore[arg-type]

    def _access(self, token: Token) -> Expr:
        if token.text not in self.scope.tensors:
            raise token.error(f"unknown tensor '{token.text}'; declared: {', '.join(self.scope.tensors) or 'none'}")
        index, gather = self.index()
        dtype: DType = self.scope.tensors[token.text].dtype
        if gather is None:
            return self._placed(Load(token.text, index, dtype), token)
        return self._placed(Gather(token.text, index, gather[0], gather[1], dtype), token)

    def index(self) -> tuple[tuple[Affine, ...], tuple[int, Expr] | None]:
        """`[i, 2*k + 1]`, and the position and value of a gather where one stands in it."""
        self.cursor.expect("[", "to open an index")
        parts: list[Affine] = []
        gather: tuple[int, Expr] | None = None
        while not self.cursor.sees("]"):
            if parts:
                self.cursor.expect(",", "or ']' in the index")
            word = self.cursor.accept("gather")
            if word and gather:
                raise word.error("one access holds one gather; store the inner one in a temp first")
            if word:
                gather = (len(parts), self.expression())
            parts.append(Affine() if word else self.affine())
        self.cursor.next()
        return tuple(parts), gather

    def affine(self) -> Affine:
        """A sum of axes with whole coefficients; a dim's name stands for its size."""
        token = self.cursor.token
        return self._placed(self._sum(), token)

    def _sum(self) -> Affine:
        total = self._product()
        while sign := self.cursor.accept("+", "-"):
            total = total + self._product().scaled(1 if sign.text == "+" else -1)
        return total

    def _product(self) -> Affine:
        left = self._factor()
        while star := self.cursor.accept("*"):
            right = self._factor()
            if left.terms and right.terms:
                raise star.error("an index is affine: an axis times a number, not an axis times an axis")
            left = left.scaled(right.const) if left.terms else right.scaled(left.const)
        return left

    def _factor(self) -> Affine:
        sign = 1
        while self.cursor.accept("-"):
            sign = -sign
        return self._operand().scaled(sign)

    def _operand(self) -> Affine:
        token = self.cursor.next()
        if token.kind == "op" and token.text == "(":
            self.deeper(1)
            inner = self._sum()
            self.deeper(-1)
            self.cursor.expect(")", "to close the parenthesis")
            return inner
        if token.kind == "number" and token.text.isdecimal():
            return Affine((), int(token.text))
        if token.kind != "name":
            raise token.error(f"expected an axis or a whole number in an index, found {token}")
        return self._axis(token)

    def _axis(self, token: Token) -> Affine:
        if self.cursor.sees("["):
            raise token.error(f"an index taken from a tensor needs 'gather', e.g. [gather {token.text}[...]]")
        if token.text in self.scope.axes:
            return Affine.axis(token.text)
        if token.text in self.scope.dims:
            return Affine((), self.scope.dims[token.text])
        raise token.error(f"unknown axis '{token.text}'; in scope: {', '.join(sorted(self.scope.axes)) or 'none'}")

    def _placed(self, part: Part, token: Token) -> Part:
        self.places.put(part, token)
        return part


def _number(token: Token, sign: int) -> Const:
    match = re.fullmatch(rf"(.*?)_?({'|'.join(DTYPES)})?", token.text)
    digits, dtype = (match[1], match[2]) if match else (token.text, None)
    whole = digits.isdecimal()
    dtype = dtype or ("i64" if whole else "f32")
    if dtype == "b1" or (dtype not in FLOATS and not whole):
        raise token.error(f"'{token.text}' is not a constant of dtype {dtype}")
    return Const(sign * (float(digits) if dtype in FLOATS else int(digits)), dtype)  # type: ignore[arg-type]
