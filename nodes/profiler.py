"""Profiler: where the verified candidate's time goes, by the best counters that this machine gives."""

import json
import subprocess
from pathlib import Path
from typing import Any

from langgraph.runtime import Runtime

from backends.cpp import collect
from backends.cpp.ceilings import ceilings
from knowledge import runs
from knowledge.diagnosis import rank
from measure.bench import Bench
from measure.verdict import Verdict, failed
from nodes import benches
from nodes.context import Context, settings
from nodes.progress import Clock
from nodes.state import Attempt, State, Summary

Profile = dict[str, Any]


def profiler(state: State, runtime: Runtime[Context]) -> State:
    """Profiles the plan's candidate into profiles/<source>.json; the state keeps a summary."""
    clock = Clock("profiler", state, runtime)
    row = state["rows"][-1]
    bench = benches.bench(state, settings(runtime))
    if not isinstance(bench, benches.Bench):
        return {"stop_reason": "bad-task", "message": bench["message"], "spend": clock.spent()}
    folder = Path(state["folder"])
    text = runs.text_path(folder, "sources", row["source"]).read_text()
    made, verdict = profile(bench, text, state["facts"])
    if not made:
        clock.tell("note", message=f"attempt {row['n']} could not be profiled: {verdict['message']}")
        return {"profile": None, "rows": [_seconds(row, clock)], "spend": clock.spent()}
    runs.write(folder / "profiles" / f"{row['source']}.json", json.dumps(made, indent=1))
    summary = _summary(row["source"], made)
    clock.tell("profile", n=row["n"], **summary)
    return {"profile": summary, "rows": [_seconds(row, clock)], "spend": clock.spent()}


def profile(bench: Bench, candidate: str, facts: dict[str, float]) -> tuple[Profile, Verdict]:
    """A candidate's whole profile; {} and the verdict that says why when it could not be run."""
    verdict = bench.profile(candidate)
    if not verdict["ok"]:
        return {}, verdict
    try:
        roof = ceilings()
    except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
        return {}, failed("environment", f"the ceilings could not be measured: {error}")
    static = collect.static(candidate)
    made: Profile = collect.metrics(verdict["evidence"]["raw"], static, roof, facts.get("flops"), facts.get("bytes"))
    made["diagnosis"] = rank(made, facts)[0]
    return made, verdict


def _seconds(row: Attempt, clock: Clock) -> Attempt:
    return {"n": row["n"], "seconds": row.get("seconds", 0.0) + clock.seconds()}


def _summary(source: str, made: Profile) -> Summary:
    return {
        "source": source,
        "tier": made["tier"],
        "bottleneck": made["diagnosis"]["bottleneck"],
        "confidence": made["diagnosis"]["confidence"],
        "fraction": made["roofline"]["fraction"],
        "bound": made["roofline"]["bound"],
    }
