"""The plan: one stateful LangGraph whose routes are pure functions."""
