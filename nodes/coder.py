"""Coder: the planned attempt as a candidate file, built."""

from pathlib import Path

from langgraph.runtime import Runtime

from backends.cpp.build import build
from backends.cpp.candidate import render
from backends.cpp.lower import lower
from knowledge import runs
from measure.task import load
from measure.verdict import Verdict, failed
from nodes.context import Context
from nodes.progress import Clock
from nodes.state import Attempt, Plan, State
from sketch.text import parse
from sketch.values import Unsupported


def coder(state: State, runtime: Runtime[Context]) -> State:
    """Lowers the sketch under the plan's hints, keeps the candidate by hash and builds it ahead; a failure is its verdict."""
    clock = Clock("coder", state, runtime)
    plan = state["plan"]
    assert plan is not None
    written = _written(state, plan)
    row: Attempt = {**_row(plan), "sketch": state["sketch"]}
    if isinstance(written, str):
        row["source"] = runs.keep(Path(state["folder"]), "sources", written)
        verdict = _built(written)
    else:
        verdict = written
    if not verdict["ok"]:
        row = {**row, "verdict": verdict["kind"], "message": verdict["message"]}
    row["seconds"] = clock.seconds()
    done: State = {"rows": [row], "spend": clock.spent()}
    if not verdict["ok"] and verdict["kind"] == "no-compiler":
        return {**done, "stop_reason": "environment", "message": verdict["message"]}
    return done


def _row(plan: Plan) -> Attempt:
    return {
        "n": plan["n"],
        "method": plan["method"],
        "hints": plan["hints"],
        "base": plan["base"],
        "prediction": plan["prediction"],
        "bottleneck": plan["bottleneck"],
        "reason": plan["reason"],
        "source": plan["source"],
        "verdict": "",
        "kept": False,
        "outcome": "",
    }


def _written(state: State, plan: Plan) -> str | Verdict:
    """The candidate file: the plan's ready source, else the sketch lowered under its hints."""
    folder = Path(state["folder"])
    if plan["source"]:
        return runs.text_path(folder, "sources", plan["source"]).read_text()
    sketch = parse(runs.text_path(folder, "sketches", state["sketch"]).read_text()).with_hints(**plan["hints"])
    try:
        return render(sketch, lower(sketch), load(state["task"]).source)
    except Unsupported as error:
        return failed("unsupported", f"{error.operator}: {error.message}")


def _built(candidate: str) -> Verdict:
    made = build(candidate)
    if made.ok:
        return {"ok": True, "kind": "ok", "message": "", "evidence": {}}
    return failed(made.kind, made.message)
