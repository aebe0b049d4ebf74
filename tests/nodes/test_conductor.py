"""The conductor on recorded ladders and profiles: outcomes, repair, the next method, and when it stops."""

import json

import pytest
import torch
from langgraph.runtime import Runtime
from torch import nn

from knowledge import runs
from knowledge.facts import facts
from knowledge.methods import SAFE, SEED, lanes
from nodes.conductor import FRUITLESS, conductor
from nodes.context import Context
from sketch.capture import capture
from sketch.text import print_sketch

VECTORISED = {**SEED, "vector": lanes(), "math": "poly"}
SCALAR = {"wall_ms": 10.0, "cpu_ms": 19.0, "packed_pct": 2.0, "pct_triad": 10.0, "pct_fma": 2.0, "gbs": 1.0, "minor_faults": 0}
STREAMING = {"wall_ms": 2.0, "cpu_ms": 3.9, "packed_pct": 90.0, "pct_triad": 70.0, "pct_fma": 5.0, "gbs": 7.0, "minor_faults": 0}


class Softmax(nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1)


TASK = "class Model: ...\ndef get_inputs(): ...\n"


@pytest.fixture(scope="module")
def sketch():
    return capture(Softmax(), (torch.randn(2048, 2048),), "softmax")


@pytest.fixture
def run(tmp_path, sketch):
    """A run in progress: `run(rows, profiles)` gives what the conductor changes."""
    folder = runs.create(tmp_path, "run", {"task": "softmax.py"})
    task = tmp_path / "softmax.py"
    task.write_text(TASK)
    sha = runs.keep(folder, "sketches", print_sketch(sketch))

    def conduct(rows, profiles=(), fraction=0.3, **fields):
        for n, metrics in enumerate(profiles, 1):
            made = {
                "metrics": metrics,
                "roofline": {"fraction": fraction, "memory_roof": "triad"},
                "ceilings": {"llc_bytes": 1 << 20},
            }
            made["diagnosis"] = {"bottleneck": "recorded"}
            runs.write(folder / "profiles" / f"source{n}.json", json.dumps(made))
        kept = [row for row in rows if row["kept"]]
        best = {key: kept[-1][key] for key in ("n", "source", "hints", "speedup", "time_ms")} if kept else None
        state = {
            "run_id": "run",
            "task": str(task),
            "folder": str(folder),
            "sketch": sha,
            "facts": facts(sketch),
            "rows": rows,
            "best": best,
        }
        return conductor(state, Runtime(context=Context(home=str(tmp_path), **fields)))

    return conduct


def _row(n, method="seed", verdict="ok", speedup=1.0, hints=SEED, kept=True, base=0, predict=None):
    row = {"n": n, "method": method, "hints": hints, "base": base, "source": f"source{n}", "verdict": verdict, "message": "why"}
    row |= {"kept": kept and verdict == "ok", "prediction": predict, "bottleneck": "", "reason": "given", "outcome": ""}
    if verdict == "ok":
        row |= {"speedup": {"median": speedup, "low": speedup * 0.99, "high": speedup * 1.01, "n": 30}, "time_ms": 10 / speedup}
    return row


def test_a_scalar_kernel_is_vectorised_next(run):
    changes = run([_row(1)], [SCALAR])
    assert changes["rows"][0]["outcome"] == "first"
    assert changes["rows"][0]["found"] == "recorded"
    plan = changes["plan"]
    assert (plan["n"], plan["method"], plan["base"], plan["bottleneck"]) == (2, "vectorise", 1, "not-vectorised")
    assert plan["hints"] == VECTORISED
    assert plan["prediction"] == {"metric": "packed_pct", "direction": "up", "by": 0.3}
    assert "packed_pct 2 (< 50)" in plan["reason"]
    assert changes["next"] == "coder"


def test_a_confirmed_prediction_and_the_next_bottleneck(run):
    predict = {"metric": "packed_pct", "direction": "up", "by": 0.3}
    rows = [_row(1), _row(2, "vectorise", speedup=4.0, hints=VECTORISED, base=1, predict=predict)]
    changes = run(rows, [SCALAR, STREAMING])
    assert changes["rows"][0]["outcome"] == "confirmed"
    assert changes["rows"][0]["moved"] == pytest.approx(44.0)
    plan = changes["plan"]
    assert (plan["method"], plan["base"], plan["bottleneck"]) == ("streaming-stores", 2, "dram-bandwidth")
    assert plan["hints"] == {**VECTORISED, "store": "streaming"}


def test_worse_goes_back_to_the_best(run):
    predict = {"metric": "gbs", "direction": "up", "by": 0.1}
    streaming = {**VECTORISED, "store": "streaming"}
    rows = [
        _row(1),
        _row(2, "vectorise", speedup=4.0, hints=VECTORISED, base=1),
        _row(3, "streaming-stores", speedup=2.0, hints=streaming, kept=False, base=2, predict=predict),
    ]
    changes = run(rows, [SCALAR, STREAMING, {**STREAMING, "gbs": 9.0}])
    assert changes["rows"][0]["outcome"] == "worse"
    assert changes["plan"]["base"] == 2
    assert changes["plan"]["hints"]["store"] == "cached"
    assert changes["plan"]["method"] == "huge-pages"


@pytest.mark.parametrize(("gbs", "expected"), [(9.0, "moved but not faster"), (7.1, "no effect")])
def test_not_faster(run, gbs, expected):
    predict = {"metric": "gbs", "direction": "up", "by": 0.1}
    rows = [_row(1), _row(2, "huge-pages", speedup=1.01, hints={**SEED, "pages": "huge"}, kept=False, base=1, predict=predict)]
    assert run(rows, [STREAMING, {**STREAMING, "gbs": gbs}])["rows"][0]["outcome"] == expected


@pytest.mark.parametrize("verdict", ["build", "run", "wrong", "crash", "timeout"])
def test_a_broken_method_is_left_for_the_rest_of_the_run(run, verdict):
    rows = [_row(1), _row(2, "vectorise", verdict, hints=VECTORISED, base=1)]
    changes = run(rows, [SCALAR])
    assert changes["rows"][0]["outcome"] == "failed"
    assert changes["plan"]["base"] == 1
    assert changes["plan"]["method"] != "vectorise"


def test_nothing_verified_yet_falls_back_to_safe_hints_and_then_stops(run):
    first = run([_row(1, verdict="wrong")])
    assert (first["plan"]["method"], first["plan"]["hints"], first["plan"]["n"]) == ("safe", SAFE, 2)
    second = run([_row(1, verdict="wrong"), _row(2, "safe", "wrong", hints=SAFE)])
    assert (second["next"], second["stop_reason"], second["message"]) == ("finish", "no-verified-kernel", "why")


def test_what_cannot_be_lowered_at_all_is_unsupported(run):
    rows = [_row(1, verdict="unsupported"), _row(2, "safe", "unsupported", hints=SAFE)]
    assert run(rows)["stop_reason"] == "unsupported"


def test_the_roof_stops_the_run(run):
    changes = run([_row(1)], [{**STREAMING, "pct_triad": 95.0}], fraction=0.95)
    assert (changes["next"], changes["stop_reason"]) == ("finish", "at-the-roof")
    assert "roof_pct 95 (>= 92)" in changes["message"]


def test_converges_when_nothing_more_helps(run):
    rows, seen, changes = [_row(1)], [], {}
    for n in range(2, 60):
        changes = run(rows, [STREAMING] * len(rows))
        if changes["next"] == "finish":
            break
        plan = changes["plan"]
        seen.append(json.dumps(plan["hints"], sort_keys=True))
        rows.append(_row(n, plan["method"], speedup=1.0, hints=plan["hints"], kept=False, base=1, predict=plan["prediction"]))
    assert changes["stop_reason"] == "converged"
    assert len(seen) == len(set(seen)) >= FRUITLESS
    tried = [row["method"] for row in rows]
    assert {"streaming-stores", "huge-pages", "online-passes", "buffer-rows", "vectorise"} <= set(tried)


def test_without_a_profile_only_time_is_predicted(run):
    changes = run([_row(1)], profile=False)
    assert changes["plan"]["method"] == "vectorise"
    assert changes["plan"]["prediction"] == {"metric": "time_ms", "direction": "down", "by": 0.05}
    predict = changes["plan"]["prediction"]
    rows = [_row(1), _row(2, "vectorise", speedup=2.0, hints=VECTORISED, base=1, predict=predict)]
    assert run(rows, profile=False)["rows"][0]["outcome"] == "confirmed"


def test_a_node_that_runs_again_changes_nothing(run):
    rows = [_row(1), _row(2, "vectorise", speedup=4.0, hints=VECTORISED, base=1)]
    first, second = (run(rows, [SCALAR, STREAMING]) for _ in range(2))
    assert first["plan"] == second["plan"]
    assert first["rows"] == second["rows"]
