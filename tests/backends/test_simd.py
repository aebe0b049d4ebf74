"""The simd pieces against torch in double precision, at every width and with each compiler."""

import ctypes
import math

import pytest
import torch

from backends.cpp import loader, simd
from tests.backends.conftest import COMPILERS, forget
from tests.backends.probes import BINARY, COMPARE, STORED, UNARY, WIDTHS, source

TORCH = {
    "float": torch.float32, "double": torch.float64, "bf16": torch.bfloat16, "f16": torch.float16, "bool": torch.bool,
    "int64_t": torch.int64, "int32_t": torch.int32, "int16_t": torch.int16, "int8_t": torch.int8, "uint8_t": torch.uint8,
}  # fmt: skip
NAMED = {
    "recip": "reciprocal",
    "expm1": "expm1",
    "mod": "remainder",
    "floordiv": "floor_divide",
    "max": "maximum",
    "min": "minimum",
}
CASES = [(kind, lanes) for kind, widths in WIDTHS.items() for lanes in widths]
# Units in the last place that a float function may be off: the project's bound, and what the C libraries at hand claim.
ULP = {"poly": {"sigmoid": 2.0, "lgamma": 8.0}, "libm": {"lgamma": 8.0}}
BOUND = {"m_": 1.5, "l_": 4.0}
EDGES = [
    0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-45, -1e-45, 1e-40, -1e-40, 1.17549435e-38, 3.4e38, -3.4e38,
    88.7, 88.72284, 88.73, -87.33, -88.0, -100.0, -103.9, -104.0, -150.0, 127.999, 128.0, -126.0, -149.0, -150.0, -151.0,
    0.5, -0.5, 1.5, 2.5, -2.5, 2.0, 0.999999, 1.000001, -0.9999999, 9.0, 10.0, 20.0, -17.0, -20.0, 0.625, 0.92, 4.0, 3.9,
    0.70710677, 1.4142135, 1e-8, -1e-8, 1e-20, 3.1415927, 1.5707964, 6.2831855, 1e5, 99999.9, 1e10, -1e30, 1e-5, 0.3, -0.35,
    -0.69, 8388607.5, 16777216.0,
]  # fmt: skip


@pytest.fixture(scope="module", params=COMPILERS)
def built(request):
    """All probes from one compiler; module-wide, because the translation unit takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CXX", request.param)
        forget()
        found = ctypes.CDLL(str(loader.built(source(), loader.all_flags())))
        yield found
    forget()


def call(built, name, *tensors, extra=()):
    """Runs a probe over tensors of one length, the last but the numbers in `extra`."""
    getattr(built, name)(*(ctypes.c_void_p(t.data_ptr()) for t in tensors), *map(ctypes.c_long, (tensors[0].numel(), *extra)))


def numbers(kind, n=1 << 12):
    """Edge cases, random bit patterns and random ranges; a multiple of every width."""
    torch.manual_seed(3)
    word = {"float": torch.int32, "double": torch.int64}[kind]
    span = torch.iinfo(word)
    wild = torch.randint(span.min, span.max, (n,), dtype=word).view(TORCH[kind])
    ranges = [torch.randn(n) * 10, torch.randn(n), torch.rand(n) * 200 - 100, 1 + torch.randn(n) * 1e-2, torch.randn(n) * 1e4]
    x = torch.cat([torch.tensor(EDGES, dtype=torch.float64).to(TORCH[kind]), wild, *(r.to(TORCH[kind]) for r in ranges)])
    return torch.cat([x, x[: -len(x) % 32]]).contiguous()


def reference(fn, *args):
    return getattr(torch, NAMED.get(fn, fn))(*args)


def off(got, want):
    """Distance in float32 units in the last place; the specials must agree exactly."""
    rounded = want.float()
    special = ~rounded.isfinite()
    same = (got == rounded) | (got.isnan() & rounded.isnan())
    assert same[special].all(), (got[special & ~same][:5], rounded[special & ~same][:5])
    assert got[~special].isfinite().all()
    unit = torch.exp2(torch.floor(torch.log2(want.abs().clamp(min=2.0**-126))) - 23)
    return torch.where(special, 0.0, (got.double() - want).abs() / unit)


@pytest.mark.parametrize("math_hint", ["poly", "libm"])
@pytest.mark.parametrize("fn", UNARY)
def test_float_functions_stay_within_their_units(built, fn, math_hint):
    x = numbers("float")
    want = reference(fn, x.double())
    bound = ULP[math_hint].get(fn, BOUND[simd.FUNCTIONS[math_hint][fn][1][:2]])
    if fn == "lgamma":  # near its zeros on the negative side no float routine holds relative accuracy
        x, want = x[(x > 0) | x.isnan()][:4096].contiguous(), reference(fn, x[(x > 0) | x.isnan()][:4096].double())
    for lanes in WIDTHS["float"]:
        y = torch.empty_like(x)
        call(built, f"{math_hint}_{fn}_float{lanes}", x, y)
        if lanes not in (1, 16):
            torch.testing.assert_close(y, want.float(), rtol=1e-6, atol=1e-44, equal_nan=True)
            continue
        worst = off(y, want)
        assert worst.max() <= bound, (lanes, worst.max(), x[worst.argmax()])


@pytest.mark.parametrize("fn", ["neg", "abs", "expm1", "log1p", "sin", "tanh", "erf", "floor", "ceil", "round", "trunc", "sqrt"])
def test_the_sign_of_zero_lives(built, fn):
    x = torch.tensor([0.0, -0.0] * 16)
    y = torch.empty_like(x)
    call(built, f"poly_{fn}_float16", x, y)
    assert (torch.signbit(y) == torch.signbit(reference(fn, x))).all()


@pytest.mark.parametrize("fn", [f for f in UNARY if f != "lgamma"])
def test_double_functions(built, fn):
    x = numbers("double", 1 << 10)
    want = reference(fn, x)
    for lanes in WIDTHS["double"]:
        y = torch.empty_like(x)
        call(built, f"poly_{fn}_double{lanes}", x, y)
        torch.testing.assert_close(y, want, rtol=2e-15, atol=1e-300 if fn not in ("sin", "cos", "tan") else 1e-16, equal_nan=True)


def test_wide_doubles_of_exp_and_log_keep_subnormals(built):
    x = torch.tensor([-708.0, -720.0, -740.0, -745.1, -746.0, 709.7, 709.79, 5e-324] * 4, dtype=torch.float64)
    y = torch.empty_like(x)
    call(built, "poly_exp_double8", x, y)
    torch.testing.assert_close(y, torch.exp(x), rtol=1e-15, atol=1e-323)
    call(built, "poly_log_double8", torch.exp(x), y)
    torch.testing.assert_close(y, torch.log(torch.exp(x)), rtol=1e-15, atol=0)


def pairs(kind):
    x = numbers(kind, 1 << 10)
    w = x[torch.randperm(len(x), generator=torch.Generator().manual_seed(5))].contiguous()
    return torch.cat([x, x]), torch.cat([w, x])


@pytest.mark.parametrize("math_hint", ["poly", "libm"])
@pytest.mark.parametrize("fn", BINARY)
def test_binary_functions(built, fn, math_hint):
    for kind, lanes in CASES:
        x, w = pairs(kind)
        y = torch.empty_like(x)
        call(built, f"{math_hint}_{fn}_{kind}{lanes}", x, w, y)
        want = reference(fn, x, w)
        if fn == "mod":  # torch's vectors give NaN where the quotient overflows, its scalars and ours the remainder
            kept = (x / w).isfinite() | ~x.isfinite() | (w == 0) | w.isnan()
            y, want = y[kept], want[kept]
        torch.testing.assert_close(y, want, rtol=3e-7 if kind == "float" else 2e-15, atol=0, equal_nan=True)


def test_powers_at_every_special_pair(built):
    special = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, 16777217.0, -16777216.0, 1e-45]
    grid = torch.cartesian_prod(torch.tensor(special), torch.tensor(special))
    x, w = grid[:, 0].contiguous(), grid[:, 1].contiguous()
    want = torch.tensor([_pow(a, b) for a, b in grid.tolist()])
    for lanes in WIDTHS["float"]:
        y = torch.empty_like(x)
        call(built, f"poly_pow_float{lanes}", x, w, y)
        torch.testing.assert_close(y, want, rtol=3e-7, atol=0, equal_nan=True)
        assert (torch.signbit(y) == torch.signbit(want))[~want.isnan()].all()


def _pow(a, b):
    return float(torch.pow(torch.tensor(a, dtype=torch.float64), torch.tensor(b, dtype=torch.float64)).float())


def test_integers_divide_by_flooring(built):
    x = torch.arange(-40, 40).repeat(16)
    w = torch.randint(1, 9, (len(x),), generator=torch.Generator().manual_seed(1)) * torch.where(
        torch.arange(len(x)) % 3 == 0, -1, 1
    )
    for lanes in (1, 8, 16):
        for fn in ("mod", "floordiv"):
            y = torch.empty_like(x)
            call(built, f"int_{fn}_int64_t{lanes}", x, w, y)
            assert torch.equal(y, reference(fn, x, w))


@pytest.mark.parametrize("fn", COMPARE)
def test_comparisons(built, fn):
    for kind, lanes in CASES:
        x, w = pairs(kind)
        y = torch.empty(len(x), dtype=torch.bool)
        call(built, f"{fn}_{kind}{lanes}", x, w, y)
        assert torch.equal(y, getattr(torch, fn)(x, w))


def test_select_under_joined_masks(built):
    for kind, lanes in CASES:
        x, w = pairs(kind)
        y = torch.empty_like(x)
        call(built, f"pick_{kind}{lanes}", x, w, y)
        torch.testing.assert_close(y, torch.where((x < w) | w.isnan(), x, w), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("stored", STORED)
def test_loads_convert(built, stored):
    if stored in ("bf16", "f16"):  # every bit pattern there is
        x = torch.arange(-(2**15), 2**15, dtype=torch.int16).view(TORCH[stored])
    elif stored in ("float", "double"):
        x = numbers(stored)
    else:
        x = torch.randint(-(2**40), 2**40, (4096,), generator=torch.Generator().manual_seed(2)).to(TORCH[stored])
    for lanes in WIDTHS["float"]:
        y = torch.empty(len(x))
        call(built, f"load_{stored}_float{lanes}", x, y)
        torch.testing.assert_close(y, x.float(), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("stored", STORED)
def test_stores_convert(built, stored):
    if stored in ("bf16", "f16", "float", "double", "bool"):
        x = numbers("float", 1 << 15)
    else:
        x = (
            torch.cat([torch.arange(-128.0, 128.0), torch.rand(2048) * 100])
            if stored != "uint8_t"
            else torch.arange(0.0, 255.99, 1 / 8)
        )
    if stored in ("bf16", "f16"):  # ties to even, on both sides
        exact = torch.arange(-(2**15), 2**15, dtype=torch.int16).view(TORCH[stored]).float()
        exact = exact[exact.isfinite()]
        x = torch.cat([x, (exact[1:] + exact[:-1]) / 2])
    x = x[: len(x) // 32 * 32].contiguous()
    for lanes in WIDTHS["float"]:
        y = torch.empty(len(x), dtype=TORCH[stored])
        call(built, f"store_{stored}_float{lanes}", x, y)
        torch.testing.assert_close(y, x.to(TORCH[stored]), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("lanes", WIDTHS["float"])
def test_folds_over_lanes(built, lanes):
    torch.manual_seed(4)
    x = torch.randn(256, lanes)
    x[7, lanes // 2] = math.nan
    for name, want in (("hsum", x.sum(1)), ("hprod", x.prod(1)), ("hmax", x.amax(1)), ("hmin", x.amin(1))):
        y = torch.empty(256)
        getattr(built, f"{name}_float{lanes}")(
            ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(y.data_ptr()), ctypes.c_long(x.numel())
        )
        torch.testing.assert_close(y, want, equal_nan=True, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("lanes", WIDTHS["float"])
@pytest.mark.parametrize("fn", ["argmax", "argmin"])
def test_arg_takes_the_first_and_nan_wins(built, fn, lanes):
    torch.manual_seed(5)
    for x in (
        torch.randint(0, 5, (320,)).float(),
        torch.randn(320),
        torch.where(torch.arange(320) % 100 == 77, math.nan, torch.randn(320)),
    ):
        value, at = torch.empty(1), torch.empty(1, dtype=torch.int64)
        pointers = [ctypes.c_void_p(t.data_ptr()) for t in (x, value, at)]
        getattr(built, f"{fn}_float{lanes}")(*pointers, ctypes.c_long(320))
        hit = x.isnan() | (x == (x.max() if fn == "argmax" else x.min()))
        first = int((x.isnan() if x.isnan().any() else hit).nonzero()[0])
        assert (int(at), str(float(value))) == (first, str(float(x[first])))


@pytest.mark.parametrize("lanes", WIDTHS["float"])
def test_memory_moves(built, lanes):
    x = torch.randn(1024)
    for shift in (0, 1):  # aligned and not
        out = torch.zeros(1024 + 16)
        start = (-out.data_ptr() // 4) % 16 + shift
        y = out[start : start + 1000 // lanes * lanes]
        getattr(built, f"streamed_float{lanes}")(
            ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(y.data_ptr()), ctypes.c_long(y.numel())
        )
        assert torch.equal(y, x[: y.numel()])
        assert out[:start].abs().sum() == 0 and out[start + y.numel() :].abs().sum() == 0
    y = torch.zeros(3 * 320)
    getattr(built, f"strided_float{lanes}")(ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(y.data_ptr()), ctypes.c_long(320))
    assert torch.equal(y[::3], x[:640:2]) and y[1::3].abs().sum() == 0
    for n in range(1, lanes):
        y = torch.zeros(128)
        getattr(built, f"part_float{lanes}")(ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(y.data_ptr()), ctypes.c_long(n))
        assert torch.equal(y[:n], x[:n]) and y[n:64].abs().sum() == 0
        assert torch.equal(y[64 : 64 + lanes], torch.cat([x[:n], torch.full((lanes - n,), 7.0)]))


@pytest.mark.parametrize("chunk", [0, 1, 7, 5000])
@pytest.mark.parametrize("threads", [0, 1, 2, 8])
def test_teams_visit_every_point_once(built, threads, chunk):
    torch.zeros(1 << 16).add_(1)
    seen = torch.zeros(1003, dtype=torch.int64)
    call(built, "counted", seen, extra=(threads, chunk))
    assert set((seen % 100).tolist()) == {1}
    if threads > 1 and chunk < 1000:
        assert (seen > 100).all(), "the team had one thread only"
