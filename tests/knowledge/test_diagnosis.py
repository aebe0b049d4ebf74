"""Diagnosis over recorded profiles (metrics of real kernels, rounded): the bottleneck, and the numbers that say so."""

import pytest

from knowledge.diagnosis import RULES, rank
from knowledge.methods import RULES as METHODS
from knowledge.rules import evidence, holds, read

FACTS = {"bytes": 64_000_000, "output_bytes": 32_000_000, "flops": 80_000_000, "contraction": 0, "online": 0, "divisions": 0}
QUIET = {
    "wall_ms": 10.0,
    "threads": 2,
    "cpu_utilisation": 0.99,
    "involuntary_switches": 0.1,
    "minor_faults": 0,
    "packed_pct": 95.0,
    "pct_triad": 30.0,
    "pct_fma": 5.0,
}
CEILINGS = {"page_fault_us": 0.25, "parallel_region_us": 2.0, "llc_bytes": 32 << 20}


def _profile(fraction=0.3, **metrics):
    line = {"fraction": fraction, "memory_roof": "triad"}
    return {"metrics": {**QUIET, **metrics}, "roofline": line, "ceilings": CEILINGS}


@pytest.mark.parametrize(
    ("profile", "facts", "expected"),
    [
        (_profile(packed_pct=3.0), {}, "not-vectorised"),
        (_profile(packed_pct=None, loops_vectorised=1, loops_missed=4), {}, "not-vectorised"),
        (_profile(minor_faults=7800), {}, "page-faults"),
        (_profile(0.75, pct_triad=75.0), {}, "dram-bandwidth"),
        (_profile(0.95, pct_triad=95.0), {}, "at-the-roof"),
        (_profile(0.95, pct_triad=95.0, minor_faults=7800), {}, "page-faults"),
        (_profile(0.95, pct_triad=95.0), {"bytes": 16_000_000}, "dram-bandwidth"),
        (_profile(0.95, pct_fma=95.0), {}, "at-the-roof"),
        (_profile(wall_ms=0.008), {"bytes": 8000, "output_bytes": 4000}, "overhead"),
        (_profile(0.8, pct_fma=80.0), {}, "compute-bound"),
        (_profile(pct_fma=20.0), {"contraction": 1}, "cache"),
        (_profile(cpu_utilisation=0.55), {}, "load-balance"),
        (_profile(), {"output_bytes": 0}, "instruction-parallelism"),
    ],
)
def test_likeliest(profile, facts, expected):
    ranked = rank(profile, {**FACTS, **facts})
    assert ranked[0]["bottleneck"] == expected
    assert ranked[0]["evidence"]
    assert [found["confidence"] for found in ranked] == sorted((found["confidence"] for found in ranked), reverse=True)
    assert len({found["bottleneck"] for found in ranked}) == len(ranked)


def test_evidence_quotes_the_measured_number():
    found = rank(_profile(0.75, pct_triad=75.25), FACTS)[0]
    assert "pct_triad 75.25 (>= 60)" in found["evidence"]


def test_absent_metrics_are_unknown_not_zero():
    assert [found["bottleneck"] for found in rank({"metrics": {}}, FACTS)] == ["unknown"]
    assert not holds({"packed_pct": "< 50"}, {"packed_pct": None})
    assert holds({"packed_pct": "< 50"}, {"packed_pct": 0})
    assert evidence({"gbs": "> 1"}, {"gbs": 12.34567}) == ["gbs 12.35 (> 1)"]


def test_every_bottleneck_has_its_methods_and_every_method_exists():
    methods = {method["name"] for method in read(METHODS)["method"]}
    table = read(METHODS)["bottleneck"]
    assert {rule["bottleneck"] for rule in read(RULES)["rule"]} == set(table)
    for row in table.values():
        assert {*row["try"], *row["forbid"]} <= methods
        assert not set(row["try"]) & set(row["forbid"])
