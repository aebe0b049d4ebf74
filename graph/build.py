"""The graph: admit, design, write, verify, profile, conduct, and round again until a budget or the roof stops it.

Exported bare, without saver, network or key, so that `langgraph dev`, the CLI and a caller's own checkpointer can each
run the same `graph`.
"""

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from graph import routes
from nodes.admit import admit
from nodes.coder import coder
from nodes.conductor import conductor
from nodes.context import Context
from nodes.designer import designer
from nodes.finish import finish
from nodes.profiler import profiler
from nodes.state import Input, State
from nodes.verifier import verifier

Pragma = CompiledStateGraph[State, Context, Input, State]
NODES = {
    "admit": admit,
    "designer": designer,
    "coder": coder,
    "verifier": verifier,
    "profiler": profiler,
    "conductor": conductor,
    "finish": finish,
}


def build(checkpointer: BaseCheckpointSaver | None = None) -> Pragma:
    """The compiled graph; give a checkpointer to make every attempt resumable."""
    plan = StateGraph(State, context_schema=Context, input_schema=Input)
    for name, node in NODES.items():
        plan.add_node(name, node)
    plan.add_edge(START, "admit")
    plan.add_conditional_edges("admit", routes.after_admit)
    plan.add_conditional_edges("designer", routes.after_designer)
    plan.add_conditional_edges("coder", routes.after_coder)
    plan.add_conditional_edges("verifier", routes.after_verifier)
    plan.add_conditional_edges("profiler", routes.after_profiler)
    plan.add_conditional_edges("conductor", routes.after_conductor)
    plan.add_edge("finish", END)
    return plan.compile(checkpointer=checkpointer, name="pragma")


graph = build()
