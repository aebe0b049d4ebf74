"""The report: one run's record (run.json and the files beside it) becomes one self-contained HTML page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, select_autoescape

from app import plots
from app.numbers import bytes_text, interval, percent, seconds, times, worst

PLAIN_ENVIRONMENT = ("cpu", "cores", "os", "python", "torch", "triton", "compiler", "digest")
ONLY_VERIFIED = ("seeds of the confirmation", "largest error", "machine while timing")


def render(run: dict[str, Any], folder: Path) -> str:
    """`folder` is the run's folder: best.py, sources/ and profiles/ are read from it when present."""
    environment = Environment(loader=PackageLoader("app", "."), autoescape=select_autoescape(["html", "j2"]))
    environment.filters.update(interval=interval, times=times, seconds=seconds, percent=percent, bytes_text=bytes_text)
    return environment.get_template("report.html.j2").render(**_page(run, folder))


def write(run: dict[str, Any], folder: Path) -> Path:
    """Write report.html into the run's folder; OSError is the caller's to explain."""
    path = folder / "report.html"
    path.write_text(render(run, folder), encoding="utf-8")
    return path


def _page(run: dict[str, Any], folder: Path) -> dict[str, Any]:
    rows = run.get("rows") or []
    best_row = _best_row(run)
    profile = run.get("profile") or _profile(folder, best_row)
    return {
        "run": run,
        "name": Path(str(run.get("task") or "task")).stem,
        "rows": rows,
        "best_row": best_row,
        "speedup": run.get("speedup") or {},
        "rival": rival(run),
        "ladder": plots.ladder(rows),
        "roofline": _roofline(run, rows, folder, profile),
        "roof": run.get("roofline") or profile.get("roofline") or {},
        "diagnosis": run.get("diagnosis") or profile.get("diagnosis") or {},
        "metrics": {
            k: v for k, v in (profile.get("metrics") or {}).items() if isinstance(v, (int, float)) and not isinstance(v, bool)
        },
        "how_to_lift": profile.get("how_to_lift") or "",
        "source": _source(folder),
        "environment": _environment(run.get("environment") or {}),
        "audit": _audit(run, best_row),
        "commands": _commands(run),
    }


def rival(run: dict[str, Any]) -> tuple[str, dict[str, float]] | None:
    """The faster baseline, i.e. the one with the smaller speed-up: the headline quotes it."""
    measured = {name: s for name, s in (run.get("speedup") or {}).items() if isinstance(s, dict) and s.get("median")}
    if not measured:
        return None
    name = min(measured, key=lambda n: float(measured[n]["median"]))
    return name, measured[name]


def _best_row(run: dict[str, Any]) -> dict[str, Any] | None:
    """The attempt that was confirmed; in a record that does not say which, the fastest verified one."""
    timed = [r for r in run.get("rows") or [] if plots.passed(r) and r.get("speedup")]
    named = (run.get("best") or {}).get("n")
    fallback = max(timed, key=lambda r: float(r["speedup"]["median"])) if timed else None
    return next((r for r in timed if r.get("n") == named), fallback)


def _profile(folder: Path, row: dict[str, Any] | None) -> dict[str, Any]:
    path = folder / "profiles" / f"{(row or {}).get('source')}.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _roofline(run: dict[str, Any], rows: list[dict[str, Any]], folder: Path, profile: dict[str, Any]) -> str:
    ceilings = profile.get("ceilings") or (run.get("roofline") or {}).get("ceilings") or {}
    seed = next((r for r in rows if plots.passed(r)), None)
    points = [
        point
        for point in (_point("seed", _profile(folder, seed)), _point("best", profile or {"roofline": run.get("roofline")}))
        if point is not None
    ]
    if len(points) == 2 and seed and seed.get("source") == (_best_row(run) or {}).get("source"):
        points = points[1:]
    triad, fma, cache = (float(ceilings.get(key) or 0) for key in ("triad_gbs", "fma_gflops", "l2_gbs"))
    return plots.roofline(points, triad, fma, cache)


def _point(label: str, profile: dict[str, Any]) -> plots.Point | None:
    metrics, roof = profile.get("metrics") or {}, profile.get("roofline") or {}
    intensity = metrics.get("arithmetic_intensity") or roof.get("intensity")
    gflops = metrics.get("gflops")
    if not gflops and roof.get("unit") == "GFLOP/s":
        gflops = roof.get("attained")
    return plots.Point(label, float(intensity), float(gflops), label) if intensity and gflops else None


def _source(folder: Path) -> list[str]:
    try:
        return (folder / "best.py").read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return []


def _environment(found: dict[str, Any]) -> list[tuple[str, str]]:
    ordered = [k for k in PLAIN_ENVIRONMENT if k in found] + [k for k in found if k not in PLAIN_ENVIRONMENT]
    return [(key.replace("_", " "), _plain(found[key])) for key in ordered]


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} {_plain(v)}" for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(_plain(v) for v in value)
    return str(value)


def _audit(run: dict[str, Any], best_row: dict[str, Any] | None) -> list[tuple[str, str]]:
    checked = run.get("confirmation") or {}
    stop = f"{run.get('stop_reason') or 'unknown'}" + (f": {run['message']}" if run.get("message") else "")
    facts = [
        ("verified", "yes, confirmed in a fresh process with new seeds" if run.get("verified") else "no"),
        ("precision policy", str(run.get("precision") or "strict")),
        ("sandbox tier", str(run.get("sandbox_tier") or "unknown")),
        ("profile tier", str(run.get("profile_tier") or "none")),
        ("seeds of the confirmation", _plain(checked.get("seeds") or "–")),
        ("largest error", worst(checked["errors"]) if checked.get("errors") else "–"),
        (
            "weak null candidates",
            _plain((run.get("admission") or {}).get("weak") or "none passed: the inputs tell right from wrong"),
        ),
        ("machine while timing", _noise(checked)),
        (
            "refused at confirmation",
            "; ".join(f"attempt {r.get('n')}: {r.get('kind')}" for r in run.get("refused") or []) or "none",
        ),
        ("attempts", f"{run.get('attempts', 0)}, of which {_passes(run)} verified"),
        ("stopped because", stop),
    ]
    if best_row:
        facts.append(("best attempt", f"{best_row.get('n')} ({best_row.get('method') or 'seed'})"))
    return facts if run.get("verified") else [fact for fact in facts if fact[0] not in ONLY_VERIFIED]


def _noise(checked: dict[str, Any]) -> str:
    if not checked.get("noisy"):
        return "quiet enough"
    reasons = [f"{name}: {', '.join(found.get('reasons') or [])}" for name, found in (checked.get("noise") or {}).items() if found]
    return "busy, treat the numbers with care" + (f" ({'; '.join(reasons)})" if reasons else "")


def _passes(run: dict[str, Any]) -> int:
    return sum(plots.passed(r) for r in run.get("rows") or [])


def _commands(run: dict[str, Any]) -> list[str]:
    task, precision = str(run.get("task") or "TASK.py"), str(run.get("precision") or "strict")
    best = (run.get("best") or {}).get("path") or "best.py"
    check = [f"pragma verify {task} {best} --precision {precision}", f"pragma profile {task} {best}"] if run.get("verified") else []
    return [f"pragma optimize {task} --backend {run.get('backend') or 'cpp'} --precision {precision}", *check]
