"""The graph's state and input, which live beside the nodes because imports only point down."""

from nodes.state import Attempt, Best, Input, Plan, Spend, State, merge_attempts

__all__ = ["Attempt", "Best", "Input", "Plan", "Spend", "State", "merge_attempts"]
