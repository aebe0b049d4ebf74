"""Where the run goes next: pure functions of the state; the Literal return types draw the edges.

They take no runtime, because `update_state` asks them without one: what a run may spend stands in the state's `limits`.
"""

from typing import Literal

from nodes.budget import exhausted, full
from nodes.state import State


def after_admit(state: State) -> Literal["designer", "finish"]:
    """A broken task or environment ends the run."""
    return "finish" if state.get("stop_reason") else "designer"


def after_designer(state: State) -> Literal["coder", "finish"]:
    """An operator that no sketch can hold ends the run."""
    return "finish" if state.get("stop_reason") else "coder"


def after_coder(state: State) -> Literal["verifier", "conductor", "finish"]:
    """A failed lowering or build is a verdict of the attempt: repair it; what was built is judged whatever the budget says."""
    if state.get("stop_reason"):
        return "finish"
    return "conductor" if _verdict(state) else "verifier"


def after_verifier(state: State) -> Literal["profiler", "conductor", "finish"]:
    """Repair on failure, profile on success, stop on budget."""
    if state.get("stop_reason") or exhausted(state):
        return "finish"
    return "profiler" if _verdict(state) == "ok" and state["limits"]["profile"] else "conductor"


def after_profiler(state: State) -> Literal["conductor", "finish"]:
    """A spent budget needs no next plan."""
    return "finish" if state.get("stop_reason") or exhausted(state) else "conductor"


def after_conductor(state: State) -> Literal["coder", "designer", "profiler", "finish"]:
    """The conductor's own wish, unless it stops or a budget forbids another attempt."""
    if state.get("stop_reason") or full(state):
        return "finish"
    return state.get("next", "finish")


def _verdict(state: State) -> str:
    """The verdict of the attempt that the plan names, "" while it has none."""
    plan = state.get("plan")
    rows = state.get("rows", [])
    return next((row.get("verdict", "") for row in rows if plan and row["n"] == plan["n"]), "")
