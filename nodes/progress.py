"""What a node tells while it works: small events for the live view, and the time that it spent."""

import time
from typing import Any

from langgraph.runtime import Runtime

from nodes.budget import none_spent
from nodes.context import Context
from nodes.state import Spend, State


class Clock:
    """Started at a node's first line; announces the node and adds its time to the run's spend."""

    def __init__(self, node: str, state: State, runtime: Runtime[Context]) -> None:
        self.begun = time.monotonic()
        self.state = state
        self.runtime = runtime
        plan = state.get("plan")
        self.tell("node", node=node, n=plan["n"] if plan else 0, method=plan["method"] if plan else "")

    def tell(self, event: str, **details: Any) -> None:
        """One event on LangGraph's custom stream; `elapsed` counts the run's seconds over all its processes."""
        self.runtime.stream_writer({"event": event, "elapsed": round(self.spent()["seconds"], 3), **details})

    def seconds(self) -> float:
        return time.monotonic() - self.begun

    def spent(self) -> Spend:
        """The run's spend with this node's time; pure in the state, so that a node that runs again counts once."""
        before = self.state.get("spend") or none_spent()
        return {**before, "seconds": before["seconds"] + self.seconds(), "attempts": len(self.state.get("rows", []))}
