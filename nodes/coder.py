"""Coder: the planned attempt as a candidate file, built."""

from pathlib import Path

from langgraph.runtime import Runtime

from backends.cpp.build import build
from knowledge import runs
from measure.task import TaskError
from measure.verdict import Verdict, failed
from nodes.context import Context
from nodes.lowering import candidate
from nodes.progress import Clock
from nodes.state import Attempt, Plan, State
from sketch.values import Unsupported

BROKEN = ("no-compiler", "cache")  # the machine's fault, not the candidate's


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
    if verdict["kind"] in BROKEN:
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
    if plan["source"]:
        return runs.text_path(Path(state["folder"]), "sources", plan["source"]).read_text()
    try:
        return candidate(state, plan["hints"])
    except Unsupported as error:
        return failed("unsupported", f"{error.operator}: {error.message}")
    except TaskError as error:
        return failed(error.kind, error.message)


def _built(candidate: str) -> Verdict:
    made = build(candidate)
    if made.ok:
        return {"ok": True, "kind": "ok", "message": "", "evidence": {}}
    return failed(made.kind if made.kind in BROKEN else "build", made.message)
