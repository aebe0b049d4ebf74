"""Verifier: the bench judges the candidate; the fastest verified one is kept."""

from pathlib import Path

from langgraph.runtime import Runtime

from knowledge import runs
from measure.verdict import Verdict
from nodes import benches
from nodes.context import Context, settings
from nodes.outcome import better
from nodes.progress import Clock
from nodes.state import Attempt, Best, State


def verifier(state: State, runtime: Runtime[Context]) -> State:
    """Judges the plan's candidate; on another machine than the run began on, measures the best anew first."""
    context = settings(runtime)
    clock = Clock("verifier", state, runtime)
    plan = state["plan"]
    assert plan is not None
    bench = benches.bench(state, context)
    if not isinstance(bench, benches.Bench):
        refused: Attempt = {"n": plan["n"], "verdict": bench["kind"], "message": bench["message"]}
        return {"rows": [refused], "stop_reason": "bad-task", "message": bench["message"], "spend": clock.spent()}
    here = benches.here()
    best = state.get("best")
    rows: list[Attempt] = []
    if best and here["digest"] != state["environment"]["digest"]:
        clock.tell("note", message="this is another machine than the run began on: the best kernel is measured anew")
        again = _judged(_row(state, best["n"]), bench.judge(_source(state, best["source"])))
        rows.append(again)
        best = _as_best(again) if again["verdict"] == "ok" else None
    row = _judged(_row(state, plan["n"]), bench.judge(_source(state, _row(state, plan["n"])["source"])))
    row["seconds"] = row.get("seconds", 0.0) + clock.seconds()
    if row["verdict"] == "ok" and (best is None or better(row["speedup"], best["speedup"])):
        row["kept"] = True
        best = _as_best(row)
    _tell(clock, row, best, context)
    done: State = {"rows": [*rows, row], "best": best, "environment": here, "spend": clock.spent()}
    if row["verdict"] in ("environment", "no-compiler") or row["verdict"].startswith("reference-"):  # not the candidate's fault
        return {**done, "stop_reason": "environment", "message": row["message"]}
    return done


def _row(state: State, n: int) -> Attempt:
    return next(row for row in state["rows"] if row["n"] == n)


def _source(state: State, sha: str) -> str:
    return runs.text_path(Path(state["folder"]), "sources", sha).read_text()


def _judged(row: Attempt, verdict: Verdict) -> Attempt:
    """The row with what the bench measured."""
    evidence = verdict["evidence"]
    done: Attempt = {**row, "verdict": verdict["kind"], "message": verdict["message"]}
    if verdict["ok"]:
        done["speedup"] = evidence["speedup"]["eager"]
        done["time_ms"] = evidence["time_ms"]["candidate"]
        done["baseline_ms"] = evidence["time_ms"]["eager"]
        done["noisy"] = bool(evidence.get("noisy"))
    return done


def _as_best(row: Attempt) -> Best:
    return {"n": row["n"], "source": row["source"], "hints": row["hints"], "speedup": row["speedup"], "time_ms": row["time_ms"]}


def _tell(clock: Clock, row: Attempt, best: Best | None, context: Context) -> None:
    used = clock.spent()["seconds"]
    clock.tell(
        "attempt",
        n=row["n"],
        method=row["method"],
        verdict=row["verdict"],
        message=row["message"],
        speedup=row.get("speedup"),
        time_ms=row.get("time_ms"),
        kept=row["kept"],
        best={"n": best["n"], "speedup": best["speedup"]} if best else None,
        attempts_left=context.attempts - row["n"],
        seconds_left=None if context.minutes is None else max(0.0, context.minutes * 60 - used),
    )
