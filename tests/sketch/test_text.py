"""The text form: exact round trips, canonical printing, and one error with its place for every kind of mistake."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sketch.ir import DTYPES, FUNCTIONS, Affine, Axis, Call, Const, Gather, Index, Load, Nest, Op, Sketch, Tensor
from sketch.text import parse, print_sketch

SOFTMAX = """\
sketch Softmax

dim B = 128
dim C = 4096

input  x: f32[B, C] from 0
weight w: f32[C] from "norm.weight"
temp   m: f32[B]
temp   e: f32[B, C]
temp   s: f32[B]
output y: f32[B, C] from 0

parallel b in B:
    m[b] = reduce max over c in C: x[b, c]
    e[b, c] = compute for c in C: exp(x[b, c] - m[b])  # aten.softmax
    s[b] = reduce sum over c in C: e[b, c]
    y[b, c] = compute for c in C: e[b, c] / s[b] * w[4095 - c]

hint vector = 16
hint n0.unroll = 4
"""

OTHERS = """\
sketch "every other construct"

dim N = 8
dim K = 3
dim V = 100

input    x: bf16[N, N] from 0
input    t: i64[N] from 1
state    seen: f32[N] from "seen"
constant table: f64[V, K] from "table"
temp     c: f32[N, N]
temp     best: i64[N]
temp     total: f32[]
output   y: f32[N, N] from 0
output   z: f64[N, K] from 1

parallel i in N:
    c[i, j] = scan sum over j in N: f32(x[i, j])
    best[i] = reduce argmax over j in N: c[i, j]
    z[i, k] = compute for k in K: table[gather t[i], k] + nan_f64 - f64(c[i, 2*k + 1]) * 0.5f64
    seen[i] = compute: seen[i] + f32(best[i]) + where(not (index(i) > 3), 1.0, -inf)

serial:
    total[] = reduce sum over i in N, j in N: -c[i, j] + -1e-05

parallel i in N, j in N:
    y[i, j] = window max over k in K if index(i + k - 1) >= 0 and index(i + k - 1) < 8:
        let v0 = f32(x[i + k - 1, j]) - total[]
        v0 * v0 + (v0 - (1.0 - v0))

parallel j in N:
    y[i, j] = compute for i in N, j in N: index(i, f32) * max(c[i, j], exp.f32(f64(c[i, j])))
"""


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


def one(expr, dtype="f32", **tensors):
    """A sketch that stores one expression over (i, j)."""
    dims, at = {"N": 4, "M": 8}, (Affine.axis("i"), Affine.axis("j"))
    named = {"x": Tensor("x", "f32", ("N", "M"), "input", "0"), "t": Tensor("t", "i64", ("N",), "input", "1")}
    named = {**named, "y": Tensor("y", dtype, ("N", "M"), "output", "0")}
    op = Op("compute", "y", at, (Axis("i", "N"), Axis("j", "M")), (), "", expr)
    return Sketch("one", dims, named, (Nest((Axis("i", "N"),), (op,)),))


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
