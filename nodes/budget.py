"""Budgets: pure checks of what a run has spent against what it may spend."""

from nodes.context import Context
from nodes.state import Limits, Spend, State


def none_spent() -> Spend:
    return {"seconds": 0.0, "tokens": 0, "usd": 0.0, "attempts": 0}


def limits(context: Context) -> Limits:
    """The part of the settings that routes ask for; admit and every conductor write it, so a resume may raise a limit."""
    return {
        "attempts": context.attempts,
        "minutes": context.minutes,
        "tokens": context.max_tokens,
        "usd": context.max_usd,
        "profile": context.profile,
    }


def exhausted(state: State) -> str:
    """The spent budget's name (minutes, tokens, usd) or "": checked after every node, whatever it did."""
    spend, allowed = state.get("spend") or none_spent(), state["limits"]
    if allowed["minutes"] is not None and spend["seconds"] >= 60 * allowed["minutes"]:
        return "minutes"
    if allowed["tokens"] is not None and spend["tokens"] > allowed["tokens"]:
        return "tokens"
    return "usd" if allowed["usd"] is not None and spend["usd"] > allowed["usd"] else ""


def full(state: State) -> str:
    """The budget that forbids another attempt, or ""."""
    return "attempts" if len(state.get("rows", [])) >= state["limits"]["attempts"] else exhausted(state)
