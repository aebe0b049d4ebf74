"""Typed verdicts: what the bench says about a task or a candidate, as plain data."""

from typing import Any

from typing_extensions import TypedDict


class Verdict(TypedDict):
    """One judgement; `kind` is "ok" exactly when `ok` is true."""

    ok: bool
    kind: str
    message: str
    evidence: dict[str, Any]


class Rejected(Exception):
    """Carries a verdict from the place of a failure up to the bench's door, where it becomes data again."""

    def __init__(self, kind: str, message: str, evidence: dict[str, Any] | None = None) -> None:
        super().__init__(f"{kind}: {message}")
        self.verdict = failed(kind, message, evidence)


def passed(message: str, evidence: dict[str, Any]) -> Verdict:
    """An accepting verdict."""
    return {"ok": True, "kind": "ok", "message": message, "evidence": evidence}


def failed(kind: str, message: str, evidence: dict[str, Any] | None = None) -> Verdict:
    """A refusing verdict of one kind."""
    return {"ok": False, "kind": kind, "message": message, "evidence": evidence or {}}
