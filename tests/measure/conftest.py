"""One small task and one warm bench for the whole folder; tests that break sandboxes or need their own limits open their own."""

import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from measure.bench import Bench
from measure.limits import Limits
from measure.task import Task, load

SCALE = """
    import torch
    import torch.nn as nn

    class Model(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(size))

        def forward(self, x):
            return torch.softmax(x, dim=1) * self.weight

    def get_inputs():
        return [torch.rand(16, 96)]

    def get_init_inputs():
        return [96]
"""
CANDIDATE = """
import os, sys, time
import torch
import torch.nn as nn

{head}

class ModelNew(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
{body}
"""


def candidate(body: str, head: str = "") -> str:
    """A ModelNew for the scale task whose forward is `body`."""
    return CANDIDATE.format(head=textwrap.dedent(head), body=textwrap.indent(textwrap.dedent(body), " " * 8))


HONEST = candidate("""
    e = torch.exp(x - x.amax(1, keepdim=True))
    return e / e.sum(1, keepdim=True) * self.weight
""")


@pytest.fixture(scope="session")
def write_task(tmp_path_factory) -> Callable[[str], Task]:
    def write(source: str, name: str = "task") -> Task:
        path = Path(tmp_path_factory.mktemp("tasks")) / f"{name}.py"
        path.write_text(textwrap.dedent(source))
        return load(path)

    return write


@pytest.fixture(scope="session")
def scale_task(write_task) -> Task:
    return write_task(SCALE, "scale")


@pytest.fixture(scope="session")
def quick() -> Limits:
    return Limits(run_s=4.0, load_s=20.0, timing_s=0.2, confirm_s=0.4)


@pytest.fixture(scope="session")
def bench(scale_task, quick, kernel_cache) -> Iterator[Bench]:
    with Bench(scale_task, limits=quick) as made:
        assert made.admit()["ok"]
        yield made
