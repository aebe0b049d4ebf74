"""Every route for every state that can reach it: repair on failure, profile on success, stop on budget."""

import pytest

from graph import routes
from nodes.budget import exhausted, full, limits
from nodes.context import Context

PLAN = {"n": 2, "method": "unroll"}


def _state(verdict="ok", **keys):
    rows = [{"n": 1, "verdict": "ok"}, {"n": 2, "verdict": verdict}]
    spend = {"seconds": 30.0, "tokens": 0, "usd": 0.0, "attempts": 2}
    return {"plan": PLAN, "rows": rows, "spend": spend, "limits": limits(Context()), **keys}


def _within(state, **fields):
    return {**state, "limits": limits(Context(**fields))}


@pytest.mark.parametrize(
    ("state", "expected"), [({}, "designer"), ({"stop_reason": ""}, "designer"), ({"stop_reason": "bad-task"}, "finish")]
)
def test_after_admit(state, expected):
    assert routes.after_admit(state) == expected


@pytest.mark.parametrize(("state", "expected"), [({}, "coder"), ({"stop_reason": "unsupported"}, "finish")])
def test_after_designer(state, expected):
    assert routes.after_designer(state) == expected


@pytest.mark.parametrize(
    ("state", "expected"),
    [(_state(""), "verifier"), (_state("build"), "conductor"), (_state("build", stop_reason="environment"), "finish")],
)
def test_after_coder(state, expected):
    assert routes.after_coder(state) == expected


@pytest.mark.parametrize(
    ("state", "fields", "expected"),
    [
        (_state(), {}, "profiler"),
        (_state(), {"profile": False}, "conductor"),
        (_state("wrong"), {}, "conductor"),
        (_state("wrong"), {"minutes": 0.5}, "finish"),
        (_state("environment", stop_reason="environment"), {}, "finish"),
        (_state(), {"minutes": 0.6}, "profiler"),
    ],
)
def test_after_verifier(state, fields, expected):
    assert routes.after_verifier(_within(state, **fields)) == expected


@pytest.mark.parametrize(("fields", "expected"), [({}, "conductor"), ({"minutes": 0.1}, "finish")])
def test_after_profiler(fields, expected):
    assert routes.after_profiler(_within(_state(), **fields)) == expected


@pytest.mark.parametrize(
    ("state", "fields", "expected"),
    [
        (_state(next="coder"), {}, "coder"),
        (_state(next="designer"), {}, "designer"),
        (_state(next="profiler"), {}, "profiler"),
        (_state(next="coder"), {"attempts": 2}, "finish"),
        (_state(next="coder", stop_reason="converged"), {}, "finish"),
        (_state(next="coder"), {"minutes": 0.5}, "finish"),
        (_state(), {}, "finish"),
    ],
)
def test_after_conductor(state, fields, expected):
    assert routes.after_conductor(_within(state, **fields)) == expected


@pytest.mark.parametrize(
    ("spend", "fields", "expected"),
    [
        ({"seconds": 61.0}, {"minutes": 1}, "minutes"),
        ({"seconds": 60.0}, {"minutes": 1}, "minutes"),
        ({"seconds": 59.9}, {"minutes": 1}, ""),
        ({"tokens": 10}, {"max_tokens": 9}, "tokens"),
        ({"tokens": 0}, {"max_tokens": 0}, ""),
        ({"usd": 0.02}, {"max_usd": 0.01}, "usd"),
        ({"seconds": 1e9, "tokens": 10**9, "usd": 1e9}, {}, ""),
    ],
)
def test_exhausted(spend, fields, expected):
    zero = {"seconds": 0.0, "tokens": 0, "usd": 0.0, "attempts": 0}
    assert exhausted(_within({"spend": {**zero, **spend}}, **fields)) == expected


def test_attempts_are_counted_by_rows():
    assert full(_within(_state(), attempts=2)) == "attempts"
    assert full(_within(_state(), attempts=3)) == ""
