"""The drawn graph, the forms that Studio shows, and the graph as a Python user meets it."""

import os
from pathlib import Path

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from graph.build import build, graph
from graph.context import Context

GOLDEN = Path(__file__).with_name("graph.mmd")


def test_the_drawn_graph_is_current():
    drawn = graph.get_graph().draw_mermaid()
    if os.environ.get("REDRAW"):
        GOLDEN.write_text(drawn)
    assert drawn == GOLDEN.read_text(), (
        "the graph has changed: REDRAW=1 pytest tests/graph/test_build.py, and look at the difference"
    )


def test_the_input_form_has_few_described_fields():
    form = graph.get_input_jsonschema()["properties"]
    assert list(form) == ["task", "notes"]
    assert all(len(field["description"]) > 20 for field in form.values())


def test_every_setting_is_described_and_frozen():
    form = graph.get_context_jsonschema()["properties"]
    assert {"backend", "model", "attempts", "minutes", "max_tokens", "max_usd", "precision", "search", "profile"} <= set(form)
    assert all(field["description"].endswith(".") for field in form.values())
    with pytest.raises(ValueError, match="frozen"):
        Context().attempts = 3
    for bad in ({"attempts": 0}, {"precision": "exact"}, {"backend": "abacus"}, {"minutes": 0}, {"unknown": 1}):
        with pytest.raises(ValueError, match="validation error"):
            Context(**bad)


def test_the_graph_is_exported_bare():
    assert graph.checkpointer is None
    assert graph.name == "pragma"


@pytest.mark.slow
def test_a_run_from_python_stops_and_goes_on(tmp_path, tiny):
    """The README's snippet: compiled graph, invoke, resume from a checkpoint."""
    context = Context(attempts=2, home=str(tmp_path / "home"))
    config = {"configurable": {"thread_id": "tiny"}}
    with SqliteSaver.from_conn_string(str(tmp_path / "checkpoints.sqlite")) as saver:
        build(saver).invoke({"task": str(tiny)}, config, context=context, interrupt_after=["verifier"])
    with SqliteSaver.from_conn_string(str(tmp_path / "checkpoints.sqlite")) as saver:
        state = build(saver).invoke(None, config, context=context)
    assert [row["n"] for row in state["rows"]] == [1, 2]
    assert state["best"]["speedup"]["median"] > 0
    assert (Path(state["folder"]) / "best.py").exists()
    assert state["stop_reason"]
