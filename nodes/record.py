"""run.json: everything that the report and --json say about a finished run, in one object."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from knowledge import runs
from nodes.context import Context
from nodes.state import Attempt, State


@dataclass(frozen=True)
class Confirmation:
    """The attempt that passed again with the bench's evidence, what was refused before it, and what ended the search."""

    winner: Attempt | None
    evidence: dict[str, Any]
    refused: list[dict[str, Any]]
    fault: tuple[str, str] | None = None


def record(state: State, context: Context, confirmed: Confirmation) -> dict[str, Any]:
    """The object as it is written; what does not exist is null or empty, never absent."""
    winner, evidence = confirmed.winner, confirmed.evidence
    profile = runs.load(Path(state["folder"]) / "profiles" / f"{winner['source']}.json") if winner else {}
    return {
        "run_id": state["run_id"],
        "task": state["task"],
        "notes": state.get("notes", ""),
        "backend": context.backend,
        "model": context.model,
        "precision": context.precision,
        "verified": winner is not None,
        "speedup": evidence.get("speedup", {}),
        "baseline": evidence.get("baseline"),
        "time_ms": evidence.get("time_ms", {}),
        "attempts": len(state.get("rows", [])),
        "best": _best(state, winner) if winner else None,
        "stop_reason": state["stop_reason"],
        "message": state.get("message", ""),
        "sandbox_tier": evidence.get("sandbox_tier") or state.get("admission", {}).get("sandbox_tier"),
        "profile_tier": profile.get("tier"),
        "spend": state["spend"],
        "seconds": state["spend"]["seconds"],
        "rows": state.get("rows", []),
        "diagnosis": profile.get("diagnosis"),
        "roofline": profile.get("roofline"),
        "profile": profile or None,
        "admission": state.get("admission", {}),
        "confirmation": evidence,
        "refused": confirmed.refused,
        "known": state.get("known"),
        "sketch": state.get("sketch", ""),
        "environment": state.get("environment", {}),
        "context": context.model_dump(),
        "started": state["started"],
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _best(state: State, winner: Attempt) -> dict[str, Any]:
    path = Path(state["folder"]) / "best.py"
    short = {"n": winner["n"], "method": winner["method"], "hints": winner["hints"]}
    return {"path": str(path), "sha256": winner["source"], **short}
