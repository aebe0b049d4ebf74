"""Judging a round: correctness, then time, then counters; a difference within the noise is no difference."""

import math
from typing import Any, Literal

from nodes.state import Outcome, Prediction, Speedup

TIE = 1.03  # a ratio below this is a tie, whatever the intervals say
WIDE = 1.5  # an interval whose ends differ by more than this says little about its median
ENOUGH = 0.5  # a prediction holds when its metric moved by at least this share of the predicted amount


def compare(new: Speedup, old: Speedup) -> Literal["faster", "slower", "tie"]:
    """Two speed-ups over the same baseline; they differ when each median lies outside the other's interval."""
    if _above(new, old):
        return "faster"
    return "slower" if _above(old, new) else "tie"


def better(new: Speedup, old: Speedup) -> bool:
    """Faster; or not told apart only because the old one was measured badly, and good for more at the least."""
    badly = old["high"] > WIDE * old["low"]
    return compare(new, old) == "faster" or (badly and compare(new, old) == "tie" and new["low"] > TIE * old["low"])


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


def _above(left: Speedup, right: Speedup) -> bool:
    apart = left["low"] > right["median"] and right["high"] < left["median"]
    return apart and left["median"] > TIE * right["median"]
