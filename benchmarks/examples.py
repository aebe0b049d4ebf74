"""`pragma optimize` on every example, one after the other: speed-ups with intervals, their geometric mean, and what it took.

python -m benchmarks.examples [--attempts N] [--only NAME ...] keeps each row in benchmarks/results/examples_cpp.json.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from math import exp, log
from pathlib import Path
from typing import Any

from measure.environment import fingerprint

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "benchmarks" / "results" / "examples_cpp.json"
Row = dict[str, Any]


def optimized(task: Path, attempts: int, home: str) -> Row:
    """The command's own JSON, or what it said instead."""
    command = [sys.executable, "-m", "app.cli", "optimize", str(task), "--attempts", str(attempts), "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "PRAGMA_HOME": home})
    if done.returncode > 1:
        return {"task": task.stem, "verified": False, "message": done.stderr.strip().splitlines()[-1:]}
    said = json.loads(done.stdout)
    fields = ("verified", "speedup", "attempts", "stop_reason", "sandbox_tier", "profile_tier")
    run = json.loads((Path(home) / "runs" / said["run_id"] / "run.json").read_text())
    best = run["best"] or {}
    extra = {
        "baseline": run["baseline"],
        "time_ms": run["time_ms"],
        "hints": best.get("hints"),
        "seconds": round(run["seconds"], 1),
    }
    return {"task": task.stem, **{k: said[k] for k in fields}, **extra}


def geometric_mean(rows: list[Row], baseline: str) -> float | None:
    found = [r["speedup"][baseline]["median"] for r in rows if r["verified"] and (r.get("speedup") or {}).get(baseline)]
    return exp(sum(map(log, found)) / len(found)) if found else None


def line(row: Row) -> str:
    shown = []
    for baseline in ("eager", "compile"):
        s = (row.get("speedup") or {}).get(baseline)
        shown.append(f"{s['median']:6.2f}x [{s['low']:.2f}, {s['high']:.2f}]" if s else f"{'–':>7}")
    return f"{row['task']:26} {'yes' if row['verified'] else 'NO':4} {shown[0]:24} {shown[1]:24} {row.get('seconds', 0):6.1f} s"


def kept(rows: list[Row], attempts: int) -> Row:
    """The record on disk with these rows in place of their older selves."""
    older = {r["task"]: r for r in json.loads(TARGET.read_text())["rows"]} if TARGET.exists() else {}
    merged = sorted({**older, **{r["task"]: r for r in rows}}.values(), key=lambda r: r["task"])
    means = {b: geometric_mean(merged, b) for b in ("eager", "compile")}
    record = {"environment": fingerprint(), "attempts": attempts, "geometric_mean": means, "rows": merged}
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(json.dumps(record, indent=1) + "\n")
    return record


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attempts", type=int, default=15)
    parser.add_argument("--only", nargs="*", default=[])
    wish = parser.parse_args()
    tasks = [p for p in sorted((ROOT / "examples").glob("*.py")) if not wish.only or p.stem in wish.only]
    print(f"{'task':26} {'ok':4} {'over eager':24} {'over torch.compile':24} {'took':>8}")
    rows = []
    with tempfile.TemporaryDirectory() as home:
        for task in tasks:
            rows.append({**optimized(task, wish.attempts, home), "date": datetime.now(UTC).isoformat(timespec="seconds")})
            print(line(rows[-1]), flush=True)
    record = kept(rows, wish.attempts)
    shown = {b: f"{m:.2f}x" if m else "–" for b, m in record["geometric_mean"].items()}
    print(f"all {len(record['rows'])} examples: geometric mean over eager {shown['eager']}, over torch.compile {shown['compile']}")


if __name__ == "__main__":
    main()
