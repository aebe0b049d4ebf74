"""The bench: one task's judge. It owns the sandboxes and the goldens, executes no candidate itself, and answers with verdicts.

Everything it holds lives in memory and a scratch folder, and is rebuilt after a resume; `close`, garbage collection, the
interpreter's exit and the judge's own death all end its processes.
"""

import contextlib
import threading
import time
import types
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import admit, judge, policy, sandbox, timing
from measure.judge import Trial
from measure.limits import Limits
from measure.session import Session
from measure.task import Task
from measure.verdict import Rejected, Verdict, failed, passed

PROFILE_S = 0.3
COUNTED = (
    "calls", "threads", "wall_s", "cpu_s", "minor_faults", "major_faults", "voluntary_switches", "involuntary_switches",
)  # fmt: skip
COMPILE_S = 60.0


class Bench:
    """A context manager; its methods may be called from several threads and take turns."""

    def __init__(
        self,
        task: Task,
        precision: str = "strict",
        *,
        scratch: Path | None = None,
        sandbox: str | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.task, self.policy, self.limits = task, policy.named(precision), limits or Limits()
        self.sandbox_tier = _tier(sandbox)
        self._scratch = scratch
        self._lock = threading.RLock()
        self._sessions: set[Session] = set()
        self._finalizer = weakref.finalize(self, _close_all, self._sessions)
        self._session = self._opened()

    def __enter__(self) -> "Bench":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: types.TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends every process and removes every file; closing twice is harmless."""
        self._finalizer()

    def admit(self) -> Verdict:
        """Whether the task can be judged at all; evidence `weak` lists null candidates that pass."""
        return self._guarded({}, lambda evidence: admit.admit(self._session))

    def judge(self, candidate: str) -> Verdict:
        """Correctness over all cases, then the speed-up over eager."""
        return self._guarded(self._blank(), lambda evidence: self._judged(candidate, evidence, self._session))

    def confirm(self, candidate: str) -> Verdict:
        """The same in fresh processes with new seeds, against eager and torch.compile."""
        return self._guarded(self._blank(), lambda evidence: self._confirmed(candidate, evidence))

    def profile(self, candidate: str) -> Verdict:
        """What the operating system counts while the candidate runs, per call."""
        return self._guarded(self._blank(), lambda evidence: self._profiled(candidate, evidence))

    def _opened(self) -> Session:
        session = Session(self.task, self.policy, self.sandbox_tier, self.limits, self._scratch)
        self._sessions.add(session)
        return session

    def _blank(self) -> dict[str, Any]:
        return {"sandbox_tier": self.sandbox_tier, "precision": self.policy.name, "noisy": False}

    def _guarded(self, evidence: dict[str, Any], work: Callable[[dict[str, Any]], Verdict]) -> Verdict:
        """Turns Rejected into its verdict and adds what every verdict carries."""
        start = time.monotonic()
        with self._lock:
            if not self._finalizer.alive:
                return failed("environment", "the bench is closed", evidence)
            try:
                verdict = work(evidence)
            except Rejected as error:
                verdict = error.verdict
                verdict["evidence"] = {**evidence, **verdict["evidence"]}
        verdict["evidence"].setdefault("sandbox_tier", self.sandbox_tier)
        verdict["evidence"]["judge_s"] = judge.elapsed(start)
        return verdict

    def _judged(self, candidate: str, evidence: dict[str, Any], session: Session) -> Verdict:
        trial = judge.begin(session, candidate)
        try:
            trial.evidence = evidence = {**evidence, **trial.evidence}
            judge.verify(trial)
            if trial.interpreted:
                evidence["timing"] = "skipped: interpreter"
                return passed("correct (Triton's interpreter: not timed)", evidence)
            self._time(trial, ["model"], self.limits.timing_s)
            return passed(_summary(evidence), evidence)
        finally:
            trial.child.kill()
            session.renew()

    def _time(self, trial: Trial, baselines: list[str], budget_s: float) -> None:
        """Adds speed-ups and times against each baseline to the evidence."""
        evidence, session = trial.evidence, trial.session
        self._load_buffers(trial)
        assert session.reference is not None
        evidence["speedup"], evidence["time_ms"], evidence["noise"] = {}, {}, {}
        for which in baselines:
            name = "eager" if which == "model" else which
            ours = timing.ChildSide(trial.child, "model", self.limits.run_s)
            result = timing.compare(ours, timing.ChildSide(session.reference, which, self.limits.run_s), budget_s)
            evidence["speedup"][name], evidence["noise"][name] = result["speedup"], result["noise"]
            evidence["time_ms"].setdefault("candidate", result["candidate_ms"])
            evidence["time_ms"][name] = result["baseline_ms"]
            evidence["noisy"] = evidence["noisy"] or result["noisy"]

    def _load_buffers(self, trial: Trial) -> None:
        request = {"op": "buffers", "inputs": judge.timing_inputs(trial.session)}
        trial.session.ask_reference(request, self.limits.run_s)
        trial.ask(request, self.limits.run_s, "run")

    def _confirmed(self, candidate: str, evidence: dict[str, Any]) -> Verdict:
        session = self._opened()
        try:
            session.warm_up()
            trial = judge.begin(session, candidate)
            with contextlib.closing(_Killed(trial)):
                trial.evidence = evidence = {**evidence, **trial.evidence}
                judge.verify(trial)
                if trial.interpreted:
                    evidence["timing"] = "skipped: interpreter"
                    return passed("confirmed (Triton's interpreter: not timed)", evidence)
                self._load_buffers(trial)
                evidence["compile"] = self._compiled(session)
                baselines = ["model", *(["compile"] if evidence["compile"]["ok"] else [])]
                self._time(trial, baselines, self.limits.confirm_s / len(baselines))
                _headline(evidence)
                return passed(_summary(evidence), evidence)
        finally:
            session.close()
            self._sessions.discard(session)

    def _compiled(self, session: Session) -> dict[str, Any]:
        """torch.compile in the reference's process; a failure is recorded, not raised."""
        try:
            return session.ask_reference({"op": "compile", "seconds": COMPILE_S}, self.limits.load_s)
        except Rejected as error:
            if session.reference is None:
                session.open()
                session.ask_reference({"op": "buffers", "inputs": judge.timing_inputs(session)}, self.limits.run_s)
            return {"ok": False, "reason": error.verdict["message"][:400]}

    def _profiled(self, candidate: str, evidence: dict[str, Any]) -> Verdict:
        trial = judge.begin(self._session, candidate)
        try:
            trial.evidence = evidence = {**evidence, **trial.evidence}
            inputs = judge.timing_inputs(self._session)
            trial.ask({"op": "buffers", "inputs": inputs}, self.limits.run_s, "run")
            raw = trial.ask({"op": "profile", "seconds": PROFILE_S}, self.limits.run_s, "run")
            for name in COUNTED:
                trial.field(raw, name, (int, float))
            evidence["raw"] = _per_call(raw, self._session, inputs[0])
            return passed(f"{evidence['raw']['calls']} calls", evidence)
        finally:
            trial.child.kill()


class _Killed:
    """Gives a trial a close() for contextlib.closing."""

    def __init__(self, trial: Trial) -> None:
        self.close = trial.child.kill


def _tier(wanted: str | None) -> str:
    return sandbox.tier(wanted)


def _close_all(sessions: set[Session]) -> None:
    for session in list(sessions):
        session.close()
    sessions.clear()


def _per_call(raw: dict[str, Any], session: Session, inputs: str) -> dict[str, Any]:
    """Totals over the calls become per-call values; `bytes` is compulsory traffic: inputs, weights and outputs once."""
    calls = max(1, int(raw["calls"]))
    case = next(c for c in session.cases() if str(c.inputs) == inputs)
    size = case.inputs.stat().st_size + case.reply["eager_bytes"] + int(session.meta["weight_bytes"])
    threads = min(raw["threads"], session.threads)  # idle ones of the runtime's own do not count
    return {"calls": calls, "threads": threads, "bytes": size, **{name: raw[name] / calls for name in COUNTED[2:]}}


def _headline(evidence: dict[str, Any]) -> None:
    """The faster baseline carries the headline."""
    times = {name: evidence["time_ms"][name] for name in evidence["speedup"]}
    evidence["baseline"] = min(times, key=lambda name: times[name])
    evidence["speedup"].setdefault("compile", None)


def _summary(evidence: dict[str, Any]) -> str:
    parts = [f"{s['median']:.3g}x [{s['low']:.3g}, {s['high']:.3g}] over {name}" for name, s in evidence["speedup"].items() if s]
    return f"correct under the {evidence['precision']} policy; {', '.join(parts)}{' (noisy machine)' if evidence['noisy'] else ''}"
