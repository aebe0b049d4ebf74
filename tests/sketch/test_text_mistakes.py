"""Every mistake in a sketch's text is named at its line and column; damaged text never crashes the parser."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sketch.ir import Affine, Const, Load
from sketch.text import SketchError, parse, print_sketch, validate
from tests.sketch.texts import OTHERS, SOFTMAX, one

HEAD = """\
sketch S
dim N = 4
dim M = 8
input x: f32[N, M] from 0
input t: i64[N] from 1
temp a: f32[N]
output y: f32[N, M] from 0
"""
NEST = "parallel i in N:\n"
OP = "    y[i, j] = compute for j in M: "

MISTAKES = [
    ("", 1, 1, "the text is empty"),
    ("dim N = 4\n", 1, 1, "a sketch begins with 'sketch Name'"),
    (HEAD + "loop i in N:\n", 8, 1, "unknown statement 'loop'; expected dim, input"),
    (HEAD + "dim N = 5\n", 8, 5, "dim 'N' is declared twice"),
    (HEAD + "dim P = 0\n", 8, 9, "whole number of 1 or more, found '0'"),
    (HEAD + "temp a: f32[N]\n", 8, 6, "tensor 'a' is declared twice"),
    (HEAD + "temp b: f32[Q]\n", 8, 13, "undeclared dim 'Q'; declared: N, M"),
    (HEAD + "temp b: float[N]\n", 8, 9, "unknown dtype 'float'; known: f32"),
    (HEAD + "input b: f32[N]\n", 8, 7, "input 'b' needs its position"),
    (HEAD + "weight b: f32[N]\n", 8, 8, "weight 'b' needs its state key"),
    (HEAD + "input b: f32[N] from 1\n", 8, 7, "position 1 belongs to 't' already"),
    (HEAD + "temp b: f32[N] from norm\n", 8, 21, "quoted state key"),
    (HEAD + 'weight b: f32[N] from "norm\n', 8, 23, "no closing quote"),
    (HEAD + NEST + "    z[i] = compute: 1.0\n", 9, 5, "unknown tensor 'z'; declared: x, t, a, y"),
    (HEAD + NEST + OP + "q[i]\n", 9, 35, "unknown tensor 'q'"),
    (HEAD + NEST + OP + "x[i]\n", 9, 35, "'x' has 2 dims, not 1"),
    (HEAD + NEST + OP + "x[i, k]\n", 9, 40, "unknown axis 'k'; in scope: i, j"),
    (HEAD + NEST + "    y[i, k] = compute for j in M: 1.0\n", 9, 10, "unknown axis 'k'"),
    (HEAD + NEST + "    a[i] = compute for j in P: 1.0\n", 9, 29, "undeclared dim 'P'"),
    (HEAD + NEST + OP + "expp(x[i, j])\n", 9, 35, "unknown function 'expp'; known: neg"),
    (HEAD + NEST + OP + "exp(x[i, j], 1.0)\n", 9, 35, "'exp' takes 1 argument, not 2"),
    (HEAD + NEST + OP + "where(true, 1.0)\n", 9, 35, "'where' takes 3 arguments, not 2"),
    (HEAD + NEST + OP + "x[i, j] * 2\n", 9, 43, "operands of '*' are f32 and i64; cast one, e.g. f32(...)"),
    (HEAD + NEST + OP + "where(x[i, j], 1.0, 2.0)\n", 9, 35, "condition of 'where' is f32, not b1"),
    (HEAD + NEST + OP + "exp(t[i])\n", 9, 35, "'exp' needs floats, not i64"),
    (HEAD + NEST + OP + "t[i]\n", 9, 5, "'y' is f32 but its expression is i64; cast it: f32(...)"),
    (HEAD + NEST + OP + "1.0 < 2.0 < 3.0\n", 9, 45, "comparisons do not chain"),
    (HEAD + NEST + OP + "(x[i, j] + 1.0\n", 9, 49, "expected ')' to close the parenthesis, found the end of the line"),
    (HEAD + NEST + OP + "x[i, j] 2.0\n", 9, 43, "unexpected '2.0' after the expression"),
    (HEAD + NEST + OP + "x[i, j] +\n", 9, 44, "expected a value, found the end of the line"),
    (HEAD + NEST + OP + "x[i, i*j]\n", 9, 41, "an index is affine"),
    (HEAD + NEST + OP + "x[t[i], j]\n", 9, 37, "needs 'gather', e.g. [gather t[...]]"),
    (HEAD + NEST + OP + "x[gather x[i, j], j]\n", 9, 44, "a gather's position is an integer, not f32"),
    (HEAD + NEST + OP + "f32(i)\n", 9, 39, "an axis is a value as index(i)"),
    (HEAD + NEST + OP + "1.0f31\n", 9, 35, "'1.0f31' is not a number; a suffix must be one of f32"),
    (HEAD + NEST + OP + "x[i, j] @ 1.0\n", 9, 43, "unexpected character '@'"),
    (HEAD + NEST + OP + "x[i, j + 1]\n", 9, 40, "index 1 of 'x' reaches 8; its dim M holds 0 to 7"),
    (HEAD + NEST + "    y[i, 2*j] = compute for j in M: 1.0\n", 9, 10, "index 1 of 'y' reaches 14"),
    (HEAD + NEST + OP + "a[i]\n", 9, 35, "'a' is read before an operation stores it"),
    (HEAD + NEST + "    x[i, j] = compute for j in M: 1.0\n", 9, 5, "'x' is an input and cannot be stored to"),
    (HEAD + NEST + "    a[i] = compute: 1.0\n", 7, 8, "output 'y' is never stored"),
    (HEAD + NEST + "    y[i, j] = compute for j in M 1.0\n", 9, 34, "expected ':' before the operation's expression, found '1.0'"),
    (HEAD + "parallel i in N\n" + OP + "1.0\n", 8, 16, "expected ':' after parallel"),
    (HEAD + NEST + "y[i, j] = compute for j in M: 1.0\n", 8, 1, "expected an operation below 'parallel', indented by spaces"),
    (HEAD + NEST + OP + "1.0\n      a[i] = compute: 1.0\n", 10, 7, "bad indentation: 6 spaces, where this block has 4"),
    (HEAD + "  temp b: f32[N]\n", 8, 3, "unexpected indentation"),
    (HEAD + NEST + "\ty[i, j] = compute: 1.0\n", 9, 1, "tab: indent and separate with spaces"),
    (HEAD + NEST + "    a[i] = fold sum over j in M: x[i, j]\n", 9, 12, "unknown operation kind 'fold'; known: compute"),
    (HEAD + NEST + "    a[i] = reduce mean over j in M: x[i, j]\n", 9, 19, "unknown combiner 'mean'; known: sum"),
    (HEAD + NEST + "    a[i] = reduce over j in M: x[i, j]\n", 9, 5, "'reduce' takes one of sum"),
    (HEAD + NEST + "    a[i] = reduce sum: a[i]\n", 9, 5, "'reduce' needs the axes it folds"),
    (HEAD + NEST + "    a[i] = reduce argmax over j in M: x[i, j]\n", 9, 5, "'argmax' gives a position: 'a' must be i64"),
    (HEAD + NEST + "    a[i] = compute over j in M: x[i, j]\n", 9, 5, "'compute' folds nothing"),
    (HEAD + NEST + "    y[i, j] = scan sum over j in M, k in M: x[i, j]\n", 9, 5, "'scan' runs over exactly one axis, not 2"),
    (HEAD + NEST + "    a[i] = contract over j in M: x[i, j]\n", 9, 5, "'contract' is a sum of products"),
    (HEAD + NEST + "    a[i] = reduce sum over j in M if x[i, j]: 1.0\n", 9, 38, "a guard is b1, not f32"),
    (HEAD + NEST + "    a[i] = reduce sum over i in M: x[i, 0]\n", 9, 5, "axis 'i' runs over N in its nest, over M here"),
    (HEAD + NEST + "    y[i, j] = compute for j in M, j in M: 1.0\n", 9, 35, "axis 'j' is named twice"),
    (HEAD + NEST + OP + "\n", 9, 34, "expected the operation's expression, on this line or deeper below"),
    (HEAD + NEST + OP + "\n        let v = 1.0\n        let v = 2.0\n", 11, 13, "'v' is named twice by let"),
    (HEAD + NEST + OP + "\n        let v = 1.0\n", 10, 20, "expected the operation's expression after its lets"),
    (HEAD + NEST + "    a[i] = compute: x[i, 0]\n" + OP + "a[3 - i]\n", 10, 37, "reading another's needs a new nest"),
    (HEAD + NEST + OP + "1.0\nhint speed = 9\n", 10, 6, "unknown hint 'speed'; known: vector"),
    (HEAD + NEST + OP + "1.0\nhint vector = 3\n", 10, 15, "hint 'vector' cannot be 3; choices: 1, 4"),
    (HEAD + NEST + OP + "1.0\nhint n4.vector = 4\n", 10, 6, "hint 'n4.vector' names no nest"),
    (HEAD + NEST + OP + "1.0\nhint vector = 4\nhint vector = 8\n", 11, 6, "hint 'vector' is given twice"),
    (HEAD + NEST + OP + "(" * 900 + "\n", 9, 95, "nests deeper than 60"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "column", "message"), MISTAKES, ids=[m[3][:40] for m in MISTAKES])
def test_each_mistake_is_named_at_its_place(text, line, column, message):
    with pytest.raises(SketchError) as caught:
        parse(text)
    assert message in caught.value.message
    assert (caught.value.line, caught.value.column) == (line, column)
    assert str(caught.value) == f"line {line}, column {column}: {caught.value.message}"


def outcome(text):
    try:
        return parse(text), None
    except SketchError as error:
        return None, error


@settings(max_examples=200, deadline=None, database=None)
@given(st.data())
def test_damaged_text_gives_a_sketch_or_a_sketch_error(data):
    text = data.draw(st.sampled_from((SOFTMAX, OTHERS)))
    at = data.draw(st.integers(0, len(text) - 1))
    cut = data.draw(st.integers(0, 6))
    new = data.draw(st.text(st.sampled_from('xi[]()+-*/=:,.#" \n\t01noti²é'), max_size=4))
    damaged = text[:at] + new + text[at + cut :]
    sketch, error = outcome(damaged)
    if sketch is None:
        assert 1 <= error.line <= damaged.count("\n") + 1
        assert error.column >= 1
    else:
        assert print_sketch(parse(print_sketch(sketch))) == print_sketch(sketch)


def test_out_of_range_is_legal_below_where_and_guard():
    parse(HEAD + NEST + OP + "where(index(j) > 0, x[i, j - 1], 0.0)\n")
    parse(HEAD + NEST + OP + "1.0\n    a[i] = reduce sum over j in M if index(j) < 7: x[i, j + 1]\n")
    with pytest.raises(SketchError, match="reaches -1"):
        parse(HEAD + NEST + OP + "where(x[i, j - 1] > 0.0, 1.0, 0.0)\n")


def test_a_sketch_that_was_not_text_is_validated_without_a_place():
    sketch = one(Load("x", (Affine.axis("i"),), "f32"))
    with pytest.raises(SketchError, match=r"^'x' has 2 dims, not 1$"):
        validate(sketch)
    validate(one(Const(1.0, "f32")))
