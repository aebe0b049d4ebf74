"""The choice of the next change on real sketches: table order, applicability, no repetition, fresh before stale."""

import pytest
import torch
from torch import nn

from knowledge import methods
from knowledge.facts import facts
from knowledge.methods import SEED, Search, Tried, choose, covered, lanes
from sketch.capture import capture

DRAM = [{"bottleneck": "dram-bandwidth", "confidence": 0.8, "evidence": []}]
SCALAR = [{"bottleneck": "not-vectorised", "confidence": 0.9, "evidence": []}, *DRAM]


class Softmax(nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1)


class Relu(nn.Module):
    def forward(self, x):
        return torch.relu(x)


class Matmul(nn.Module):
    def forward(self, a, b):
        return a @ b


@pytest.fixture(scope="module")
def softmax():
    return capture(Softmax(), (torch.randn(1024, 1024),), "softmax")


@pytest.fixture(scope="module")
def relu():
    return capture(Relu(), (torch.randn(8, 8),), "relu")


@pytest.fixture(scope="module")
def matmul():
    return capture(Matmul(), (torch.randn(64, 64), torch.randn(64, 64)), "matmul")


def _tried(method, hints, fruitful=False, broken=False):
    return Tried(method, hints, fruitful, broken)


def _search(sketch, base, ranked, tried, **more):
    return Search(sketch, base, ranked, facts(sketch), tried, **more)


def _choose(sketch, base, ranked, tried, **more):
    return choose(_search(sketch, base, ranked, tried, **more))


def _all(sketch, base, ranked):
    """Every choice in turn, none of them fruitful."""
    tried, chosen = [_tried("seed", base, fruitful=True)], []
    while choice := _choose(sketch, base, ranked, tried):
        chosen.append(choice.method)
        tried.append(_tried(choice.method, choice.hints))
    return chosen, tried


def test_the_likeliest_bottleneck_comes_first(softmax):
    choice = _choose(softmax, SEED, SCALAR, [])
    assert choice.method == "vectorise"
    assert choice.hints == {**SEED, "vector": lanes(), "math": "poly"}
    assert choice.predict["metric"] == "packed_pct"
    assert choice.bottleneck == "not-vectorised"


def test_then_the_next_ones_then_the_rest_and_nothing_twice(softmax):
    chosen, tried = _all(softmax, SEED, SCALAR)
    assert chosen[:2] == ["vectorise", "unroll"]
    assert chosen.index("streaming-stores") < chosen.index("dynamic-schedule")
    assert len(chosen) == len(set(chosen))
    assert len({tuple(sorted(attempt.hints.items())) for attempt in tried}) == len(tried)


def test_what_the_likeliest_bottleneck_forbids_is_left_out(softmax):
    base = {**SEED, "vector": lanes(), "unroll": 4, "math": "poly"}
    chosen, _ = _all(softmax, base, DRAM)
    assert "split-nests" not in chosen
    assert "streaming-stores" in chosen


def test_only_what_applies(relu, softmax, matmul):
    small, _ = _all(relu, SEED, DRAM)
    assert not {"huge-pages", "streaming-stores", "online-passes", "tile-wide", "buffer-rows"} & set(small)
    assert {"huge-pages", "online-passes"} <= set(_all(softmax, SEED, DRAM)[0])
    assert {"tile-wide", "tile-deep", "tile-small"} <= set(_all(matmul, SEED, [])[0])
    assert "tile-large" not in _all(matmul, SEED, [])[0]


def test_a_broken_method_is_out_and_a_fruitless_one_waits(softmax):
    vectorised = {**SEED, "vector": lanes(), "math": "poly"}
    broken = [_tried("vectorise", vectorised, broken=True)]
    assert _choose(softmax, SEED, SCALAR, broken).method == "unroll"
    base = vectorised
    stale = [_tried("huge-pages", {**SEED, "pages": "huge"}), _tried("vectorise", base, fruitful=True)]
    first = _choose(softmax, base, [{"bottleneck": "page-faults", "confidence": 0.9, "evidence": []}], stale)
    assert first.method != "huge-pages"
    everything = [_tried(method["name"], {"x": n}) for n, method in enumerate(methods.read(methods.RULES)["method"])]
    again = _choose(softmax, base, [], everything)
    assert again.method == "unroll"
    assert not again.fresh


def test_a_fruitful_step_may_be_taken_again(softmax):
    doubled = {**SEED, "unroll": 2}
    tried = [_tried("unroll", doubled, fruitful=True)]
    parallel = [{"bottleneck": "instruction-parallelism", "confidence": 0.5, "evidence": []}]
    assert _choose(softmax, doubled, parallel, tried).hints == {**SEED, "unroll": 4}


def test_covered_when_the_diagnosed_classes_are_tried(softmax):
    _, tried = _all(softmax, SEED, SCALAR)
    assert not covered(_search(softmax, SEED, SCALAR, tried[:3]))
    assert covered(_search(softmax, SEED, SCALAR, tried))
    assert _choose(softmax, SEED, SCALAR, tried) is None


def test_steps_end_at_the_ends(softmax):
    widest = {**SEED, "unroll": 16, "vector": 32}
    chosen, _ = _all(softmax, widest, [])
    assert "unroll" not in chosen
    assert "wide-vector" not in chosen
    assert "narrow-vector" not in _all(softmax, {**SEED, "vector": 4}, [])[0]


def test_facts(softmax, matmul, relu):
    assert facts(softmax)["online"] == 1
    assert facts(softmax)["output_bytes"] == 4 << 20
    assert facts(matmul)["contraction"] == 1
    assert facts(relu) == {**facts(relu), "ops": 1, "nests": 1, "reductions": 0, "online": 0, "reuse": 0, "bytes": 512}


def test_hints_that_change_no_kernel_are_skipped(softmax):
    same = {**SEED, "vector": lanes(), "math": "poly"}
    assert _choose(softmax, SEED, SCALAR, [], novel=lambda hints: hints != same).method == "unroll"
    assert _choose(softmax, SEED, SCALAR, [], novel=lambda hints: False) is None
    assert covered(_search(softmax, SEED, SCALAR, [], novel=lambda hints: False))
