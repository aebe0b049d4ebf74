"""Designer: the algorithm as a Unified Sketch, and the first attempt's plan."""

from pathlib import Path

import torch
from langgraph.runtime import Runtime

from knowledge import runs
from knowledge.facts import facts
from knowledge.methods import SEED
from measure.policy import cast_value, named
from measure.task import TaskError, instantiate, load
from nodes.context import Context, settings
from nodes.progress import Clock
from nodes.state import Plan, State
from sketch.capture import capture
from sketch.ir import Sketch
from sketch.text import print_sketch
from sketch.values import Unsupported


def designer(state: State, runtime: Runtime[Context]) -> State:
    """Captures the sketch and keeps its text by hash; an operator it cannot hold ends the run, named in one line."""
    clock = Clock("designer", state, runtime)
    try:
        sketch = _captured(state["task"], settings(runtime).precision)
    except Unsupported as error:
        return {"stop_reason": "unsupported", "message": f"{error.operator}: {error.message}", "spend": clock.spent()}
    except TaskError as error:
        return {"stop_reason": "bad-task", "message": error.message, "spend": clock.spent()}
    sha = runs.keep(Path(state["folder"]), "sketches", print_sketch(sketch))
    found = facts(sketch)
    clock.tell("sketch", sketch=sha, **found)
    return {"sketch": sha, "facts": found, "plan": state.get("plan") or _first(state), "spend": clock.spent()}


def _captured(path: str, precision: str) -> Sketch:
    """In the policy's dtype and the module's own mode: a batch norm that trains is another operator than one that does not."""
    task = load(path)
    instance = instantiate(task)
    dtype = named(precision).cast
    model = instance.model if dtype is None else instance.model.to(getattr(torch, dtype))
    return capture(model, [cast_value(x, dtype) if isinstance(x, torch.Tensor) else x for x in instance.inputs], task.name)


def _first(state: State) -> Plan:
    """Attempt 1: the best known kernel as it is, else the plainest lowering, which shows what each method brings."""
    known = state.get("known")
    return {
        "n": 1,
        "method": "recall" if known else "seed",
        "hints": known["hints"] if known else dict(SEED),
        "base": 0,
        "source": known["source"] if known else "",
        "prediction": None,
        "bottleneck": "",
        "reason": f"best of {known['run_id']}, {known['speedup']:.2f}x then" if known else "the plainest kernel",
    }
