"""The one way from a sketch under hints to a candidate file: the coder writes it, the conductor asks whether it is new."""

from functools import lru_cache
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
    return _parsed(runs.text_path(Path(state["folder"]), "sketches", state["sketch"]).read_text())


def candidate(state: State, hints: Hints) -> str:
    """The whole candidate file; raises Unsupported naming the operator, or TaskError when the task file is gone."""
    text = runs.text_path(Path(state["folder"]), "sketches", state["sketch"]).read_text()
    return _rendered(text, tuple(sorted(hints.items())), load(state["task"]).source)


@lru_cache(maxsize=64)
def _rendered(sketch: str, hints: tuple[tuple[str, str | int], ...], task: str) -> str:
    hinted = _parsed(sketch).with_hints(**dict(hints))
    return render(hinted, lower(hinted), task)


@lru_cache(maxsize=8)
def _parsed(sketch: str) -> Sketch:
    return parse(sketch)
