"""Judging a round: correctness, then time, then counters; a difference within the noise is no difference."""

import math
from typing import Any, Literal

from nodes.state import Outcome, Prediction, Speedup

TIE = 0.03
ENOUGH = 0.5  # a prediction holds when its metric moved by at least this share of the predicted amount


def noise(new: Speedup, old: Speedup) -> float:
    """The relative difference of two medians that both intervals together could explain, at least the tie of 3 %."""
    return max(TIE, math.hypot(_half_width(new), _half_width(old)))


def compare(new: Speedup, old: Speedup) -> Literal["faster", "slower", "tie"]:
    """Two speed-ups over the same baseline, each measured in pairs with it."""
    ratio = new["median"] / old["median"] if old["median"] > 0 else math.inf
    margin = noise(new, old)
    return "faster" if ratio > 1 + margin else "slower" if ratio < 1 / (1 + margin) else "tie"


def moved(prediction: Prediction, now: dict[str, Any], before: dict[str, Any]) -> float | None:
    """The predicted metric's relative change; None when it was not measured on both sides."""
    new, old = now.get(prediction["metric"]), before.get(prediction["metric"])
    if new is None or old is None:
        return None
    if old == 0:
        return 0.0 if new == 0 else math.copysign(1.0, new)
    return (new - old) / abs(old)


def judge(new: Speedup, old: Speedup | None, prediction: Prediction | None, change: float | None) -> Outcome:
    """The outcome of a verified attempt against the attempt it started from."""
    if old is None:
        return "first"
    verdict = compare(new, old)
    held = prediction is not None and change is not None and _held(prediction, change)
    if verdict == "slower":
        return "worse"
    if verdict == "faster":
        return "confirmed" if held else "faster for another reason"
    return "moved but not faster" if held else "no effect"


def _held(prediction: Prediction, change: float) -> bool:
    signed = change if prediction["direction"] == "up" else -change
    return signed >= ENOUGH * prediction["by"]


def _half_width(speedup: Speedup) -> float:
    low, high, median = speedup.get("low", speedup["median"]), speedup.get("high", speedup["median"]), speedup["median"]
    return (high - low) / 2 / median if median > 0 else 0.0
