"""Paired, interleaved timing: samples of both sides alternate in random order, the median of their ratios carries the result.

A sample is one discarded warm call and then k calls that last a millisecond or more. The process times itself; the judge's
own clock between the two messages around the sample must agree. Speed-up = baseline time / candidate time.
"""

import random
import time
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from measure.host import Child
from measure.verdict import Rejected

MIN_PAIRS, MAX_PAIRS, LONG_PAIRS = 15, 60, 5
LONG_NS, CHEAP_NS = 200_000_000, 100_000
WIDTH = 0.02
RESAMPLES = 1000
SETTLE_S = 0.001
TOLERANCE, SLACK_NS = 0.05, 300_000


@dataclass(frozen=True)
class Sample:
    """`ns` is the process's claim for all calls, `gap_ns` the judge's clock over the same stretch."""

    ns: int
    gap_ns: int
    calls: int
    usage: dict[str, float]

    @property
    def per_call(self) -> float:
        return self.ns / self.calls


class Side(Protocol):
    """Something that can be sampled."""

    def sample(self, calls: int) -> Sample: ...


@dataclass(frozen=True)
class ChildSide:
    """A worker process with a loaded model and buffers."""

    child: Child
    which: str
    timeout: float

    def sample(self, calls: int) -> Sample:
        """One sample; Rejected when the process fails, dies or talks nonsense."""
        deadline = time.monotonic() + self.timeout
        first = self.child.ask({"op": "sample", "which": self.which, "calls": calls}, self.timeout)
        start = time.perf_counter_ns()
        if "begin" not in first:
            raise Rejected("run", f"a timed call raised {first.get('type')}: {first.get('message')}", {"trace": first.get("trace", [])})
        reply = self.child.wait(deadline, self.timeout, "sample")
        gap = time.perf_counter_ns() - start
        if not reply.get("ok") or not isinstance(reply.get("ns"), int) or reply["ns"] <= 0:
            raise Rejected("run", f"a timed call raised {reply.get('type')}: {reply.get('message')}", {"trace": reply.get("trace", [])})
        return Sample(reply["ns"], gap, calls, reply["usage"])


@dataclass
class Pairs:
    """What a comparison gathered."""

    candidate: list[Sample] = field(default_factory=list)
    baseline: list[Sample] = field(default_factory=list)
    wall_s: float = 0.0
    machine_s: float = 0.0

    @property
    def ratios(self) -> np.ndarray:
        return np.array([b.per_call / c.per_call for c, b in zip(self.candidate, self.baseline, strict=True)])


def interval(ratios: np.ndarray, seed: int = 0) -> tuple[float, float, float]:
    """Median and the 95 % bootstrap interval of the median."""
    picks = np.random.default_rng(seed).integers(0, len(ratios), (RESAMPLES, len(ratios)))
    low, high = np.quantile(np.median(ratios[picks], axis=1), [0.025, 0.975])
    return float(np.median(ratios)), float(low), float(high)


def compare(candidate: Side, baseline: Side, budget_s: float) -> dict[str, Any]:
    """The speed-up with its interval, both times in ms, and the noise around them; Rejected("clock") when a clock lies."""
    calls = calibrated(candidate), calibrated(baseline)
    pairs = gathered(candidate, baseline, calls, budget_s)
    if clock_lies(pairs):
        pairs = gathered(candidate, baseline, (calls[0] * 8, calls[1] * 8), budget_s)
        if reason := clock_lies(pairs):
            raise Rejected("clock", reason)
    median, low, high = interval(pairs.ratios)
    noise = noise_of(pairs, (high - low) / median)
    return {"speedup": {"median": median, "low": low, "high": high, "n": len(pairs.ratios)}, "noise": noise,
            "candidate_ms": _milliseconds(pairs.candidate), "baseline_ms": _milliseconds(pairs.baseline), "noisy": bool(noise["reasons"])}


def calibrated(side: Side) -> int:
    """Calls per sample so that a sample lasts at least a millisecond, two where a call is cheap."""
    calls = 1
    for _ in range(4):
        per_call = min(side.sample(calls).per_call for _ in range(2))
        wanted = max(1, round((2e6 if per_call < CHEAP_NS else 1e6) / per_call + 0.5))
        if wanted <= 1.5 * calls:
            break
        calls = min(wanted, calls * 64)
    return calls


def gathered(candidate: Side, baseline: Side, calls: tuple[int, int], budget_s: float) -> Pairs:
    """Pairs until the interval is narrow, the budget is spent or there are enough."""
    pairs, start, machine = Pairs(), time.monotonic(), busy_s()
    while not _enough(pairs, time.monotonic() - start, budget_s):
        order = [(candidate, calls[0], pairs.candidate), (baseline, calls[1], pairs.baseline)]
        random.shuffle(order)
        for side, count, samples in order:
            time.sleep(SETTLE_S)  # lets the other side's spinning threads go to rest
            samples.append(side.sample(count))
    pairs.wall_s, pairs.machine_s = time.monotonic() - start, busy_s() - machine
    return pairs


def _enough(pairs: Pairs, spent_s: float, budget_s: float) -> bool:
    count = len(pairs.baseline)
    if count < LONG_PAIRS:
        return False
    long = max(pairs.candidate[-1].ns, pairs.baseline[-1].ns) > LONG_NS
    least = LONG_PAIRS if long or spent_s > 2 * budget_s else MIN_PAIRS
    if count < least or count >= MAX_PAIRS:
        return count >= MAX_PAIRS
    if spent_s > budget_s:
        return True
    if count % 5:
        return False
    median, low, high = interval(pairs.ratios)
    return (high - low) < WIDTH * median


def clock_lies(pairs: Pairs) -> str:
    """Why the candidate's claimed times cannot be true by the judge's clock, or an empty string."""
    gap = float(np.median([s.gap_ns for s in pairs.candidate]))
    claim = float(np.median([s.ns for s in pairs.candidate]))
    usual = float(np.median([s.gap_ns - s.ns for s in pairs.baseline]))
    allowed = TOLERANCE * gap + SLACK_NS
    if abs(gap - claim - max(0.0, usual)) <= allowed:
        return ""
    return f"the candidate claims {claim / 1e6:.3f} ms per sample, the judge's clock saw {gap / 1e6:.3f} ms"


def busy_s() -> float:
    """Seconds that all processors of the machine have been busy or stolen since boot (0 where unknown)."""
    try:
        with open("/proc/stat") as file:
            ticks = [int(x) for x in file.readline().split()[1:9]]
    except (OSError, ValueError):
        return 0.0
    return (sum(ticks) - ticks[3] - ticks[4]) / 100.0


def noise_of(pairs: Pairs, width: float) -> dict[str, Any]:
    """The quiet-machine guard: what others took of the machine, forced switches per sample, the interval's width."""
    samples = [*pairs.candidate, *pairs.baseline]
    own = sum(s.usage["cpu_s"] for s in samples)
    others = max(0.0, pairs.machine_s - own) / max(1e-9, pairs.wall_s)
    switches = float(np.median([s.usage["involuntary_switches"] for s in samples]))
    spread = float(np.subtract(*np.quantile([s.per_call for s in pairs.baseline], [0.75, 0.25])) / np.median([s.per_call for s in pairs.baseline]))
    reasons = [text for text, bad in (
        (f"other processes used {others:.2f} cores", others > 0.5), (f"{switches:.0f} forced switches per sample", switches > 4),
        (f"the interval is {100 * width:.0f} % wide", width > 0.15), (f"the baseline spreads by {100 * spread:.0f} %", spread > 0.3)) if bad]
    return {"reasons": reasons, "other_cores": round(others, 3), "forced_switches": switches, "width": round(width, 4), "spread": round(spread, 4)}


def _milliseconds(samples: list[Sample]) -> float:
    return float(np.median([s.per_call for s in samples])) / 1e6
