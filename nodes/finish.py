"""Finish: the winner is confirmed in a fresh process with new seeds, written, and remembered."""

import json
from pathlib import Path
from typing import Any

from langgraph.runtime import Runtime

from knowledge import runs
from nodes import benches, recall
from nodes.budget import full
from nodes.context import Context, settings
from nodes.progress import Clock
from nodes.record import Confirmation, record
from nodes.state import Attempt, State

CONFIRMATIONS = 4  # verified attempts that may be tried, from the fastest down, until one is confirmed


def finish(state: State, runtime: Runtime[Context]) -> State:
    """Confirms the best (on rejection the next best), writes best.py and run.json, stores the kernel, closes the bench."""
    context = settings(runtime)
    clock = Clock("finish", state, runtime)
    confirmed = _confirmed(state, context, clock)
    reason, message = _ending(state, confirmed)
    if confirmed.winner:
        recall.remember(state, context, clock, confirmed.winner, confirmed.evidence["speedup"]["eager"])
        runs.write(Path(state["folder"]) / "best.py", _source(state, confirmed.winner))
    done: State = {"stop_reason": reason, "message": message, "environment": benches.here(), "spend": clock.spent()}
    result = record({**state, **done}, context, confirmed)
    runs.write(Path(state["folder"]) / "run.json", json.dumps(result, indent=1))
    benches.close(state["run_id"])
    clock.tell("finish", run_id=state["run_id"], verified=result["verified"], stop_reason=reason, speedup=result["speedup"])
    return done


def _confirmed(state: State, context: Context, clock: Clock) -> Confirmation:
    """The fastest attempt that passes again, and the refusals before it; a fault of task or machine ends the search."""
    refused: list[dict[str, Any]] = []
    ladder = _ladder(state)[:CONFIRMATIONS]
    bench = benches.bench(state, context) if ladder else None
    if bench is None or not isinstance(bench, benches.Bench):
        return Confirmation(None, {}, refused, fault=("bad-task", bench["message"]) if bench else None)
    for row in ladder:
        clock.tell("confirm", n=row["n"], method=row["method"])
        verdict = bench.confirm(_source(state, row))
        if verdict["ok"]:
            return Confirmation(row, verdict["evidence"], refused)
        refused.append({"n": row["n"], "kind": verdict["kind"], "message": verdict["message"]})
        if verdict["kind"] == "environment":
            return Confirmation(None, {}, refused, fault=("environment", verdict["message"]))
    return Confirmation(None, {}, refused)


def _ending(state: State, confirmed: Confirmation) -> tuple[str, str]:
    """Why the run ends, and one line about it."""
    if confirmed.fault:
        return confirmed.fault
    if confirmed.refused and not confirmed.winner:
        return "not-confirmed", f"no verified kernel passed again: {confirmed.refused[0]['message']}"
    budget = full(state)
    spent = f"the budget of {budget} is spent" if budget else ""
    return state.get("stop_reason") or budget or "finished", state.get("message") or spent


def _ladder(state: State) -> list[Attempt]:
    """Verified attempts, each source once: the best first, then by the lower end of the speed-up, which noise cannot lift."""
    best = state.get("best")
    rows = [row for row in state.get("rows", []) if row["verdict"] == "ok"]
    rows.sort(key=lambda row: (best is not None and row["n"] == best["n"], row["speedup"]["low"]), reverse=True)
    return list({row["source"]: row for row in reversed(rows)}.values())[::-1]


def _source(state: State, row: Attempt) -> str:
    return runs.text_path(Path(state["folder"]), "sources", row["source"]).read_text()
