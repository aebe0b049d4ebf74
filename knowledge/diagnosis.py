"""From a profile's metrics to its bottlenecks, the likeliest first, with the numbers that say so (rules: diagnosis.toml)."""

from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from knowledge.rules import evidence, holds, read

RULES = Path(__file__).with_name("diagnosis.toml")
FAULT_US = 0.25  # one first touch of a page, where it was not measured


class Diagnosis(TypedDict):
    """`confidence` is in 0..1; `evidence` holds the measured values beside their thresholds."""

    bottleneck: str
    confidence: float
    evidence: list[str]


def rank(profile: dict[str, Any], facts: dict[str, float]) -> list[Diagnosis]:
    """Every bottleneck whose rule holds, once each, the most confident first; never empty."""
    table = read(RULES)
    known = {**facts, **profile.get("metrics", {}), **_derived(profile, facts)}
    found: dict[str, Diagnosis] = {}
    for rule in sorted(table["rule"], key=lambda rule: -rule["confidence"]):
        if rule["bottleneck"] not in found and holds(rule["when"], known):
            why = evidence(rule["when"], known)
            found[rule["bottleneck"]] = Diagnosis(bottleneck=rule["bottleneck"], confidence=rule["confidence"], evidence=why)
    return list(found.values())


def _derived(profile: dict[str, Any], facts: dict[str, float]) -> dict[str, float | None]:
    """Percentages that no tool prints, and whether the data lies between L2 and memory, where no roof was measured."""
    metrics, roofs, line = (profile.get(part) or {} for part in ("metrics", "ceilings", "roofline"))
    wall_us = metrics["wall_ms"] * 1000 if metrics.get("wall_ms") else None
    loops = _sum(metrics.get("loops_vectorised"), metrics.get("loops_missed"))
    fraction, size, last = line.get("fraction"), facts.get("bytes"), roofs.get("llc_bytes")
    return {
        "fault_pct": _percent(metrics.get("minor_faults"), wall_us, roofs.get("page_fault_us", FAULT_US)),
        "region_pct": _percent(roofs.get("parallel_region_us"), wall_us),
        "missed_pct": _percent(metrics.get("loops_missed"), loops),
        "roof_pct": None if fraction is None else 100 * fraction,
        "write_pct": _percent(facts.get("output_bytes"), size),
        "in_last_cache": None if size is None or last is None else int(line.get("memory_roof") == "triad" and size < last),
    }


def _sum(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None else left + right


def _percent(part: float | None, whole: float | None, each: float = 1.0) -> float | None:
    return None if part is None or not whole else 100 * part * each / whole
