"""Paired, interleaved timing: samples of both sides alternate in random order, the median of their ratios carries the result.

A sample is one discarded warm call and then k calls that last three milliseconds or more. The process times itself; the judge's
own clock between the two messages around the sample is the lower bound of what counts. Speed-up = baseline time / candidate time.
"""

import random
import time
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from measure import quiet
from measure.channel import Message
from measure.host import Child
from measure.verdict import Rejected

MIN_PAIRS, MAX_PAIRS, LONG_PAIRS, CLEAN_PAIRS = 15, 60, 5, 8
LONG_NS, SAMPLE_NS = 200_000_000, 3_000_000
WIDTH = 0.02
RESAMPLES = 1000
SETTLE_S = 0.001
CALIBRATION_S = 0.25
LIE, SLACK_NS = 0.3, 500_000
DISTURBED, TENTH = 0.3, 0.1


@dataclass(frozen=True)
class Sample:
    """`ns` is the process's claim for all calls, `gap_ns` the judge's clock over the same stretch."""

    ns: int
    gap_ns: int
    calls: int
    cpu_s: float = 0.0
    forced: float = 0.0

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
            raise _failed(first)
        reply = self.child.wait(deadline, self.timeout, "sample")
        gap = time.perf_counter_ns() - start
        try:
            sample = Sample(int(reply["ns"]), gap, int(reply["calls"]), float(reply["usage"]["cpu_s"]), float(reply["forced"]))
        except (KeyError, TypeError, ValueError) as error:
            raise _failed(reply) from error
        if sample.ns <= 0 or not 0 < sample.calls <= calls:
            raise Rejected("clock", f"the candidate claims {sample.ns} ns for {sample.calls} calls")
        return sample


def _failed(reply: Message) -> Rejected:
    return Rejected("run", f"a timed call raised {reply.get('type')}: {reply.get('message')}", {"trace": reply.get("trace", [])})


@dataclass
class Pairs:
    """What a comparison gathered."""

    candidate: list[Sample] = field(default_factory=list)
    baseline: list[Sample] = field(default_factory=list)
    wall_s: float = 0.0
    machine_s: float = 0.0

    def ratios(self) -> np.ndarray:
        """Baseline over candidate, pair by pair."""
        return np.array([b.per_call / c.per_call for c, b in zip(self.candidate, self.baseline, strict=True)])

    def forced_share(self) -> float:
        """Share of samples during which some thread was thrown off a processor."""
        return float(np.mean([s.forced > 0 for s in (*self.candidate, *self.baseline)]))

    def clean(self) -> "Pairs":
        """Only the pairs in which neither side was thrown off a processor; all where they are too few."""
        both = [(c, b) for c, b in zip(self.candidate, self.baseline, strict=True) if not c.forced and not b.forced]
        if len(both) < CLEAN_PAIRS:
            return self
        return Pairs([c for c, _ in both], [b for _, b in both], self.wall_s, self.machine_s)


def interval(ratios: np.ndarray, seed: int = 0) -> tuple[float, float, float]:
    """Median and the 95 % bootstrap interval of the median."""
    picks = np.random.default_rng(seed).integers(0, len(ratios), (RESAMPLES, len(ratios)))
    low, high = np.quantile(np.median(ratios[picks], axis=1), [0.025, 0.975])
    return float(np.median(ratios)), float(low), float(high)


def fastest(pairs: Pairs, seed: int = 0) -> tuple[float, float, float]:
    """Ratio of the fastest tenths with its interval: what is left to say on a busy machine, where medians measure the others."""
    draw = np.random.default_rng(seed)
    tenths = []
    for side in (pairs.baseline, pairs.candidate):
        times = np.array([s.per_call for s in side])
        picked = times[draw.integers(0, len(times), (RESAMPLES, len(times)))]
        tenths.append((np.quantile(times, TENTH), np.quantile(picked, TENTH, axis=1)))
    low, high = np.quantile(tenths[0][1] / tenths[1][1], [0.025, 0.975])
    return float(tenths[0][0] / tenths[1][0]), float(low), float(high)


def compare(candidate: Side, baseline: Side, budget_s: float) -> dict[str, Any]:
    """The speed-up with its interval, both times in ms, and the noise around them; Rejected("clock") when a clock lies."""
    calls = calibrated(candidate), calibrated(baseline)
    pairs = gathered(candidate, baseline, calls, budget_s)
    if clock_lies(pairs):
        pairs = gathered(candidate, baseline, (calls[0] * 8, calls[1] * 8), budget_s)
        if reason := clock_lies(pairs):
            raise Rejected("clock", reason)
    kept = corrected(pairs).clean()
    disturbed = kept.forced_share() > DISTURBED
    median, low, high = fastest(kept) if disturbed else interval(kept.ratios())
    noise = _noise(pairs, (high - low) / median)
    noise |= {"kept": len(kept.baseline), "estimator": "fastest tenth" if disturbed else "median of paired ratios"}
    times = {name: float(np.quantile([s.per_call for s in side], TENTH if disturbed else 0.5)) / 1e6
             for name, side in (("candidate_ms", kept.candidate), ("baseline_ms", kept.baseline))}  # fmt: skip
    speedup = {"median": median, "low": low, "high": high, "n": len(kept.baseline)}
    return {"speedup": speedup, "noise": noise, "noisy": bool(noise["reasons"]), **times}


def calibrated(side: Side) -> int:
    """Calls per sample so that a sample lasts at least three milliseconds; undisturbed calls decide."""
    calls, floor, start = 1, float("inf"), time.monotonic()
    for _ in range(12):
        floor = min(floor, side.sample(calls).per_call)
        if time.monotonic() - start > CALIBRATION_S:
            break
        wanted = int(SAMPLE_NS / floor) + 1
        if floor > 20e6 or (wanted <= calls and calls > 1):
            break
        calls = max(calls, min(wanted, calls * 16))
    return calls


def gathered(candidate: Side, baseline: Side, calls: tuple[int, int], budget_s: float) -> Pairs:
    """Pairs until the interval is narrow, the budget is spent or there are enough."""
    pairs, start, machine = Pairs(), time.monotonic(), quiet.busy_s()
    while not enough(pairs, time.monotonic() - start, budget_s):
        order = [(candidate, calls[0], pairs.candidate), (baseline, calls[1], pairs.baseline)]
        random.shuffle(order)
        for side, count, samples in order:
            time.sleep(SETTLE_S)  # lets the other side's spinning threads go to rest
            samples.append(side.sample(count))
    pairs.wall_s, pairs.machine_s = time.monotonic() - start, quiet.busy_s() - machine
    return pairs


def enough(pairs: Pairs, spent_s: float, budget_s: float) -> bool:
    """The stopping rule; calls of a fifth of a second or a budget spent twice over make do with five pairs."""
    count = len(pairs.baseline)
    if count < LONG_PAIRS or count >= MAX_PAIRS:
        return count >= MAX_PAIRS
    long = max(pairs.candidate[-1].ns, pairs.baseline[-1].ns) > LONG_NS
    if count < (LONG_PAIRS if long or spent_s > 2 * budget_s else MIN_PAIRS):
        return False
    if spent_s > budget_s:
        return pairs.forced_share() <= DISTURBED or spent_s > 1.5 * budget_s
    if count % 5:
        return False
    median, low, high = interval(pairs.ratios())
    return (high - low) < WIDTH * median


def latency_ns(pairs: Pairs) -> float:
    """What the messages around a sample usually add to the judge's clock, as the trusted side shows it."""
    return max(0.0, float(np.median([s.gap_ns - s.ns for s in pairs.baseline])))


def corrected(pairs: Pairs) -> Pairs:
    """No sample counts for less than the judge's clock saw of it: a small lie gains nothing, a claim too long only harms itself."""
    usual = latency_ns(pairs)
    both = (pairs.candidate, pairs.baseline)
    candidate, baseline = ([replace(s, ns=max(s.ns, int(s.gap_ns - usual))) for s in side] for side in both)
    return Pairs(candidate, baseline, pairs.wall_s, pairs.machine_s)


def clock_lies(pairs: Pairs) -> str:
    """Why the candidate's claimed times are out of all proportion to the judge's clock, or an empty string."""
    gap = float(np.median([s.gap_ns for s in pairs.candidate]))
    claim = float(np.median([s.ns for s in pairs.candidate]))
    hidden = float(np.median([s.gap_ns - s.ns for s in pairs.candidate])) - latency_ns(pairs)
    if hidden <= LIE * gap + SLACK_NS:
        return ""
    return f"the candidate claims {claim / 1e6:.3f} ms per sample, the judge's clock saw {gap / 1e6:.3f} ms"


def _noise(pairs: Pairs, width: float) -> dict[str, Any]:
    samples = [*pairs.candidate, *pairs.baseline]
    others = max(0.0, pairs.machine_s - sum(s.cpu_s for s in samples)) / max(1e-9, pairs.wall_s)
    times = np.array([s.per_call for s in pairs.baseline])
    spread = float(np.subtract(*np.quantile(times, [0.75, 0.25])) / np.median(times))
    found = quiet.Noise(others, pairs.forced_share(), width, spread)
    return {"reasons": found.reasons(), "gathered": len(pairs.baseline), **found.rounded()}
