"""The C++ target's facts agree with the code."""

import tomllib
from pathlib import Path

from backends.cpp import collect, loader
from sketch.hints import HINTS

SPEC = tomllib.loads((Path(loader.__file__).parent / "spec.toml").read_text())


def test_flags_and_hints_are_the_code_s_own():
    assert SPEC["build"]["flags"] == loader.FLAGS
    assert set(SPEC["hints"]["supported"]) == set(HINTS)
    assert SPEC["tiers"]["collected"] == collect.SOFTWARE


def test_every_metric_collected_is_described():
    roof = {"triad_gbs": 1.0, "fma_gflops": 1.0, "l2_gbs": 1.0}
    nothing = dict.fromkeys(("packed_pct", "fma_count", "division_count", "streaming_stores", "vector_bytes"))
    fixed = {"loops_vectorised": 1, "loops_missed": 1, **nothing, "remarks": [], "instruction_mix": None}
    assert set(collect.metrics({}, fixed, roof, None, None)["metrics"]) == {m["name"] for m in SPEC["metric"]}
    assert all(m["meaning"] for m in SPEC["metric"])


def test_documents_are_public_addresses():
    assert all(d["url"].startswith("https://") and d["topic"] for d in SPEC["document"])
