"""The one way from a sketch under hints to a candidate file: the coder writes it, the conductor asks whether it is new."""

from pathlib import Path

from backends.cpp.candidate import render
from backends.cpp.lower import lower
from knowledge import runs
from measure.task import load
from nodes.state import Hints, State
from sketch.ir import Sketch
from sketch.text import parse


def sketch_of(state: State) -> Sketch:
    """The run's sketch, read from its folder."""
    return parse(runs.text_path(Path(state["folder"]), "sketches", state["sketch"]).read_text())


def candidate(state: State, sketch: Sketch, hints: Hints) -> str:
    """The whole candidate file; raises Unsupported naming the operator, or TaskError when the task file is gone."""
    hinted = sketch.with_hints(**hints)
    return render(hinted, lower(hinted), load(state["task"]).source)
