"""Tokens of the sketch's text form, one line at a time, and the error that every reader of it raises."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sketch.ir import DTYPES

WORD = r"[^\W\d]\w*"
NUMBER = rf"(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][+-]?[0-9]+)?(?:_?(?:{'|'.join(DTYPES)}))?(?![\w.])"
LONGEST = 40
TOKEN = re.compile(
    rf'(?P<space> +)|(?P<comment>#.*)|(?P<number>{NUMBER})|(?P<name>{WORD})|(?P<string>"(?:[^"\\]|\\.)*")'
    r"|(?P<op>==|!=|<=|>=|[-+*/<>=()\[\],:.])"
)


class SketchError(Exception):
    """A mistake in a sketch; `line` and `column` count from 1, and are 0 when the sketch did not come from text."""

    def __init__(self, line: int, column: int, message: str) -> None:
        super().__init__(f"line {line}, column {column}: {message}" if line else message)
        self.line = line
        self.column = column
        self.message = message


@dataclass(frozen=True)
class Token:
    """`kind` is name, number, string, op or end."""

    kind: str
    text: str
    line: int
    column: int

    def error(self, message: str) -> SketchError:
        return SketchError(self.line, self.column, message)

    def __str__(self) -> str:
        return "the end of the line" if self.kind == "end" else f"'{self.text}'"


@dataclass(frozen=True)
class Line:
    """One line with content; `tokens` ends with an end token and `comment` is the text behind '#'."""

    number: int
    indent: int
    tokens: tuple[Token, ...]
    comment: str

    @property
    def first(self) -> Token:
        return self.tokens[0]


def lines(text: str) -> list[Line]:
    """Every line that holds more than blanks and a comment."""
    found = (_line(number, content.rstrip("\r")) for number, content in enumerate(text.split("\n"), 1))
    return [line for line in found if line.first.kind != "end"]


def _line(number: int, content: str) -> Line:
    code, tokens, comment, at = content.rstrip(" "), [], "", 0
    while at < len(code):
        match = TOKEN.match(code, at)
        if not match:
            raise SketchError(number, at + 1, _unreadable(code, at))
        if match.lastgroup == "number" and len(match.group()) > LONGEST:
            raise SketchError(number, at + 1, f"a number of more than {LONGEST} characters")
        if match.lastgroup == "comment":
            comment = match.group()[1:].strip()
            break
        if match.lastgroup != "space":
            tokens.append(Token(str(match.lastgroup), match.group(), number, at + 1))
        at = match.end()
    end = tokens[-1].column + len(tokens[-1].text) if tokens else 1
    return Line(number, len(content) - len(content.lstrip(" ")), (*tokens, Token("end", "", number, end)), comment)


def _unreadable(code: str, at: int) -> str:
    if code[at] == "\t":
        return "tab: indent and separate with spaces"
    if code[at] == '"':
        return "this string has no closing quote"
    if code[at] in "0123456789.":
        word = re.match(r"[\w.]+", code[at:])
        return f"'{word.group() if word else code[at]}' is not a number; a suffix must be one of {', '.join(DTYPES)}"
    return f"unexpected character '{code[at]}'"


class Cursor:
    """A position in one line's tokens."""

    def __init__(self, line: Line) -> None:
        self.tokens = line.tokens
        self.at = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    @property
    def ahead(self) -> Token:
        return self.tokens[min(self.at + 1, len(self.tokens) - 1)]

    def sees(self, *texts: str) -> bool:
        return self.token.kind in ("op", "name") and self.token.text in texts

    def next(self) -> Token:
        token = self.token
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def accept(self, *texts: str) -> Token | None:
        return self.next() if self.sees(*texts) else None

    def expect(self, text: str, what: str) -> Token:
        if not self.sees(text):
            raise self.token.error(f"expected '{text}' {what}, found {self.token}")
        return self.next()

    def word(self, what: str) -> Token:
        if self.token.kind != "name":
            raise self.token.error(f"expected {what}, found {self.token}")
        return self.next()

    def end(self, what: str) -> None:
        if self.token.kind != "end":
            raise self.token.error(f"unexpected {self.token} after {what}")
