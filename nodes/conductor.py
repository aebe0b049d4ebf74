"""Conductor: what did the last change do, what holds the best kernel back, and what is tried next.

Repair on failure goes back to the best kernel and leaves the method that broke it; without a best one the plainest, then
the safest hints are tried. Optimising takes the next method of the decision table (knowledge/methods.toml) for the
bottlenecks of the best kernel's profile (knowledge/diagnosis.toml), without a profile the methods in their fixed order.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from langgraph.runtime import Runtime

from knowledge import runs
from knowledge.diagnosis import Diagnosis, rank
from knowledge.methods import SAFE, SEED, Choice, Search, Tried, choose, covered
from measure.task import TaskError
from nodes import outcome, recall
from nodes.budget import limits
from nodes.context import Context, settings
from nodes.lowering import candidate, sketch_of
from nodes.progress import Clock
from nodes.state import Attempt, Hints, Plan, Prediction, State
from sketch.values import Unsupported

FRUITLESS = 4  # attempts without a new best that follow a covered diagnosis before the search counts as converged
WRITING = ("build", "lint", "import", "init", "unsupported", "no-model-new")
RUNNING = ("run", "crash", "timeout", "memory", "hostile", "state")


def conductor(state: State, runtime: Runtime[Context]) -> State:
    """Judges the last attempt's outcome, then plans the next attempt or sets the stop reason."""
    context = settings(runtime)
    clock = Clock("conductor", state, runtime)
    row = state["rows"][-1]
    judged = cast(Attempt, {**row, **_judged(state, row, context)})
    rows = [*state["rows"][:-1], judged]
    if row["verdict"] != "ok" and row["method"] == "recall":
        recall.forget(state, context, row)
    best = state.get("best")
    profile = _profile(state, best["source"]) if best else {}
    ranked = rank(profile, state["facts"]) if profile else []
    changes = _next(state, rows, ranked)
    plan = changes.get("plan")
    clock.tell("outcome", n=row["n"], outcome=judged["outcome"], bottleneck=ranked[0]["bottleneck"] if ranked else "", plan=plan)
    return {**changes, "rows": [judged], "limits": limits(context), "spend": clock.spent()}


def _judged(state: State, row: Attempt, context: Context) -> Attempt:
    """The keys that judging adds to the row."""
    if row["verdict"] != "ok":
        return {"outcome": "failed", "reason": f"{row['reason']}; {_cause(row['verdict'])} failure"}
    base = next((other for other in state["rows"] if other["n"] == row["base"]), None)
    now, before = ({**_profile(state, r["source"]).get("metrics", {}), "time_ms": r["time_ms"]} if r else {} for r in (row, base))
    change = outcome.moved(row["prediction"], now, before) if row["prediction"] else None
    found = _profile(state, row["source"]).get("diagnosis", {}).get("bottleneck", "") if context.profile else ""
    said = outcome.judge(row["speedup"], base["speedup"] if base else None, row["prediction"], change)
    return {"outcome": said, "moved": change, "found": found}


def _cause(verdict: str) -> str:
    return "writing" if verdict in WRITING else "running" if verdict in RUNNING else "numeric"


def _next(state: State, rows: list[Attempt], ranked: list[Diagnosis]) -> State:
    """The next plan, or why there is none."""
    best = state.get("best")
    if best is None:
        return _repair(rows)
    if ranked and ranked[0]["bottleneck"] == "at-the-roof":
        return _stop("at-the-roof", "; ".join(ranked[0]["evidence"]))
    tried = [_tried(row) for row in rows]
    search = Search(sketch_of(state), best["hints"], ranked, state["facts"], tried)
    search = replace(search, novel=lambda hints: _novel(state, hints))
    if _fruitless(rows) >= FRUITLESS and covered(replace(search, tried=tried[:-FRUITLESS])):
        return _stop("converged", f"{_fruitless(rows)} attempts in a row brought nothing and the diagnosis is covered")
    choice = choose(search)
    if choice is None:
        return _stop("converged", "no method is left that was not tried")
    why = next(("; ".join(found["evidence"]) for found in ranked if found["bottleneck"] == choice.bottleneck), "next in order")
    return {"next": "coder", "plan": _plan(rows, choice, best["n"], why, profiled=bool(ranked))}


def _novel(state: State, hints: Hints) -> bool:
    """Whether the hints lower to a kernel that no attempt was: a hint that changes nothing is no attempt."""
    try:
        sha = runs.digest(candidate(state, hints))
    except (Unsupported, TaskError):
        return False
    return all(row["source"] != sha for row in state["rows"])


def _repair(rows: list[Attempt]) -> State:
    """Nothing verified yet: the plainest hints, then the safest, then the end."""
    ladder: list[tuple[str, Hints]] = [("seed", dict(SEED)), ("safe", dict(SAFE))]
    done = [row["method"] for row in rows]
    step = next(((method, hints) for method, hints in ladder if method not in done), None)
    last = rows[-1]
    if step is None:
        reason = "unsupported" if last["verdict"] == "unsupported" else "no-verified-kernel"
        return _stop(reason, last["message"])
    method, hints = step
    plan: Plan = {
        "n": last["n"] + 1,
        "method": method,
        "hints": hints,
        "base": 0,
        "source": "",
        "prediction": None,
        "bottleneck": "",
        "reason": f"repair after {last['verdict']}",
    }
    return {"next": "coder", "plan": plan}


def _plan(rows: list[Attempt], choice: Choice, base: int, why: str, profiled: bool) -> Plan:
    """Without a profile only time can be predicted."""
    foreseen: Prediction = {"metric": "time_ms", "direction": "down", "by": 0.05}
    if profiled:
        foreseen = cast(Prediction, choice.predict)
    return {
        "n": rows[-1]["n"] + 1,
        "method": choice.method,
        "hints": choice.hints,
        "base": base,
        "source": "",
        "prediction": foreseen,
        "bottleneck": choice.bottleneck,
        "reason": why,
    }


def _stop(reason: str, message: str) -> State:
    return {"next": "finish", "stop_reason": reason, "message": message}


def _tried(row: Attempt) -> Tried:
    return Tried(row["method"], row["hints"], fruitful=row["kept"], broken=row["verdict"] != "ok")


def _fruitless(rows: list[Attempt]) -> int:
    """Attempts since the last one that became the best."""
    return next((count for count, row in enumerate(reversed(rows)) if row["kept"]), len(rows))


def _profile(state: State, source: str) -> dict[str, Any]:
    """The whole profile of a candidate; {} when it was not profiled."""
    return runs.load(Path(state["folder"]) / "profiles" / f"{source}.json")
