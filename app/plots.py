"""The report's two plots as inline SVG: the ladder of attempts (speed-up over eager by attempt) and the roofline (log-log).

Colours come from the page's CSS variables, so that both follow dark mode; every mark carries a <title> as its tooltip.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

WIDTH, HEIGHT = 720, 320
LEFT, RIGHT, TOP, BOTTOM = 62, 20, 18, 46


@dataclass(frozen=True)
class Axis:
    """Maps values to pixels, logarithmically; `low` and `high` are positive values, `start` and `end` pixels."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        share = (math.log10(max(value, 1e-12)) - math.log10(self.low)) / (math.log10(self.high) - math.log10(self.low))
        return self.start + share * (self.end - self.start)


@dataclass(frozen=True)
class Point:
    """One kernel on the roofline: arithmetic intensity in FLOP/byte, attained rate in GFLOP/s."""

    label: str
    intensity: float
    gflops: float
    css: str


def ladder(rows: list[dict[str, Any]]) -> Markup:
    """Speed-up over eager of each attempt with its interval, and the best so far as a step line; empty without a timed row."""
    timed = [r for r in rows if r.get("speedup")]
    if not timed:
        return Markup("")
    high = max(_bounds(r)[1] for r in timed)
    low = min(_bounds(r)[0] for r in timed)
    y = Axis(min(0.8, low / 1.15), max(1.25, high * 1.15), HEIGHT - BOTTOM, TOP)
    xs = {r["n"]: _column(i, len(rows)) for i, r in enumerate(rows)}
    parts = [_grid_y(y, _nice(y.low, y.high), "×"), _eager_line(y), _best_line(rows, xs, y)]
    parts += [_attempt(r, xs[r["n"]], y) for r in rows]
    parts += [_ladder_labels(rows, xs), _axis_titles("attempt", "speed-up over eager")]
    return _svg("Speed-up over eager by attempt", parts)


def roofline(points: list[Point], triad_gbs: float, fma_gflops: float, l2_gbs: float = 0) -> Markup:
    """Memory roof (triad, GB/s), compute roof (fused multiply-add, GFLOP/s), perhaps the second-level cache's, and the points."""
    points = [p for p in points if p.intensity > 0 and p.gflops > 0]
    if not points or triad_gbs <= 0 or fma_gflops <= 0:
        return Markup("")
    ridge = fma_gflops / triad_gbs
    across = [ridge / 8, ridge * 8, *(p.intensity / 3 for p in points), *(p.intensity * 3 for p in points)]
    x = Axis(min(across), max(across), LEFT, WIDTH - RIGHT)
    y = Axis(min([triad_gbs * x.low, *(p.gflops / 2 for p in points)]), fma_gflops * 2.2, HEIGHT - BOTTOM, TOP)
    parts = [_grid_y(y, _decades(y), ""), _grid_x(x), _roof(x, y, ridge, triad_gbs, fma_gflops)]
    parts += [_cache_roof(x, y, l2_gbs, fma_gflops)] if l2_gbs > triad_gbs else []
    parts += [_mark(p, x, y) for p in points]
    return _svg("Roofline", [*parts, _axis_titles("arithmetic intensity, FLOP per byte", "GFLOP/s")])


def _svg(title: str, parts: list[str]) -> Markup:
    head = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}"><title>{escape(title)}</title>'
    return Markup(head + "".join(parts) + "</svg>")


def _bounds(row: dict[str, Any]) -> tuple[float, float]:
    s = row["speedup"]
    return float(s.get("low") or s["median"]), float(s.get("high") or s["median"])


def _column(i: int, count: int) -> float:
    return LEFT + (i + 0.5) * (WIDTH - LEFT - RIGHT) / max(count, 1)


def _nice(low: float, high: float) -> list[float]:
    steps = (0.1, 0.2, 0.5, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
    dense = (0.8, 0.9, 1.1, 1.2, 1.5) if high / low < 4 else ()
    return sorted({v for v in (*steps, *dense) if low <= v <= high})


def _decades(axis: Axis) -> list[float]:
    first, last = math.ceil(math.log10(axis.low)), math.floor(math.log10(axis.high))
    marks = [10.0**k for k in range(first, last + 1)]
    return (
        marks
        if len(marks) > 1
        else [m * f for m in (10.0 ** (first - 1), *marks) for f in (1, 2, 5) if axis.low <= m * f <= axis.high]
    )


def _number(value: float) -> str:
    return f"{value:.3g}" if value < 1e4 else f"{value:.0e}"


def _line(css: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{css}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(css: str, x: float, y: float, words: str, anchor: str = "middle", turn: float = 0) -> str:
    turned = f' transform="rotate({turn:.1f} {x:.1f} {y:.1f})"' if turn else ""
    return f'<text class="{css}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{turned}>{escape(words)}</text>'


def _grid_y(y: Axis, marks: list[float], unit: str) -> str:
    lines = [_line("grid", LEFT, y.at(m), WIDTH - RIGHT, y.at(m)) for m in marks]
    return "".join(lines + [_text("tick", LEFT - 8, y.at(m) + 4, _number(m) + unit, "end") for m in marks])


def _grid_x(x: Axis) -> str:
    lines = [_line("grid", x.at(m), TOP, x.at(m), HEIGHT - BOTTOM) for m in _decades(x)]
    return "".join(lines + [_text("tick", x.at(m), HEIGHT - BOTTOM + 18, _number(m)) for m in _decades(x)])


def _eager_line(y: Axis) -> str:
    return _line("one", LEFT, y.at(1.0), WIDTH - RIGHT, y.at(1.0))


def _best_line(rows: list[dict[str, Any]], xs: dict[int, float], y: Axis) -> str:
    path, best = "", 0.0
    for row in rows:
        x = xs[row["n"]]
        median = float(row["speedup"]["median"]) if row.get("speedup") and passed(row) else 0.0
        if median > best:
            path += f" H{x:.1f} V{y.at(median):.1f}" if path else f"M{x:.1f} {y.at(median):.1f}"
            best = median
    return f'<path class="climb" d="{path} H{WIDTH - RIGHT}"/>' if path else ""


def passed(row: dict[str, Any]) -> bool:
    """Whether the attempt's candidate was verified correct."""
    return row.get("verdict") == "ok"


def _attempt(row: dict[str, Any], x: float, y: Axis) -> str:
    tip = f"<title>{escape(_tooltip(row))}</title>"
    if not row.get("speedup"):
        foot = HEIGHT - BOTTOM - 10
        return f'<g class="failed">{tip}<path d="M{x - 5:.1f} {foot - 5} l10 10 m0 -10 l-10 10"/></g>'
    low, high = _bounds(row)
    at = y.at(float(row["speedup"]["median"]))
    css = "passed" if passed(row) else "failed"
    bar = f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y.at(low):.1f}" y2="{y.at(high):.1f}"/>'
    return f'<g class="{css}">{tip}{bar}<circle cx="{x:.1f}" cy="{at:.1f}" r="5"/></g>'


def _tooltip(row: dict[str, Any]) -> str:
    head = f"attempt {row.get('n')}: {row.get('method') or 'seed'}, {row.get('verdict')}"
    if row.get("speedup"):
        low, high = _bounds(row)
        return f"{head}, {row['speedup']['median']:.2f}x [{low:.2f}, {high:.2f}]"
    return f"{head} {row.get('message') or ''}".strip()


def _ladder_labels(rows: list[dict[str, Any]], xs: dict[int, float]) -> str:
    return "".join(_text("tick", xs[r["n"]], HEIGHT - BOTTOM + 18, str(r["n"])) for r in rows[:: max(1, len(rows) // 20)])


def _roof(x: Axis, y: Axis, ridge: float, triad_gbs: float, fma_gflops: float) -> str:
    start, knee, top = y.at(triad_gbs * x.low), x.at(ridge), y.at(fma_gflops)
    path = f'<path class="roof" d="M{x.start} {start:.1f} L{knee:.1f} {top:.1f} L{x.end} {top:.1f}"/>'
    slope = math.degrees(math.atan2(start - top, knee - x.start))
    memory = _text("label", (x.start + knee) / 2, (start + top) / 2 - 10, f"memory {triad_gbs:.1f} GB/s", turn=-slope)
    return path + memory + _text("label", WIDTH - RIGHT, top - 8, f"compute {fma_gflops:.0f} GFLOP/s", "end")


def _cache_roof(x: Axis, y: Axis, l2_gbs: float, fma_gflops: float) -> str:
    """The roof of data that stay in the second-level cache: points between it and the memory roof live there."""
    left, right = max(x.low, y.low / l2_gbs), fma_gflops / l2_gbs
    if right <= left:
        return ""
    tip = f"<title>second-level cache: {l2_gbs:.0f} GB/s</title>"
    path = f"M{x.at(left):.1f} {y.at(l2_gbs * left):.1f} L{x.at(right):.1f} {y.at(fma_gflops):.1f}"
    return f'<g>{tip}<path class="cache" d="{path}"/></g>' + _text(
        "tick", x.at(left) + 8, y.at(l2_gbs * left) - 10, "cache", "start"
    )


def _mark(point: Point, x: Axis, y: Axis) -> str:
    px, py = x.at(point.intensity), y.at(point.gflops)
    tip = f"<title>{escape(point.label)}: {point.gflops:.3g} GFLOP/s at {point.intensity:.3g} FLOP/byte</title>"
    dot = f'<g class="{escape(point.css)}">{tip}<circle cx="{px:.1f}" cy="{py:.1f}" r="6"/></g>'
    return dot + _text("label", px + 11, py + 5, point.label, "start")


def _axis_titles(below: str, beside: str) -> str:
    bottom = _text("axis", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, below)
    return bottom + _text("axis", 14, (TOP + HEIGHT - BOTTOM) / 2, beside, turn=-90)
