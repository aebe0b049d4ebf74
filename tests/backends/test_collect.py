"""The software tier: counts of a disassembly, the profile's numbers by hand, and n/a where a number is missing."""

import pytest

from backends.cpp import build, collect, simd

LISTING = """
0000000000001100 <pragma_kernel>:
    1100:\tvaddps %zmm0,%zmm1,%zmm2
    1106:\tvfmadd213ps (%rax),%zmm0,%zmm1
    110c:\tvmulss %xmm0,%xmm1,%xmm2
    1110:\tvdivpd %ymm0,%ymm1,%ymm2
    1114:\tvmovntps %zmm2,(%rdi)
    111a:\tcall   1050 <expf@plt>
    111f:\tadd    $0x10,%rax
    1123:\tret
"""
ROOF = {"triad_gbs": 20.0, "fma_gflops": 200.0, "l2_gbs": 300.0, "cores": 2, "l2_bytes": 1 << 20}
RAW = {
    "calls": 10, "wall_s": 0.002, "cpu_s": 0.003, "threads": 2, "bytes": 20_000_000, "minor_faults": 3.0, "major_faults": 0.0,
    "voluntary_switches": 1.0, "involuntary_switches": 0.0,
}  # fmt: skip
STATIC = {"loops_vectorised": 2, "loops_missed": 1, "packed_pct": 75.0, "remarks": ["missed, line 4: why"], "instruction_mix": None}


def test_the_mix_of_a_listing():
    made = collect.mix(LISTING)
    assert (made["packed_pct"], made["fma_count"], made["division_count"], made["streaming_stores"]) == (75.0, 1, 1, 1)
    assert made["vector_bytes"] == 64 and made["instruction_mix"]["instructions"] == 8 and made["instruction_mix"]["call"] == 1


def test_no_arithmetic_is_not_zero_percent():
    assert collect.mix("    1: ret\n")["packed_pct"] is None


def test_the_mix_reads_arm():
    made = collect.mix("   40:\tfmla v0.4s, v1.4s, v2.4s\n   44:\tfadd s0, s1, s2\n   48:\tstnp q0, q1, [x0]\n")
    assert (made["packed_pct"], made["fma_count"], made["streaming_stores"]) == (50.0, 1, 1)


def test_the_numbers_of_a_profile():
    made = collect.metrics(RAW, STATIC, ROOF, 1e7, None)
    found = made["metrics"]
    assert found["wall_ms"] == pytest.approx(2.0) and found["cpu_utilisation"] == pytest.approx(0.75)
    assert found["gbs"] == pytest.approx(10.0) and found["pct_triad"] == pytest.approx(50.0)
    assert found["gflops"] == pytest.approx(5.0) and found["pct_fma"] == pytest.approx(2.5)
    assert found["arithmetic_intensity"] == pytest.approx(0.5) and found["minor_faults"] == 3.0
    roof = made["roofline"]
    assert (roof["bound"], roof["unit"], roof["memory_roof"]) == ("memory", "GFLOP/s", "triad")
    assert roof["roof"] == pytest.approx(10.0) and roof["fraction"] == pytest.approx(0.5)
    assert made["remarks"] == STATIC["remarks"] and made["tier"] == "cpu-software" and made["how_to_lift"]


def test_missing_numbers_stay_missing():
    made = collect.metrics({**RAW, "wall_s": None}, STATIC, ROOF, None, None)
    assert made["metrics"]["gbs"] is None and made["metrics"]["gflops"] is None and made["roofline"]["fraction"] is None
    assert collect.metrics(RAW, STATIC, ROOF, None, None)["roofline"]["unit"] == "GB/s"


def test_work_above_the_ridge_is_bound_by_arithmetic():
    roof = collect.metrics(RAW, STATIC, ROOF, 1e9, 20_000_000)["roofline"]
    assert roof["bound"] == "compute" and roof["roof"] == 200.0


def test_small_work_has_the_cache_for_its_roof():
    roof = collect.metrics({**RAW, "bytes": 100_000}, STATIC, ROOF, None, None)["roofline"]
    assert (roof["memory_roof"], roof["roof"]) == ("l2", 300.0)


def test_static_facts_of_a_kernel(compiler):
    body = """
extern "C" void pragma_kernel(void** t) {
  using V = Vec<float, 16>;
  auto x = (float*)t[0];
  for (int i = 0; i < 4096; i += lanes<V>) stream(x + i, ld<V>(x + i) * ld<V>(x + i) + ld<V>(x));
}
"""
    text = simd.text(["stream"]) + body
    made = collect.static(text)
    assert (made["loops_vectorised"], made["loops_missed"]) == (1, 0)
    if made["instruction_mix"] is None:
        pytest.skip("no objdump")
    assert made["packed_pct"] == 100.0 and made["fma_count"] >= 1 and made["streaming_stores"] >= 1
    assert collect.static(f'import torch\nSOURCE = r"""{text}"""\n') == {**made, "remarks": collect.static(text)["remarks"]}


def test_without_objdump_the_share_is_unknown(monkeypatch):
    source = 'extern "C" void pragma_kernel(void** t) { auto x = (float*)t[0]; for (int i = 0; i < 64; i++) x[i] *= 2; }'
    before = collect.static(source)  # compiled and asked now, while there is a PATH
    monkeypatch.setenv("PATH", "/nonexistent")
    made = collect.static(source)
    assert made["packed_pct"] is None and made["instruction_mix"] is None
    assert made["loops_vectorised"] == before["loops_vectorised"]


def test_a_candidate_without_source_has_no_static_facts():
    made = collect.static("import torch\n")
    assert made["loops_vectorised"] is None and made["packed_pct"] is None and made["remarks"] == []


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        ("   <not supported>      instructions\n", "no hardware counters"),
        ("   <not counted>      instructions\n", "perf_event_paranoid"),
        ("Access to performance monitoring and observability operations is limited.\n", "perf_event_paranoid"),
        ("       1,234,567      instructions\n", "hardware counters answer"),
    ],
)
def test_how_to_lift_the_tier(answer, word):
    assert word in collect._lift(answer)


def test_the_tier_is_told():
    name, lift = collect.tier()
    assert name == "cpu-software" and len(lift.splitlines()) == 1
    assert build.compiler()
