"""Budgets: pure checks of what a run has spent against what its context allows."""

from nodes.context import Context
from nodes.state import Spend, State


def none_spent() -> Spend:
    return {"seconds": 0.0, "tokens": 0, "usd": 0.0, "attempts": 0}


def exhausted(state: State, context: Context) -> str:
    """The spent budget's name (minutes, tokens, usd) or "": checked after every node, whatever it did."""
    spend = state.get("spend") or none_spent()
    limits = {"minutes": context.minutes, "tokens": context.max_tokens, "usd": context.max_usd}
    used = {"minutes": spend["seconds"] / 60, "tokens": spend["tokens"], "usd": spend["usd"]}
    return next((name for name, limit in limits.items() if limit is not None and _over(name, used[name], limit)), "")


def full(state: State, context: Context) -> str:
    """The budget that forbids another attempt, or ""."""
    if len(state.get("rows", [])) >= context.attempts:
        return "attempts"
    return exhausted(state, context)


def _over(name: str, used: float, limit: float) -> bool:
    """Minutes are spent when reached; a chat budget of 0 allows a run that uses none."""
    return used >= limit if name == "minutes" else used > limit
