"""Judging one candidate: load, construct, weights, runs over all cases, checks; the judge computes nothing the candidate wrote."""

import itertools
import os
import time
from dataclasses import dataclass, field
from typing import Any

from measure import buffers, compare, values
from measure.channel import Message
from measure.host import Child
from measure.session import Case, Session
from measure.verdict import Rejected
from measure.worker import overlap

BUILD_WORDS = ("Error building extension", "error: command", "compilation failed", "ninja:")
HELD = 1 << 30


@dataclass
class Trial:
    """One candidate's living process and what is known about it so far."""

    session: Session
    child: Child
    evidence: dict[str, Any] = field(default_factory=dict)
    interpreted: bool = False

    def ask(self, request: Message, timeout: float, kind: str, fds: list[int] | None = None) -> Message:
        """A reply that is ok, or Rejected with `kind` and the traceback's tail."""
        reply = self.child.ask(request, timeout, fds)
        if reply.get("ok") is True:
            return reply
        if reply.get("ok") is False and isinstance(reply.get("type"), str):
            raise refused(reply, kind, self.evidence)
        raise self.hostile(f"answered {str(reply)[:200]} to {request['op']}")

    def hostile(self, what: str) -> Rejected:
        """The verdict on a process that talks in a way our own worker never does."""
        return Rejected("hostile", f"the candidate's process {what}", self.evidence)

    def field(self, reply: Message, name: str, kind: type | tuple[type, ...]) -> Any:
        """One field of a reply, of the promised type."""
        if not isinstance(reply.get(name), kind):
            raise self.hostile(f"answered with {name} = {str(reply.get(name))[:80]!r}")
        return reply[name]


def refused(reply: Message, kind: str, evidence: dict[str, Any]) -> Rejected:
    """The verdict for an exception inside the candidate's process."""
    name, text = str(reply.get("type", "")), str(reply.get("message", ""))
    kind = "memory" if reply.get("memory") else str(reply.get("stage", kind))
    if kind == "import" and (name in ("BuildError", "CalledProcessError") or any(w in text for w in BUILD_WORDS)):
        kind = "build"
    return Rejected(kind, f"{name}: {text[:1500]}", {**evidence, "trace": reply.get("trace", [])})


def begin(session: Session, source: str) -> Trial:
    """A candidate that is loaded, constructed and holds the reference's weights."""
    meta = session.open()
    session.cases()  # before the spawn: their size sets the child's limits
    trial = Trial(session, session.spawn())
    try:
        _load(trial, source)
        _construct(trial, meta)
    except BaseException:
        trial.child.kill()
        raise
    return trial


def _load(trial: Trial, source: str) -> None:
    path = trial.session.scratch.given / f"candidate_{trial.session.serial}.py"
    path.write_text(source, encoding="utf-8", errors="surrogatepass")
    reply = trial.ask({"op": "load", "path": str(path)}, trial.session.limits.load_s, "import")
    trial.evidence["build_s"] = round(trial.field(reply, "seconds", float), 4)
    trial.interpreted = trial.field(reply, "interpreted", bool)
    if not trial.field(reply, "has_model", bool):
        raise Rejected("no-model-new", "the candidate defines no class ModelNew", trial.evidence)


def _construct(trial: Trial, meta: Message) -> None:
    session = trial.session
    request = {"op": "construct", "init": str(session.scratch.given / "init"), "seed": 0}
    state = trial.field(trial.ask(request, session.limits.load_s, "init"), "state", dict)
    want = meta["state"]
    faults = [
        *(f"missing {k}" for k in want if k not in state),
        *(f"unexpected {k}" for k in state if k not in want),
        *(f"{k} is {state[k]}, the reference's is {want[k]}" for k in want if k in state and state[k] != want[k]),
    ]
    if faults:
        raise Rejected("state", f"the state dict differs from the reference's: {'; '.join(faults[:12])}", trial.evidence)
    load_state(trial, "base")


def load_state(trial: Trial, weights: str) -> None:
    """Loads one of the reference's weight sets, strictly."""
    path = trial.session.scratch.given / f"state.{weights}"
    trial.ask({"op": "state", "path": str(path)}, trial.session.limits.load_s, "state")


def verify(trial: Trial) -> None:
    """All cases, or Rejected at the first fault; fills `errors`, `seeds` and `state` of the evidence."""
    cases = trial.session.cases()
    trial.evidence["seeds"] = {c.slot: c.seed for c in cases}
    trial.evidence["skipped"] = dict(trial.session.skipped)
    trial.evidence["errors"] = []
    trial.evidence["golden"] = sorted({c.reply["golden"] for c in cases})
    base = [c for c in cases if c.weights == "base"]
    if note := buffers.compared(trial.child, trial.session, base[0]):
        trial.evidence["state"] = note
    for group in _groups(base):
        _check(trial, group, cases)
    for weights in sorted({c.weights for c in cases} - {"base"}):
        load_state(trial, weights)
        _check(trial, [c for c in cases if c.weights == weights], cases)
    if len(base) != len(cases):
        load_state(trial, "base")


def _groups(cases: list[Case]) -> list[list[Case]]:
    """All at once while their outputs fit, else in pairs (a pair is the least that shows a reused buffer)."""
    if sum(c.reply["eager_bytes"] for c in cases) <= HELD:
        return [cases]
    return [cases[i : i + 2] for i in range(0, len(cases), 2)]


def _check(trial: Trial, group: list[Case], cases: list[Case]) -> None:
    limits = trial.session.limits
    timeout = limits.run_s + 50 * sum(c.reply["seconds"] for c in group)
    fds = [os.memfd_create("output", os.MFD_CLOEXEC) for _ in group]
    try:
        request = {"op": "run", "inputs": [str(c.inputs) for c in group]}
        runs = trial.field(trial.ask(request, timeout, "run", fds), "runs", list)
        if len(runs) != len(group) or not all(_sound(run) for run in runs):
            raise trial.hostile(f"answered {str(runs)[:200]} for {len(group)} runs")
        for case, fd in zip(group, fds, strict=True):
            _check_output(trial, case, fd, cases)
        _check_memory(trial, group, runs)
    finally:
        for fd in fds:
            os.close(fd)


def _sound(run: Any) -> bool:
    """Whether a run's report has the shape that our worker gives it."""
    if not isinstance(run, dict) or not isinstance(run.get("mutated"), list):
        return False
    ints = [*run["mutated"]]
    for name in ("inputs", "outputs"):
        pairs = run.get(name)
        if not isinstance(pairs, list) or not all(isinstance(p, list) and len(p) == 2 for p in pairs):
            return False
        ints += [n for p in pairs for n in p]
    return all(type(n) is int for n in ints)


def _check_memory(trial: Trial, group: list[Case], runs: list[Message]) -> None:
    """Inputs unchanged, outputs of their own: unless the reference does the same."""
    for case, run in zip(group, runs, strict=True):
        if set(run["mutated"]) - set(case.reply["mutated"]):
            raise Rejected("mutated", f"{case.slot}: the call changed its inputs {run['mutated']}", trial.evidence)
        if overlap(run["outputs"], run["inputs"]) and not overlap(case.reply["outputs"], case.reply["inputs"]):
            raise Rejected("alias", f"{case.slot}: an output shares memory with an input", trial.evidence)
    for first, second in itertools.combinations(runs, 2):
        if overlap(first["outputs"], second["outputs"]):
            raise Rejected("alias", "two calls returned outputs in the same memory", trial.evidence)


def _check_output(trial: Trial, case: Case, fd: int, cases: list[Case]) -> None:
    try:
        got = values.Stored(fd)
        difference = compare.structure(got.tree, case.eager.tree)
        if difference or len(got.entries) != len(case.expected):
            raise Rejected("type", f"{case.slot}: {difference or 'another number of tensors'}", trial.evidence)
        for index, want in enumerate(case.expected):
            _check_tensor(trial, case, index, compare.Slot(got, index), want, cases)
    except (values.Corrupt, RecursionError) as error:
        text = f"{case.slot}: the output's bytes are not what their header says ({error})"
        raise Rejected("hostile", text, trial.evidence) from error


def _check_tensor(trial: Trial, case: Case, index: int, got: compare.Slot, want: compare.Expected, cases: list[Case]) -> None:
    name = f"{case.slot}, output {index}"
    if fault := compare.mismatch(got.entry, want.eager.entry):
        raise Rejected(fault[0], f"{name}: {fault[1]}", trial.evidence)
    found = compare.deviation(got, want)
    bound = limit(trial.session, case, index, cases)
    trial.evidence["errors"].append(
        {"case": case.slot, "output": index, "error": found.error, "limit": bound, "reference_error": want.error}
    )
    if found.kind:
        raise Rejected(found.kind, f"{name}: element {found.where} is {found.got}, the reference has {found.want}", trial.evidence)
    if want.exact and found.error and not compare.ties(got, want, case.inputs):
        raise Rejected(
            "wrong",
            f"{name}: {100 * found.error:.3g} % of the elements differ, first at {found.where}: "
            f"got {found.got:.0f}, want {found.want:.0f}",
            trial.evidence,
        )
    if not want.exact and not found.error <= bound:
        text = f"{name}: error {found.error:.3g} exceeds {bound:.3g} under the {trial.session.policy.name} policy (eager errs by "
        where = f"{want.error:.3g}); worst at flat index {found.where}: got {found.got:.9g}, want {found.want:.9g}"
        raise Rejected("wrong", text + where, trial.evidence)


def limit(session: Session, case: Case, index: int, cases: list[Case]) -> float:
    """The policy's limit, from eager's worst error over the plain cases (and the case's own)."""
    pool = [c.expected[index].error for c in cases if c.kind == "plain" and index < len(c.expected)]
    own = case.expected[index]
    known = case.reply["golden"] == "float64"
    bound = session.policy.limit(max([own.error, *pool]), own.eager.entry.dtype)
    return bound if known else max(bound, 2e-5)


def timing_inputs(session: Session) -> list[str]:
    """The plain cases' inputs, as many as fit a gigabyte, for the timed calls to rotate over."""
    plain = [c for c in session.cases() if c.kind == "plain" and c.weights == "base"]
    size = max(1, plain[0].inputs.stat().st_size)
    return [str(c.inputs) for c in plain[: max(1, HELD // size)]]


def elapsed(start: float) -> float:
    """Seconds since a time.monotonic moment, rounded for a record."""
    return round(time.monotonic() - start, 3)
