"""The text form: exact round trips, canonical printing, and one error with its place for every kind of mistake."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sketch.ir import DTYPES, FUNCTIONS, Affine, Axis, Call, Const, Gather, Index, Load, Op, Tensor
from sketch.text import parse, print_sketch
from tests.sketch.texts import OTHERS, SOFTMAX, one


@pytest.mark.parametrize("text", [SOFTMAX, OTHERS])
def test_canonical_text_is_a_fixed_point(text):
    sketch = parse(text)
    assert print_sketch(sketch) == text
    again = parse(print_sketch(sketch))
    assert replace(again, nests=()) == replace(sketch, nests=())
    assert repr(again.nests) == repr(sketch.nests)


def test_parse_builds_the_ir_that_is_meant():
    sketch = parse(SOFTMAX)
    (nest,) = sketch.nests
    b, c = Axis("b", "B"), Axis("c", "C")
    at = (Affine.axis("b"), Affine.axis("c"))
    exp = Call("exp", (Call("sub", (Load("x", at, "f32"), Load("m", at[:1], "f32")), "f32"),), "f32")
    assert nest.parallel == (b,)
    assert nest.ops[0] == Op("reduce", "m", at[:1], (b,), (c,), "max", Load("x", at, "f32"))
    assert nest.ops[1] == Op("compute", "e", at, (b, c), (), "", exp, origin="aten.softmax")
    assert sketch.hints == {"vector": 16, "n0.unroll": 4}
    assert sketch.tensors["w"] == Tensor("w", "f32", ("C",), "weight", "norm.weight")


def test_loose_writing_prints_canonically():
    loose = SOFTMAX.replace("4095 - c", "C-1-c").replace("    ", "  ").replace("exp(x[b, c] - m[b])", "exp( (x[b,c]-(m[ b ])) )")
    loose = loose.replace("parallel b", "# a note\nparallel   b").replace("reduce max over c in C", "reduce max  over c in C")
    assert loose != SOFTMAX
    assert print_sketch(parse(loose)) == SOFTMAX


def test_for_may_stand_before_over_and_reorder_axes():
    text = "sketch S\ndim N = 4\ninput x: f32[N, N, N] from 0\noutput y: f32[N, N] from 0\nparallel b in N:\n"
    sketch = parse(text + "    y[b, a] = reduce sum for a in N, b in N over c in N: x[a, b, c]\n")
    (op,) = sketch.ops()
    assert [a.name for a in op.axes] == ["a", "b"]
    assert "reduce sum over c in N for a in N, b in N:" in print_sketch(sketch)
    assert parse(print_sketch(sketch)) == sketch


def test_cross_reduction_folds_the_parallel_axis():
    text = "sketch S\ndim N = 4\ninput x: f32[N] from 0\noutput y: f32[] from 0\n"
    text += "parallel b in N:\n    y[] = reduce sum over b in N: x[b]\n"
    (op,) = parse(text).ops()
    assert op.axes == ()
    assert op.over == (Axis("b", "N"),)


CONSTANTS = [
    (Const(2, "f32"), "2.0"), (Const(-0.0, "f32"), "-0.0"), (Const(0.1, "f64"), "0.1f64"), (Const(3, "i64"), "3"),
    (Const(-3, "i32"), "-3i32"), (Const(True, "b1"), "true"), (Const(math.inf, "f32"), "inf"),
    (Const(-math.inf, "f16"), "-inf_f16"),
    (Const(math.nan, "bf16"), "nan_bf16"), (Const(1e22, "f32"), "1e+22"), (Call("neg", (Const(1.0, "f32"),), "f32"), "neg(1.0)"),
]  # fmt: skip


@pytest.mark.parametrize(("const", "text"), CONSTANTS)
def test_constants_keep_value_and_dtype(const, text):
    sketch = one(const, const.dtype)
    assert f": {text}\n" in print_sketch(sketch)
    (op,) = parse(print_sketch(sketch)).ops()
    assert repr(op.expr) == repr(const) or op.expr == const


def test_shared_parts_stay_small_and_shared():
    node = Load("x", (Affine.axis("i"), Affine.axis("j")), "f32")
    for _ in range(200):
        node = Call("mul", (node, Call("tanh", (node,), "f32")), "f32")
    text = print_sketch(one(node))
    assert len(text) < 20_000
    assert print_sketch(parse(text)) == text


def test_deep_chains_are_cut_by_lets():
    node = Load("x", (Affine.axis("i"), Affine.axis("j")), "f32")
    for k in range(150):
        node = Call("exp", (node,), "f32") if k % 2 else Call("sub", (Const(1.0, "f32"), node), "f32")
    sketch = one(node)
    assert "let v4" in print_sketch(sketch)
    assert parse(print_sketch(sketch)) == sketch


AFFINE_I = st.sampled_from([Affine.axis("i"), Affine(), Affine.of({"i": -1}, 3), Affine((), 2)])
AFFINE_J = st.sampled_from([Affine.axis("j"), Affine.of({"i": 2}, 1), Affine.of({"j": -1}, 7), Affine.of({"i": 1}, 4)])
FINITE = st.floats(allow_nan=False, allow_infinity=True)
LEAVES = st.one_of(
    st.builds(Const, FINITE, st.sampled_from(("f32", "f64", "bf16"))),
    st.builds(Const, st.integers(-(2**40), 2**40), st.sampled_from(("i64", "i32", "u8"))),
    st.builds(Const, st.booleans(), st.just("b1")),
    st.builds(Index, AFFINE_I, st.sampled_from(("i64", "f32"))),
    st.builds(Load, st.just("x"), st.tuples(AFFINE_I, AFFINE_J), st.just("f32")),
    st.builds(Load, st.just("t"), st.tuples(AFFINE_I), st.just("i64")),
    st.builds(lambda j: Gather("x", (Affine(), j), 0, Load("t", (Affine.axis("i"),), "i64"), "f32"), AFFINE_J),
)


def calls(inner):
    """Any function over any operands: where the dtype does not follow, the text must carry it."""
    made = [
        st.builds(lambda fn, dtype, args: Call(fn, tuple(args[: FUNCTIONS[fn]]), dtype), st.sampled_from(list(FUNCTIONS)),
                  st.sampled_from(DTYPES), st.lists(inner, min_size=3, max_size=3)),
        st.builds(lambda fn, a, b: Call(fn, (a, b), a.dtype), st.sampled_from(("add", "sub", "mul", "div")), inner, inner),
        st.builds(lambda fn, a: Call(fn, (a,), a.dtype), st.sampled_from(("neg", "not", "exp")), inner),
        st.builds(lambda fn, a: Call(fn, (a, a), "b1"), st.sampled_from(("lt", "eq", "and", "or")), inner),
    ]  # fmt: skip
    return st.one_of(made)


@settings(max_examples=150, deadline=None, database=None)
@given(st.recursive(LEAVES, calls, max_leaves=25))
def test_any_expression_round_trips(expr):
    sketch = one(expr, expr.dtype)
    text = print_sketch(sketch)
    assert parse(text) == sketch
    assert print_sketch(parse(text)) == text
