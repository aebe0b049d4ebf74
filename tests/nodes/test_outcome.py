"""Outcomes: time first, then the predicted metric; a difference within the noise is none."""

import pytest

from nodes.outcome import better, compare, judge, moved


def _speedup(median, width=0.02):
    return {"median": median, "low": median * (1 - width), "high": median * (1 + width), "n": 30}


UP = {"metric": "gbs", "direction": "up", "by": 0.2}


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        (_speedup(2.0), _speedup(1.0), "faster"),
        (_speedup(1.02), _speedup(1.0), "tie"),
        (_speedup(0.98), _speedup(1.0), "tie"),
        (_speedup(0.8), _speedup(1.0), "slower"),
        (_speedup(1.15, 0.2), _speedup(1.0, 0.2), "tie"),
        (_speedup(1.15, 0.05), _speedup(1.0, 0.05), "faster"),
    ],
)
def test_compare(new, old, expected):
    assert compare(new, old) == expected


def test_a_badly_measured_best_gives_way_to_a_surer_one():
    lucky = {"median": 25.3, "low": 0.75, "high": 372.0, "n": 43}
    sure = {"median": 0.95, "low": 0.93, "high": 0.97, "n": 60}
    assert compare(sure, lucky) == "tie"
    assert better(sure, lucky)
    assert not better(lucky, sure)
    assert not better(_speedup(1.02), _speedup(1.0))
    assert better(_speedup(1.2), _speedup(1.0))


@pytest.mark.parametrize(
    ("now", "before", "expected"),
    [
        ({"gbs": 12.0}, {"gbs": 10.0}, 0.2),
        ({"gbs": 5.0}, {"gbs": 10.0}, -0.5),
        ({"gbs": 5.0}, {"gbs": 0.0}, 1.0),
        ({"gbs": 0.0}, {"gbs": 0.0}, 0.0),
        ({}, {"gbs": 10.0}, None),
        ({"gbs": 1.0}, {"gbs": None}, None),
    ],
)
def test_moved(now, before, expected):
    assert moved(UP, now, before) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("new", "change", "expected"),
    [
        (1.5, 0.2, "confirmed"),
        (1.5, 0.1, "confirmed"),
        (1.5, 0.05, "faster for another reason"),
        (1.5, None, "faster for another reason"),
        (1.5, -0.3, "faster for another reason"),
        (1.0, 0.3, "moved but not faster"),
        (1.0, 0.0, "no effect"),
        (0.7, 0.3, "worse"),
    ],
)
def test_judge(new, change, expected):
    assert judge(_speedup(new), _speedup(1.0), UP, change) == expected


def test_a_fall_confirms_a_predicted_fall():
    down = {"metric": "minor_faults", "direction": "down", "by": 0.8}
    assert judge(_speedup(1.5), _speedup(1.0), down, -0.9) == "confirmed"
    assert judge(_speedup(1.5), _speedup(1.0), down, -0.2) == "faster for another reason"


def test_the_first_attempt_has_nothing_to_beat():
    assert judge(_speedup(0.5), None, None, None) == "first"
