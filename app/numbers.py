"""How numbers are written for people: speed-ups with intervals, times with a fitting unit, shares, sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def times(value: float | None) -> str:
    """A ratio such as 3.42x; three significant digits, so that 0.98x and 1240x both read well."""
    if value is None:
        return "–"
    return f"{value:.2f}x" if abs(value) < 100 else f"{value:.0f}x"


def interval(speedup: Mapping[str, Any] | None) -> str:
    """`median [low, high]` of a measured ratio, or a dash where nothing was measured."""
    if not speedup or speedup.get("median") is None:
        return "–"
    low, high = speedup.get("low"), speedup.get("high")
    span = f" [{low:.2f}, {high:.2f}]" if low is not None and high is not None else ""
    return f"{times(float(speedup['median']))}{span}"


def seconds(value: float | None) -> str:
    """A duration given in seconds, in the unit that suits it."""
    if value is None:
        return "–"
    if value < 1e-3:
        return f"{value * 1e6:.1f} us"
    if value < 1:
        return f"{value * 1e3:.3g} ms"
    if value < 120:
        return f"{value:.1f} s"
    return f"{int(value // 60)} min {int(value % 60)} s"


def percent(share: float | None) -> str:
    """A share in 0..1 as a percentage."""
    return "–" if share is None else f"{share * 100:.0f} %"


def bytes_text(count: float | None) -> str:
    """A size in bytes, in binary units."""
    if count is None:
        return "–"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def worst(errors: Sequence[Mapping[str, Any]]) -> str:
    """The error that comes nearest to its limit, among all cases and outputs."""
    near = max(errors, key=lambda e: float(e.get("error") or 0) / max(float(e.get("limit") or 0), 1e-300))
    eager = near.get("reference_error")
    beside = f" (eager {eager:.3g})" if isinstance(eager, (int, float)) else ""
    where = f"case {near.get('case')}, output {near.get('output')}, the worst of {len(errors)}"
    return f"{float(near.get('error') or 0):.3g}{beside} of {float(near.get('limit') or 0):.3g} allowed; {where}"
