"""`pragma profile TASK CANDIDATE`: where a candidate's time goes, as a page that reads from top to bottom."""

from __future__ import annotations

from typing import Any

from app.answer import Answer
from app.choices import among
from app.fault import REJECTED, VERIFIED, Fault
from app.files import check_compiler, read_candidate, read_task
from app.metrics import meaning
from app.numbers import percent
from app.verify import admit, exit_code
from knowledge.facts import facts
from measure.bench import Bench
from measure.policy import POLICIES
from measure.task import Task, TaskError, instantiate
from nodes import profiler
from sketch.capture import capture
from sketch.values import Unsupported


def profile(task: str, candidate: str, precision: str, answer: Answer) -> int:
    """Run the candidate in the sandbox, read its counters and name the bottleneck with the evidence for it."""
    among("precision", precision, tuple(POLICIES))
    source, read = read_candidate(candidate), read_task(task)
    check_compiler()
    with Bench(read, precision) as bench:
        admit(bench)
        found, verdict = profiler.profile(bench, source, _facts(read))
    if not found:
        code = exit_code(verdict)
        if code != REJECTED:
            raise Fault(verdict["message"], code, verdict["kind"])
        answer.give({"task": task, "candidate": candidate, "ok": False, "kind": verdict["kind"], "message": verdict["message"]})
        answer.say(f"{candidate}: cannot be profiled, {verdict['kind']}: {verdict['message']}")
        return code
    answer.give({"task": task, "candidate": candidate, "ok": True, "precision": precision, **found})
    for line in lines(candidate, found):
        answer.say(line)
    return VERIFIED


def _facts(task: Task) -> dict[str, float]:
    """What the algorithm costs at least; nothing where no sketch can hold it, and then rates per operation are left out."""
    try:
        instance = instantiate(task)
        return facts(capture(instance.model.eval(), instance.inputs, task.name))
    except (Unsupported, TaskError):
        return {}


def lines(candidate: str, found: dict[str, Any]) -> list[str]:
    """The page: tier, metrics with units and meanings, ceilings, roofline, bottleneck with evidence, the compiler's remarks."""
    diagnosis = found.get("diagnosis") or {}
    page = [f"{candidate}", f"tier       {found.get('tier')}"]
    page += [f"           {found['how_to_lift']}"] if found.get("how_to_lift") else []
    page += ["", "metrics", *_table(found.get("metrics") or {})]
    page += ["", "ceilings of this machine", *_table(found.get("ceilings") or {})]
    page += ["", f"roofline   {_roofline(found.get('roofline') or {})}", ""]
    page.append(f"bottleneck {diagnosis.get('bottleneck', 'unknown')} (confidence {percent(diagnosis.get('confidence'))})")
    page += [f"  - {line}" for line in diagnosis.get("evidence") or []]
    remarks = found.get("remarks") or []
    page += ["", "the compiler says", *(f"  {line}" for line in remarks[:12])] if remarks else []
    return page


def _table(values: dict[str, Any]) -> list[str]:
    rows = [(key, _number(value), *meaning(key)) for key, value in values.items() if value is not None]
    return [f"  {key:<22}{number:>10} {unit:<8} {words}".rstrip() for key, number, unit, words in rows]


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _roofline(roof: dict[str, Any]) -> str:
    if not isinstance(roof.get("fraction"), (int, float)):
        return "not known: the operation counts of this task are not"
    unit = roof.get("unit", "")
    at = f" at {roof['intensity']:.3g} FLOP/byte" if isinstance(roof.get("intensity"), (int, float)) else ""
    return f"{percent(roof['fraction'])} of the {roof.get('bound')} roof: {roof['attained']:.4g} of {roof['roof']:.4g} {unit}{at}"
