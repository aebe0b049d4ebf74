"""The catalogue of simd pieces: complete, in order of need, and without scalar arithmetic once compiled."""

import re

import pytest

from backends.cpp import collect, simd
from sketch.ir import FUNCTIONS


def test_every_function_of_the_sketch_has_a_piece():
    for table in simd.FUNCTIONS.values():
        assert set(table) == set(FUNCTIONS)
        for piece, name in table.values():
            made = name.removeprefix("l_") if piece == "libm" else name
            assert re.search(rf"\b{made}\(|\({made}, ", simd.text([piece])), (piece, name)


def test_text_holds_needs_once_and_first():
    order = simd.order(["tanh", "erf", "exp"])
    assert len(order) == len(set(order)) and order.index("core") < order.index("poly") < order.index("exp") < order.index("exp2")
    assert "sincos" not in order
    assert simd.text(["exp", "core", "mem"]).count("// ---- core\n") == 1


def test_polynomials_leave_no_scalar_arithmetic(compiler):
    functions = ("exp", "exp2", "expm1", "log", "log1p", "log2", "tanh", "sigmoid", "erf", "floor", "sqrt", "abs", "sign")
    pieces = [simd.POLY[fn][0] for fn in functions]
    loops = (f"for (int i = 0; i < 4096; i += 16) st(y + i, m_{fn}(ld<Vec<float, 16>>(x + i)));" for fn in functions)
    head = 'extern "C" void pragma_kernel(void** t) { auto x = (const float*)t[0]; auto y = (float*)t[1];'
    made = collect.static(f"{simd.text([*pieces, 'mem'])}{head} {' '.join(loops)} }}")
    if made["instruction_mix"] is None:
        pytest.skip("no objdump")
    assert made["packed_pct"] == 100.0 and made["instruction_mix"]["packed"] > 150
    assert made["instruction_mix"]["call"] <= 3  # the object's own start and end
