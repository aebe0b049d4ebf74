"""What one attempt costs beside building and measuring: graph, checkpoints, lowering, diagnosis, choice, run folder.

python -m benchmarks.orchestration [ATTEMPTS]      (prints milliseconds per attempt; the target is below 50)
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from backends.cpp import collect
from graph.context import Context
from graph.run import start
from measure.bench import Bench
from nodes import coder, profiler

TASK = """
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1)


def get_inputs():
    return [torch.randn(64, 512)]


def get_init_inputs():
    return []
"""
MEASURING = ((Bench, "judge"), (Bench, "profile"), (coder, "build"), (collect, "static"), (profiler, "ceilings"))


class Clock:
    """Seconds spent inside the calls that build or measure."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **named: Any) -> Any:
            begun = time.perf_counter()
            try:
                return call(*args, **named)
            finally:
                self.seconds += time.perf_counter() - begun

        return timed


@contextmanager
def measured() -> Iterator[Clock]:
    """A clock that stands around every call that builds or measures."""
    clock, before = Clock(), [(place, name, getattr(place, name)) for place, name in MEASURING]
    for place, name, call in before:
        setattr(place, name, clock.around(call))
    try:
        yield clock
    finally:
        for place, name, call in before:
            setattr(place, name, call)


def costs(attempts: int, home: Path) -> list[float]:
    """Milliseconds of each attempt, from its coder to the next one's, less building and measuring."""
    task = home / "softmax.py"
    task.write_text(TASK)
    marks: list[float] = []
    with measured() as clock:
        _, events = start(task, Context(home=str(home), attempts=attempts))
        for event in events:
            if event["event"] == "node" and event["node"] in ("coder", "finish"):
                marks.append(time.perf_counter() - clock.seconds)
    return [1000 * (after - before) for before, after in pairwise(marks)]


def main() -> None:
    attempts = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    with tempfile.TemporaryDirectory() as home:
        found = costs(attempts, Path(home))
    print("attempt  ms")
    for number, cost in enumerate(found, 1):
        print(f"{number:7d}  {cost:.1f}")
    print(f"orchestration per attempt: median {statistics.median(found):.1f} ms, most {max(found):.1f} ms (target < 50 ms)")


if __name__ == "__main__":
    main()
