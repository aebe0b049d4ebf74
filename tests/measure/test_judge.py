"""Each wrong candidate gets its own kind; honest ones pass."""

import pytest

from measure.bench import Bench
from tests.measure.conftest import HONEST, candidate

WRONG = {
    "zeros": ("wrong", "return torch.zeros_like(x)"),
    "first input": ("wrong", "return x.clone()"),
    "off by a thousandth": ("wrong", "return torch.softmax(x, 1) * self.weight * 1.001"),
    "one element": ("wrong", "y = torch.softmax(x, 1) * self.weight\ny[3, 5] += 1e-4\nreturn y"),
    "weight dropped": ("wrong", "return torch.softmax(x, 1)"),
    "no maximum, inputs in [0, 1) only": ("wrong", "e = torch.exp(x.clamp(0, 1))\nreturn e / e.sum(1, keepdim=True) * self.weight"),
    "half precision": ("wrong", "return (torch.softmax(x.bfloat16(), 1) * self.weight).float()"),
    "shape": ("shape", "return torch.softmax(x, 1)[:, :5]"),
    "dtype": ("dtype", "return torch.softmax(x, 1).double()"),
    "tuple": ("type", "return (torch.softmax(x, 1) * self.weight,)"),
    "parameter": ("type", "return nn.Parameter(torch.softmax(x, 1) * self.weight)"),
    "not a tensor": ("run", "return object()"),
    "nan": ("nan", "y = torch.softmax(x, 1) * self.weight\ny[0, 0] = float('nan')\nreturn y"),
    "mutated": ("mutated", "y = torch.softmax(x, 1) * self.weight\nx.add_(1)\nreturn y"),
    "in place": ("mutated", "return x.copy_(torch.softmax(x, 1) * self.weight)"),
    "raises": ("run", "raise ValueError('broken here')"),
    "exits": ("run", "sys.exit(0)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_candidate_is_named(bench, name):
    kind, body = WRONG[name]
    verdict = bench.judge(candidate(body))
    assert (verdict["ok"], verdict["kind"]) == (False, kind), verdict["message"]
    assert verdict["message"] and verdict["evidence"]["sandbox_tier"] == bench.sandbox_tier


MEMORY = """
class Kept:
    buffer = None
"""


def test_a_reused_output_buffer_is_an_alias(bench):
    body = """
        if Kept.buffer is None:
            Kept.buffer = torch.empty_like(x)
        return torch.mul(torch.softmax(x, 1), self.weight, out=Kept.buffer)
    """
    verdict = bench.judge(candidate(body, MEMORY))
    assert verdict["kind"] in ("alias", "wrong")


@pytest.mark.parametrize("key", ["x.data_ptr()", "tuple(x.shape)", "x._version"])
def test_a_cache_by_anything_but_content_is_wrong(bench, key):
    body = f"""
        if {key} not in SEEN:
            SEEN[{key}] = torch.softmax(x, 1) * self.weight
        return SEEN[{key}].clone()
    """
    verdict = bench.judge(candidate(body, "SEEN = {}\n"))
    assert verdict["kind"] == "wrong"


def test_weights_folded_at_construction_are_wrong(bench):
    source = HONEST.replace("(torch.ones(size))", "(torch.ones(size)); self.w = 1.0")
    assert bench.judge(source.replace("* self.weight", "* self.w"))["kind"] == "wrong"


def test_an_honest_candidate_passes_with_evidence(bench):
    verdict = bench.judge(HONEST)
    assert verdict["ok"] and verdict["kind"] == "ok", verdict["message"]
    evidence = verdict["evidence"]
    assert {e["case"] for e in evidence["errors"]} == {"plain-0", "plain-1", "plain-2", "strong", "perturbed"}
    assert all(e["error"] <= e["limit"] < 1e-5 for e in evidence["errors"])
    assert len(set(evidence["seeds"].values())) == 5
    speedup = evidence["speedup"]["eager"]
    assert 0 < speedup["low"] <= speedup["median"] <= speedup["high"] and speedup["n"] >= 5
    assert evidence["time_ms"]["candidate"] > 0 and evidence["time_ms"]["eager"] > 0
    assert isinstance(evidence["noisy"], bool) and evidence["judge_s"] > 0


def test_a_much_slower_candidate_reads_slower(bench):
    verdict = bench.judge(candidate("time.sleep(0.02)\nreturn torch.softmax(x, 1) * self.weight"))
    assert verdict["ok"] and verdict["evidence"]["speedup"]["eager"]["high"] < 0.7
    assert verdict["evidence"]["time_ms"]["candidate"] > 19


STAGES = {
    "syntax": "def broken(:\n",
    "import": "import no_such_module_anywhere\n",
    "no-model-new": "x = 1\n",
    "build": "class BuildError(Exception): pass\nraise BuildError('g++ said no')\n",
    "init": HONEST.replace("super().__init__()", "super().__init__(); raise RuntimeError('no')"),
    "state": HONEST.replace("self.weight", "self.other"),
}


@pytest.mark.parametrize("kind", STAGES)
def test_each_stage_has_its_kind(bench, kind):
    verdict = bench.judge(STAGES[kind])
    assert (verdict["ok"], verdict["kind"]) == (False, kind), verdict["message"]


def test_state_names_the_keys_and_run_shows_the_line(bench):
    assert "missing weight; unexpected other" in bench.judge(STAGES["state"])["message"]
    trace = bench.judge(candidate("return undefined_name"))["evidence"]["trace"]
    assert any("undefined_name" in line for line in trace)


def test_printing_is_captured_and_bounded(bench, capfd):
    verdict = bench.judge(candidate("raise ValueError('after much talk')", "print('noise ' * 200000)\nos.write(1, b'raw')\n"))
    assert verdict["kind"] == "run"
    out, err = capfd.readouterr()
    assert "noise" not in out + err and "raw" not in out + err


def test_profile_counts_per_call(bench):
    raw = bench.profile(HONEST)["evidence"]["raw"]
    assert raw["calls"] >= 3 and raw["wall_s"] > 0 and raw["cpu_s"] > 0 and raw["threads"] >= 1
    assert raw["bytes"] == pytest.approx(2 * 16 * 96 * 4 + 96 * 4, abs=400)


def test_triton_in_the_interpreter_is_judged_but_not_timed(bench):
    pytest.importorskip("triton")
    body = """
        y = torch.empty_like(x)
        row[(x.shape[0],)](x, self.weight, y, x.shape[1], BLOCK=128)
        return y
    """
    head = """
        import triton
        import triton.language as tl

        @triton.jit
        def row(x, w, y, n, BLOCK: tl.constexpr):
            at = tl.arange(0, BLOCK)
            v = tl.load(x + tl.program_id(0) * n + at, mask=at < n, other=-float("inf"))
            e = tl.exp(v - tl.max(v, 0))
            tl.store(y + tl.program_id(0) * n + at, e / tl.sum(e, 0) * tl.load(w + at, mask=at < n), mask=at < n)
    """
    verdict = bench.judge(candidate(body, head))
    assert verdict["ok"], verdict["message"]
    assert verdict["evidence"]["timing"] == "skipped: interpreter" and "speedup" not in verdict["evidence"]


NORM = """
    import torch
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = torch.nn.BatchNorm1d(8)
        def forward(self, x):
            return self.norm(x).max(dim=1)
    def get_inputs():
        return [torch.rand(32, 8)]
    def get_init_inputs():
        return []
"""
FROZEN = "torch.nn.functional.batch_norm(x, None, None, self.norm.weight, self.norm.bias, training=True)"


def test_buffers_and_named_tuples(write_task, quick):
    task = write_task(NORM, "norm")
    same = task.source.replace("class Model", "class ModelNew")
    with Bench(task, limits=quick) as bench:
        assert bench.judge(same)["evidence"]["state"] == "updated"
        frozen = bench.judge(same.replace("self.norm(x)", FROZEN))
        assert frozen["ok"] and frozen["evidence"]["state"] == "not updated"
        assert bench.judge(same.replace(".max(dim=1)", ".min(dim=1)"))["kind"] == "wrong"


@pytest.mark.parametrize("precision", ["kernelbench", "bf16"])
def test_policies_apply_to_both_sides(scale_task, quick, precision):
    with Bench(scale_task, precision, limits=quick) as bench:
        assert bench.admit()["ok"]
        verdict = bench.judge(HONEST)
        assert verdict["ok"], verdict["message"]
        assert verdict["evidence"]["precision"] == precision
        assert bench.judge(candidate("return torch.softmax(x, 1) * self.weight * 1.1"))["kind"] == "wrong"
        if precision == "bf16":
            assert bench.judge(candidate("return (torch.softmax(x, 1) * self.weight).float()"))["kind"] == "dtype"
