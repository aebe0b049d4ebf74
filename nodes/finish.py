"""Finish: the winner is confirmed in a fresh process with new seeds, written, and remembered."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from langgraph.runtime import Runtime

from knowledge import runs
from measure.verdict import Verdict
from nodes import benches, recall
from nodes.budget import full
from nodes.context import Context, settings
from nodes.progress import Clock
from nodes.state import Attempt, State

CONFIRMATIONS = 4  # verified attempts that may be tried, from the fastest down, until one is confirmed


def finish(state: State, runtime: Runtime[Context]) -> State:
    """Confirms the best (on rejection the next best), writes best.py and run.json, stores the kernel, closes the bench."""
    context = settings(runtime)
    clock = Clock("finish", state, runtime)
    reason = state.get("stop_reason") or full(state, context) or "finished"
    winner, verdict, refused = _confirmed(state, context, clock)
    if winner and verdict:
        recall.remember(state, context, clock, winner, verdict["evidence"]["speedup"]["eager"])
        runs.write(Path(state["folder"]) / "best.py", _source(state, winner))
    done: State = {"stop_reason": reason, "spend": clock.spent()}
    result = _result({**state, **done}, context, winner, verdict, refused)
    runs.write(Path(state["folder"]) / "run.json", json.dumps(result, indent=1))
    benches.close(state["run_id"])
    clock.tell("finish", run_id=state["run_id"], verified=winner is not None, stop_reason=reason, speedup=result["speedup"])
    return done


def _confirmed(state: State, context: Context, clock: Clock) -> tuple[Attempt | None, Verdict | None, list[dict[str, Any]]]:
    """The fastest attempt that passes again, with its verdict, and the refusals before it."""
    refused: list[dict[str, Any]] = []
    ladder = _ladder(state)
    bench = benches.bench(state, context) if ladder else None
    if bench is None or not isinstance(bench, benches.Bench):
        return None, None, refused
    for row in ladder[:CONFIRMATIONS]:
        clock.tell("confirm", n=row["n"], method=row["method"])
        verdict = bench.confirm(_source(state, row))
        if verdict["ok"]:
            return row, verdict, refused
        refused.append({"n": row["n"], "kind": verdict["kind"], "message": verdict["message"]})
    return None, None, refused


def _ladder(state: State) -> list[Attempt]:
    """Verified attempts: the best first, then by speed-up, each source once."""
    best = state.get("best")
    rows = [row for row in state.get("rows", []) if row["verdict"] == "ok"]
    rows.sort(key=lambda row: (best is not None and row["n"] == best["n"], row["speedup"]["median"]), reverse=True)
    return list({row["source"]: row for row in reversed(rows)}.values())[::-1]


def _source(state: State, row: Attempt) -> str:
    return runs.text_path(Path(state["folder"]), "sources", row["source"]).read_text()


def _result(
    state: State, context: Context, winner: Attempt | None, verdict: Verdict | None, refused: list[dict[str, Any]]
) -> dict[str, Any]:
    """run.json: everything that the report and --json say."""
    folder = Path(state["folder"])
    profile = runs.load(folder / "profiles" / f"{winner['source']}.json") if winner else {}
    evidence = verdict["evidence"] if verdict else {}
    best = {"path": str(folder / "best.py"), "sha256": winner["source"]} if winner else None
    return {
        "run_id": state["run_id"],
        "task": state["task"],
        "notes": state.get("notes", ""),
        "backend": context.backend,
        "model": context.model,
        "precision": context.precision,
        "verified": winner is not None,
        "speedup": evidence.get("speedup", {}),
        "time_ms": evidence.get("time_ms", {}),
        "attempts": len(state.get("rows", [])),
        "best": {**best, "n": winner["n"], "method": winner["method"], "hints": winner["hints"]} if best and winner else None,
        "stop_reason": state["stop_reason"],
        "message": state.get("message", ""),
        "sandbox_tier": evidence.get("sandbox_tier"),
        "profile_tier": profile.get("tier"),
        "spend": state["spend"],
        "rows": state.get("rows", []),
        "diagnosis": profile.get("diagnosis"),
        "roofline": profile.get("roofline"),
        "profile": profile or None,
        "admission": state.get("admission", {}),
        "confirmation": evidence,
        "refused": refused,
        "known": state.get("known"),
        "sketch": state.get("sketch", ""),
        "environment": state.get("environment", {}),
        "context": context.model_dump(),
        "started": state["started"],
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": state["spend"]["seconds"],
    }
