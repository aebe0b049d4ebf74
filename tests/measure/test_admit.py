"""Admission: what is wrong with a task is one line with a kind; what is weak about it is told."""

from dataclasses import replace

import pytest

from measure.bench import Bench

TASK = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, *args):
        super().__init__()
        {init}

    def forward(self, x):
        return {forward}

def get_inputs():
    return [{inputs}]

def get_init_inputs():
    return [{args}]
"""


def source(forward, inputs="torch.rand(8, 32)", init="pass", args=""):
    return TASK.format(forward=forward, inputs=inputs, init=init, args=args)


BROKEN = {
    "reference-raises": source("x @ x"),
    "init-raises": source("x", init="raise ValueError('odd')"),
    "inputs-raise": source("x", inputs="1 / 0"),
    "import-raises": "import nothing_of_that_name\n" + source("x"),
    "non-tensor-output": source("'text'"),
    "nondeterministic": source("nn.functional.dropout(x, 0.5)"),
    "non-finite-output": source("x * float('nan')"),
    "empty-output": source("x[:0]"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_task_is_named(write_task, quick, kind):
    task = write_task(BROKEN[kind], kind.replace("-", "_"))
    with Bench(task, limits=quick) as bench:
        verdict = bench.admit()
        assert (verdict["ok"], verdict["kind"]) == (False, kind), verdict["message"]
        assert task.path in verdict["message"] and "\n" not in verdict["message"]
        again = bench.judge("class ModelNew: pass")
        assert not again["ok"]


def test_a_reference_that_dies_or_hangs_is_the_tasks_fault(write_task, quick):
    with Bench(write_task(source("__import__('os')._exit(1)"), "dies"), limits=quick) as bench:
        assert bench.admit()["kind"] == "reference-crash"
    short = replace(quick, load_s=1.0)
    with Bench(write_task(source("__import__('time').sleep(600)"), "hangs"), limits=short) as bench:
        assert bench.admit()["kind"] == "reference-timeout"


WEAK = {
    "x * 0": {"zeros on plain inputs", "zeros on strong inputs", "stale on plain inputs", "stale on strong inputs"},
    "torch.relu(x)": {"first-input on plain inputs"},
    "torch.relu(x) + 2 * x": set(),
    "torch.ones_like(x)": {"ones on plain inputs", "ones on strong inputs", "stale on plain inputs", "stale on strong inputs"},
}


@pytest.mark.parametrize("forward", WEAK)
def test_weak_tasks_are_told(write_task, quick, forward):
    with Bench(write_task(source(forward), "weak"), limits=quick) as bench:
        verdict = bench.admit()
        assert verdict["ok"] and set(verdict["evidence"]["weak"]) == WEAK[forward]


def test_strong_inputs_that_the_reference_cannot_take_are_told(write_task, quick):
    with Bench(write_task(source("nn.functional.binary_cross_entropy(x, x.round())"), "bce"), limits=quick) as bench:
        verdict = bench.admit()
        assert verdict["ok"] and "strong" in verdict["evidence"]["skipped"]


def test_odd_but_legal_tasks(write_task, quick):
    """Integer inputs and outputs, views, plain tensor attributes, init inputs that are no JSON, several outputs."""
    args = "{'k': torch.arange(4)}, slice(1, 3)"
    forward = "{'top': x.topk(2, dim=1), 'view': x.T, 'sum': (x + self.shift).sum()}"
    text = source(forward, "torch.randint(0, 1000, (8, 32))", "self.shift = torch.tensor(0.5); self.part = args[1]", args)
    with Bench(write_task(text, "odd"), limits=quick) as bench:
        verdict = bench.admit()
        assert verdict["ok"], verdict["message"]
        assert [o["dtype"] for o in verdict["evidence"]["outputs"]] == ["int64", "int64", "int64", "float32"]
        same = bench.judge(text.replace("class Model", "class ModelNew"))
        assert same["ok"], same["message"]
        assert bench.judge(text.replace("class Model", "class ModelNew").replace(".topk(2", ".topk(3"))["kind"] == "shape"
