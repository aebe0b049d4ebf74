"""Admit: is this a task that can be measured at all? And what do earlier runs know about it?"""

import threading
from datetime import UTC, datetime

from langgraph.runtime import Runtime

from knowledge import runs
from measure.task import Task, TaskError, load
from measure.verdict import Verdict, failed
from nodes import benches, recall
from nodes.budget import limits
from nodes.context import Context, settings
from nodes.llm import ModelError, chat
from nodes.progress import Clock
from nodes.state import State
from sketch.capture import warm

ENVIRONMENT = ("environment", "no-compiler", "sandbox")


def admit(state: State, runtime: Runtime[Context]) -> State:
    """Makes the run's folder, admits the task and looks up the best known kernel; a refusal sets the stop reason."""
    context = settings(runtime)
    clock = Clock("admit", {}, runtime)
    task = state.get("task", "")
    run_id = _run_id(task, runtime, context)
    folder = runs.create(runs.home(context.home), run_id, {"task": task, "started": _now(), "context": context.model_dump()})
    begun: State = {
        **_blank(),
        "task": task,
        "run_id": run_id,
        "folder": str(folder),
        "started": runs.load(folder / "request.json")["started"],
        "environment": benches.here(),
        "limits": limits(context),
    }
    verdict = _model_verdict(context) or _admitted(begun, context)
    admission = verdict["evidence"] if verdict["ok"] else {"kind": verdict["kind"]}
    done: State = {**begun, "admission": admission, "spend": clock.spent()}
    if not verdict["ok"]:
        stop = "environment" if verdict["kind"] in ENVIRONMENT else "bad-model" if verdict["kind"] == "model" else "bad-task"
        return {**done, "stop_reason": stop, "message": verdict["message"]}
    known = recall.known(done, context, clock) if context.recall else None
    clock.tell("admitted", run_id=run_id, weak=admission.get("weak", []), known=known["speedup"] if known else None)
    return {**done, "known": known, "spend": clock.spent()}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _blank() -> State:
    """A thread that is used again starts over; the empty ladder is the reducer's sign for that."""
    blank: State = {"rows": [], "plan": None, "best": None, "profile": None, "known": None, "facts": {}, "sketch": ""}
    return {**blank, "stop_reason": "", "message": ""}


def _run_id(task: str, runtime: Runtime[Context], context: Context) -> str:
    """The thread's name when the run was started under it, else a name made of this very step: the same when it runs again."""
    step = runtime.execution_info
    thread = (step.thread_id if step else None) or ""
    root = runs.home(context.home)
    if thread and runs.is_open(root, thread):
        return thread
    return runs.name(task, f"{thread}/{step.checkpoint_id}" if step else runs.fresh(root, task))


def _model_verdict(context: Context) -> Verdict | None:
    try:
        chat(context.model)
    except ModelError as error:
        return failed("model", str(error))
    return None


def _admitted(state: State, context: Context) -> Verdict:
    """The bench's verdict with the task's name and fingerprint as evidence."""
    try:
        task: Task = load(state["task"])
    except TaskError as error:
        return failed(error.kind, error.message)
    threading.Thread(target=warm, name="pragma-warm").start()  # while the bench waits for its processes
    bench = benches.bench(state, context)
    verdict = bench.admit() if isinstance(bench, benches.Bench) else bench
    if not verdict["ok"]:
        benches.close(state["run_id"])
    evidence = {**verdict["evidence"], "fingerprint": task.fingerprint, "name": task.name}
    return {**verdict, "evidence": evidence}
