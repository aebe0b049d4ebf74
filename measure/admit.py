"""Admission of a task: the reference is stable under its own reruns, and candidates that do no work are told from it."""

from dataclasses import dataclass
from typing import Any

import torch

from measure import compare, judge, values
from measure.session import Case, Session
from measure.verdict import Rejected, Verdict, passed

RERUN = 16  # times the policy's floor: room for another order of summation
MEND = (
    "is dropout active or does forward draw random numbers? call self.eval() in __init__, set p=0, "
    "or draw the numbers in get_inputs()"
)


@dataclass(frozen=True)
class Constant:
    """A null candidate's output: the same number everywhere."""

    number: float
    dtype: torch.dtype

    def chunk(self, start: int, stop: int) -> torch.Tensor:
        return torch.full((stop - start,), self.number).to(self.dtype)


def admit(session: Session) -> Verdict:
    """Ok with the null candidates that pass (`weak`), or the task's fault."""
    meta = session.open()
    again = session.scratch.ref / "again"
    case = session.make("plain-0", "plain", "base", again)
    session.pool["plain-0"] = case
    _check_rerun(session, case, values.opened(again))
    _check_finite(session, case)
    cases = session.cases()
    weak = weaknesses(session, cases)
    note = f"; these null candidates pass: {', '.join(weak)}" if weak else ""
    return passed(
        f"the reference is stable{note}",
        {
            "weak": weak,
            "outputs": [_described(e) for e in case.expected],
            "inputs": [_entry(e) for e in _input_entries(case)],
            "weight_bytes": meta["weight_bytes"],
            "state": meta["state"],
            "training": meta["training"],
            "golden": case.reply["golden"],
            "reference_errors": [e.error for e in case.expected],
            "skipped": dict(session.skipped),
            "sandbox_tier": session.tier,
            "eager_ms": 1e3 * case.reply["seconds"],
            "precision": session.policy.name,
            "seeds": {c.slot: c.seed for c in cases},
        },
    )


def _check_rerun(session: Session, case: Case, again: values.Stored) -> None:
    """The rerun within a few ulp of the first run (not of the golden, from which a random reference is far anyway)."""
    try:
        where = session.task.path
        if compare.structure(again.tree, case.eager.tree):
            raise Rejected("nondeterministic", f"{where}: two runs on equal inputs give different structures")
        for index, one in enumerate(case.expected):
            got, want = compare.Slot(again, index), compare.Expected(one.eager, one.eager, one.scale, 0.0)
            same_shape = got.entry.shape == want.eager.entry.shape
            found = compare.deviation(got, want) if same_shape else None
            bound = RERUN * session.policy.limit(0.0, got.entry.dtype)
            if found is None or found.kind or found.error > (0.0 if want.exact else bound):
                raise Rejected("nondeterministic", f"{where}: two runs on equal inputs differ (output {index}); {MEND}")
    finally:
        again.close()


def _check_finite(session: Session, case: Case) -> None:
    """A reference that gives only NaN compares with nothing."""
    for index, want in enumerate(case.expected):
        entry = want.eager.entry
        if entry.numel == 0:
            raise Rejected("empty-output", f"{session.task.path}: output {index} has no elements: nothing to compare")
        head = want.eager.chunk(0, min(entry.numel, 1 << 22))
        if head.dtype.is_floating_point and not bool(torch.isfinite(head).any()):
            text = f"{session.task.path}: output {index} is NaN or infinite everywhere on get_inputs()'s own values"
            raise Rejected("non-finite-output", text)


def weaknesses(session: Session, cases: list[Case]) -> list[str]:
    """Null candidates that pass, as "name on slot"; a slot counts once even where both of a kind pass."""
    plain = [c for c in cases if c.kind == "plain" and c.weights == "base"]
    groups = {"plain": plain, "strong": [c for c in cases if c.slot == "strong"]}
    found = []
    for group, members in groups.items():
        for name in ("zeros", "ones", "first-input", "stale"):
            if members and all(_null_passes(session, name, c, cases) for c in members):
                found.append(f"{name} on {group} inputs")
    return found


def _null_passes(session: Session, name: str, case: Case, cases: list[Case]) -> bool:
    """Whether a candidate that returns this nothing would pass the case, all outputs taken together."""
    source = values.opened(case.inputs)
    try:
        for index, want in enumerate(case.expected):
            flat = _null(name, index, case, cases, source)
            if flat is None:
                return False
            bound = 0.0 if want.exact else judge.limit(session, case, index, cases)
            found = compare.deviation(flat, want, bound)
            if found.kind or found.error > bound:
                return False
        return True
    finally:
        source.close()


def _null(name: str, index: int, case: Case, cases: list[Case], inputs: values.Stored) -> compare.Flat | None:
    entry = case.expected[index].eager.entry
    if name in ("zeros", "ones"):
        return Constant(float(name == "ones"), entry.dtype)
    if name == "first-input":
        first = inputs.entries[0] if inputs.entries else None
        fits = first is not None and first.numel == entry.numel and first.dtype == entry.dtype
        return compare.Slot(inputs, 0) if fits else None
    other = next((c for c in cases if c is not case and c.kind == "plain" and c.weights == "base"), None)
    return other.expected[index].eager if other is not None else None


def _input_entries(case: Case) -> list[values.Entry]:
    stored = values.opened(case.inputs)
    stored.close()
    return stored.entries


def _entry(entry: values.Entry) -> dict[str, Any]:
    return {"shape": list(entry.shape), "dtype": str(entry.dtype).removeprefix("torch.")}


def _described(want: compare.Expected) -> dict[str, Any]:
    return {**_entry(want.eager.entry), "scale": want.scale}
