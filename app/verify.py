"""`pragma verify TASK CANDIDATE`: the judge's word on a candidate, whoever wrote it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from app.answer import Answer
from app.choices import among
from app.fault import BAD_INPUT, ENVIRONMENT, ENVIRONMENT_KINDS, REJECTED, VERIFIED, Fault
from app.files import read_candidate, read_task
from app.numbers import interval, seconds, worst
from measure.bench import Bench
from measure.policy import POLICIES
from measure.verdict import Verdict


def verify(task: str, candidate: str, precision: str, answer: Answer) -> int:
    """Admit the task, judge the candidate, and confirm a passing one in a fresh process against both baselines."""
    among("precision", precision, tuple(POLICIES))
    source, path = read_candidate(candidate), Path(candidate)
    with Bench(read_task(task), precision) as bench:
        admit(bench)
        verdict = bench.judge(source)
        if verdict["ok"]:
            verdict = bench.confirm(source)
        tier = bench.sandbox_tier
    answer.give(_record(task, path, precision, tier, verdict))
    _show(answer, path, precision, tier, verdict)
    return exit_code(verdict)


def admit(bench: Bench) -> Verdict:
    """The task's own verdict; a broken task is the task's fault, a broken machine the environment's."""
    verdict = bench.admit()
    if not verdict["ok"]:
        code = ENVIRONMENT if verdict["kind"] in ENVIRONMENT_KINDS else BAD_INPUT
        raise Fault(verdict["message"], code, verdict["kind"])
    return verdict


def exit_code(verdict: Verdict) -> int:
    """0 verified, 1 rejected, 2 no candidate at all, 3 the machine's fault."""
    if verdict["ok"]:
        return VERIFIED
    if verdict["kind"] in ENVIRONMENT_KINDS:
        return ENVIRONMENT
    return BAD_INPUT if verdict["kind"] == "no-model-new" else REJECTED


def _record(task: str, path: Path, precision: str, tier: str, verdict: Verdict) -> dict[str, Any]:
    evidence = verdict["evidence"]
    return {
        "task": task,
        "candidate": str(path),
        "verified": verdict["ok"],
        "kind": verdict["kind"],
        "message": verdict["message"],
        "precision": precision,
        "speedup": evidence.get("speedup") or {},
        "errors": evidence.get("errors") or [],
        "sandbox_tier": tier,
        "evidence": evidence,
    }


def _show(answer: Answer, path: Path, precision: str, tier: str, verdict: Verdict) -> None:
    evidence = verdict["evidence"]
    answer.say(f"{path}: {'verified' if verdict['ok'] else 'rejected, ' + verdict['kind']}")
    if not verdict["ok"]:
        answer.say(f"  {verdict['message']}")
    if evidence.get("errors"):
        answer.say(f"  {'error':<10} {worst(evidence['errors'])}")
    for baseline, speedup in (evidence.get("speedup") or {}).items():
        answer.say(f"  {'speed-up':<10} {interval(speedup)} over {'torch.compile' if baseline == 'compile' else baseline}")
    for side, spent in (evidence.get("time_ms") or {}).items():
        answer.say(f"  {'time':<10} {seconds(spent / 1000) if isinstance(spent, (int, float)) else spent} {side}")
    if evidence.get("noisy"):
        answer.say("  the machine was busy while timing: treat the speed-up with care")
    answer.say(f"  {'precision':<10} {precision}")
    answer.say(f"  {'sandbox':<10} {tier}")
