"""Building ahead: failures are data, the key is the loader's, and every loop gets the compiler's word."""

import time

import pytest

from backends.cpp import build, loader, simd
from tests.backends.conftest import forget

LOOPS = (
    simd.text(["exp", "libm", "mem"])
    + """
extern "C" void pragma_kernel(void** t) {
  const float* a = (const float*)t[0]; float* b = (float*)t[1];
  for (int i = 0; i < 1024; i++) b[i] = a[i] * 2;
  for (int i = 1; i < 1024; i++) b[i] = b[i - 1] * a[i] + 1;
  for (int i = 0; i < 1024; i += 16) st(b + i, m_exp(ld<Vec<float, 16>>(a + i)));
  for (int i = 0; i < 1024; i += 16) st(b + i, l_exp(ld<Vec<float, 16>>(a + i)));
}
"""
)
EMPTY = 'extern "C" void pragma_kernel(void**) {}'


def test_the_loader_finds_what_was_built_ahead(compiler):
    source = EMPTY + f"// {time.time_ns()}"
    made = build.build(source)
    assert made.ok and made.kind == "ok" and not made.cached and made.path.exists()
    assert loader.built(source, loader.all_flags()) == made.path
    again = build.build(source)
    assert again.cached and again.seconds < 0.5


def test_a_candidate_file_is_built_by_its_source_text():
    candidate = f'import torch\nSOURCE = r"""{EMPTY}"""\n'
    assert build.build(candidate).path == build.build(EMPTY).path
    assert build.cpp_of("import torch\nx = 1\n") is None
    nothing = build.build("import torch\nx = 1\n")
    assert nothing.ok and nothing.path is None and "no SOURCE" in nothing.message


def test_an_error_is_one_line_with_its_place(compiler, cache):
    made = build.build(EMPTY + "\n\nint x = nope;")
    assert (made.ok, made.kind, made.path) == (False, "compile", None)
    assert made.message.startswith("line 3: ") and "nope" in made.message and "\n" not in made.message
    assert "kernel.cpp:3" in made.log
    assert list(cache.iterdir()) == []


def test_other_failures_have_kinds(compiler, cache):
    assert build.build("int x;").kind == "symbol"
    missing = build.build('void gone(); extern "C" void pragma_kernel(void**) { gone(); }')
    assert missing.kind == "compile" and missing.message.startswith("undefined reference")


def test_a_slow_build_is_ended(cache):
    text = simd.text(["erf", "tanh", "pow", "sincos", "mem"])
    body = "".join(f"st(y + {i}, m_pow(m_erf(ld<Vec<float, 32>>(y + {i})), m_tanh(ld<Vec<float, 32>>(y))));" for i in range(300))
    start = time.perf_counter()
    made = build.build(f'{text}extern "C" void pragma_kernel(void** t) {{ auto y = (float*)t[0]; {body} }}', limit_s=1.0)
    assert made.kind == "timeout" and "1 s" in made.message
    assert time.perf_counter() - start < 10
    assert list(cache.iterdir()) == []


def test_no_compiler(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("CXX", raising=False)
    forget()
    made = build.build(EMPTY)
    assert (made.ok, made.kind) == (False, "no-compiler") and "install g++" in made.message
    assert build.compiler() is None and build.remarks(EMPTY) == ()
    forget()


def test_an_unwritable_cache_is_told(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PRAGMA_KERNEL_CACHE", str(tmp_path / "file" / "below"))
    assert build.build(EMPTY).kind == "cache"


def test_remarks_tell_vectorised_from_missed(compiler):
    told = {r["line"] - LOOPS.splitlines().index(simd.END) - 1: r for r in build.remarks(LOOPS)}
    kinds = {line: r["kind"] for line, r in told.items()}
    assert kinds == {4: "vectorised", 5: "missed", 6: "vectorised", 7: "missed"}
    assert "l_exp" in told[7]["message"] and "16 lanes" in told[6]["message"]
    assert {r["function"] for r in told.values()} == {"pragma_kernel"}


@pytest.mark.parametrize("lanes", [1, 16])
def test_remarks_read_generated_loops(compiler, lanes):
    """A loop over `V` counts by V's width; the scalar rest after a vector loop does not count."""
    source = f"""{simd.text(["mem", "libm"])}
extern "C" void pragma_kernel(void** t) {{
  const float* x = (const float*)t[0]; float* y = (float*)t[1];
  using V = Vec<float, {lanes}>;
  auto block = [&]<class T>(T, long i) {{
    st(y + i, ld<T>(x + i) / (ld<T>(x + i) + bc<T>(1)));
  }};
  long i = 0;
  for (; i + lanes<V> <= 1000; i += lanes<V>) block(V{{}}, i);
  for (; i < 1000; ++i) block(float{{}}, i);
}}
"""
    found = build.remarks(source)
    if lanes == 16:
        assert [r["kind"] for r in found] == ["vectorised"] and "16 lanes" in found[0]["message"]
    assert not any("16 lanes" in r["message"] for r in found) or lanes == 16


def test_the_bridge_is_built_ahead():
    assert build.bridge().ok and build.bridge().cached
