"""Sketches in text and in data that several tests of the text form share."""

from sketch.ir import Affine, Axis, Nest, Op, Sketch, Tensor

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


def one(expr, dtype="f32", **tensors):
    """A sketch that stores one expression over (i, j)."""
    dims, at = {"N": 4, "M": 8}, (Affine.axis("i"), Affine.axis("j"))
    named = {"x": Tensor("x", "f32", ("N", "M"), "input", "0"), "t": Tensor("t", "i64", ("N",), "input", "1")}
    named = {**named, "y": Tensor("y", dtype, ("N", "M"), "output", "0")}
    op = Op("compute", "y", at, (Axis("i", "N"), Axis("j", "M")), (), "", expr)
    return Sketch("one", dims, named, (Nest((Axis("i", "N"),), (op,)),))
