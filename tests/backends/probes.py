"""The C++ that the tests of the simd pieces call: every function at several widths, in one translation unit."""

from backends.cpp import simd

WIDTHS = {"float": (1, 8, 16, 32), "double": (1, 4, 8)}
UNARY = (
    "neg", "abs", "exp", "expm1", "log", "log1p", "log2", "exp2", "sqrt", "rsqrt", "recip", "sin", "cos", "tan", "tanh",
    "sigmoid", "erf", "floor", "ceil", "round", "trunc", "sign", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh",
    "atanh", "erfc", "log10", "lgamma",
)  # fmt: skip
BINARY = ("add", "sub", "mul", "div", "max", "min", "pow", "mod", "floordiv", "atan2")
COMPARE = ("eq", "ne", "lt", "le", "gt", "ge")
STORED = ("float", "double", "bf16", "f16", "int64_t", "int32_t", "int16_t", "int8_t", "uint8_t", "bool")


def _loop(name: str, kind: str, lanes: int, args: str, body: str) -> str:
    head = f'extern "C" void {name}_{kind}{lanes}({args}, long n) {{ using V = Vec<{kind}, {lanes}>;'
    return f"{head} for (long i = 0; i < n; i += {lanes}) {{ {body} }} }}"


def _functions() -> list[str]:
    out = []
    for kind, widths in WIDTHS.items():
        for lanes in widths:
            for math, table in simd.FUNCTIONS.items():
                for fn in UNARY:
                    args = f"const {kind}* x, {kind}* y"
                    out.append(_loop(f"{math}_{fn}", kind, lanes, args, f"st(y + i, {table[fn][1]}(ld<V>(x + i)));"))
                for fn in BINARY:
                    args = f"const {kind}* x, const {kind}* w, {kind}* y"
                    out.append(_loop(f"{math}_{fn}", kind, lanes, args, f"st(y + i, {table[fn][1]}(ld<V>(x + i), ld<V>(w + i)));"))
            args = f"const {kind}* x, const {kind}* w, bool* y"
            out += [_loop(fn, kind, lanes, args, f"st(y + i, {fn}(ld<V>(x + i), ld<V>(w + i)));") for fn in COMPARE]
            pick = "st(y + i, select(lor(lt(ld<V>(x + i), ld<V>(w + i)), m_isnan(ld<V>(w + i))), ld<V>(x + i), ld<V>(w + i)));"
            out.append(_loop("pick", kind, lanes, f"const {kind}* x, const {kind}* w, {kind}* y", pick))
    return out


def _memory() -> list[str]:
    out = []
    for stored in STORED:
        for lanes in WIDTHS["float"]:
            out.append(_loop(f"load_{stored}", "float", lanes, f"const {stored}* x, float* y", "st(y + i, ld<V>(x + i));"))
            out.append(_loop(f"store_{stored}", "float", lanes, f"const float* x, {stored}* y", "st(y + i, ld<V>(x + i));"))
    for lanes in (1, 8, 16):
        for fn in ("mod", "floordiv"):
            args, body = "const int64_t* x, const int64_t* w, int64_t* y", f"st(y + i, l_{fn}(ld<V>(x + i), ld<V>(w + i)));"
            out.append(_loop(f"int_{fn}", "int64_t", lanes, args, body))
    return out


def _folds() -> list[str]:
    out = []
    for lanes in WIDTHS["float"]:
        for fn in ("hsum", "hprod", "hmax", "hmin"):
            out.append(_loop(fn, "float", lanes, "const float* x, float* y", f"y[i / {lanes}] = {fn}(ld<V>(x + i));"))
        for fn in ("argmax", "argmin"):
            out.append(f"""extern "C" void {fn}_float{lanes}(const float* x, float* value, int64_t* at, long n) {{
  using V = Vec<float, {lanes}>; using I = Vec<int64_t, {lanes}>;
  V best = ld<V>(x); I where = iota<I>();
  for (long i = {lanes}; i < n; i += {lanes}) {fn}_step(best, where, ld<V>(x + i), I(iota<I>() + i));
  auto r = h{fn}(best, where); *value = r.value; *at = r.at; }}""")
        copy = f"stream(y + i, ld<V>(x + i)); if (i + {lanes} >= n) sfence();"
        out.append(_loop("streamed", "float", lanes, "const float* x, float* y", copy))
        out.append(_loop("strided", "float", lanes, "const float* x, float* y", "stg(y + 3 * i, 3, ldg<V>(x + 2 * i, 2));"))
        part = f'extern "C" void part_float{lanes}(const float* x, float* y, long n) {{ using V = Vec<float, {lanes}>;'
        out.append(f"{part} stn(y, ldn<V>(x, int(n), 7.0f), int(n)); st(y + 64, ldn<V>(x, int(n), 7.0f)); }}")
    return out


TEAMS = """
extern "C" void counted(int64_t* seen, long n, long threads, long chunk) {
  auto body = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) seen[i] += 1 + 100 * (omp_get_num_threads() > 1);
  };
  if (chunk) parallel_dynamic(int(threads), n, chunk, body);
  else parallel_static(int(threads), n, body);
}
extern "C" void pragma_kernel(void**) {}
"""


def source() -> str:
    pieces = {p for table in simd.FUNCTIONS.values() for p, _ in table.values()} | {
        "mem",
        "half",
        "stream",
        "reduce",
        "arg",
        "parallel",
    }
    return simd.text(sorted(pieces)) + "\n".join([*_functions(), *_memory(), *_folds(), TEAMS])
