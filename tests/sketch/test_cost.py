"""Cost on sketches whose work was counted by hand."""

from sketch.cost import Cost, cost
from sketch.text import parse, print_sketch

HEAD = "sketch S\ndim B = 10\ndim C = 20\ndim D = 30\n"


def count(body):
    return cost(parse(HEAD + body))


def test_softmax():
    sketch = """input x: f32[B, C] from 0
temp m: f32[B]
temp e: f32[B, C]
temp s: f32[B]
output y: f32[B, C] from 0
parallel b in B:
    m[b] = reduce max over c in C: x[b, c]
    e[b, c] = compute for c in C: exp(x[b, c] - m[b])
    s[b] = reduce sum over c in C: e[b, c]
    y[b, c] = compute for c in C: e[b, c] / s[b]
"""
    assert count(sketch) == Cost(flops=200 * (1 + 2 + 1 + 1), bytes=4 * (200 + 200), special=200)


def test_contraction_is_two_flops_per_product_and_casts_are_free():
    body = 'input x: bf16[B, C] from 0\nweight w: bf16[D, C] from "w"\noutput y: bf16[B, D] from 0\nparallel b in B, d in D:\n'
    got = count(body + "    y[b, d] = contract sum over c in C: f32(x[b, c]) * f32(w[d, c])\n")
    assert got == Cost(flops=2 * 10 * 30 * 20, bytes=2 * (200 + 600 + 300))
    assert got.intensity == 12000 / 2200


def test_selections_are_free_and_shared_parts_count_once():
    body = "input x: f32[B] from 0\noutput y: f32[B] from 0\nparallel b in B:\n"
    got = count(body + "    y[b] = compute: where(x[b] > 0.0, (x[b] - 1.0) * (x[b] - 1.0), neg(x[b]))\n")
    assert got.flops == 10 * 3


def test_a_tensor_never_read_costs_nothing_and_a_state_counts_both_ways():
    body = 'input x: f32[B] from 0\ninput idle: f32[B, C] from 1\nstate n: f64[B] from "n"\noutput y: i64[] from 0\n'
    body += "parallel b in B:\n    n[b] = compute: n[b] + f64(x[b])\n"
    got = count(body + "serial:\n    y[] = reduce argmax over b in B: x[b]\n")
    assert got == Cost(flops=10 + 10, bytes=4 * 10 + 2 * 8 * 10 + 8)


def test_a_lookup_reads_its_rows_not_the_table():
    body = 'input t: i64[B] from 0\nweight w: f32[D, C] from "w"\noutput y: f32[B, C] from 0\nparallel b in B:\n'
    assert count(body + "    y[b, c] = compute for c in C: w[gather t[b], c]\n").bytes == 8 * 10 + 4 * 200 + 4 * 200


def test_a_slice_reads_its_slice_and_overlapping_windows_read_each_element_once():
    body = "input x: f32[B, C] from 0\noutput y: f32[B] from 0\nparallel b in B:\n"
    assert count(body + "    y[b] = compute: x[b, 3] + x[b, 4]\n").bytes == 4 * (20 + 10)
    assert count(body + "    y[b] = reduce sum over a in B, c in C: x[b, c] - x[b, 19 - c]\n").bytes == 4 * (200 + 10)


def test_cost_survives_the_text_form():
    body = "input x: f32[B] from 0\noutput y: f32[B] from 0\nparallel b in B:\n    y[b] = compute: tanh(x[b]) * tanh(x[b])\n"
    sketch = parse(HEAD + body)
    assert cost(sketch) == cost(parse(print_sketch(sketch))) == Cost(flops=20, bytes=80, special=10)
