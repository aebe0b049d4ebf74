"""The live view from the graph's events: what a terminal and what a pipe shows, and the time left."""

import io

import pytest
from rich.console import Console

from app import live
from app.numbers import interval, seconds, times, worst

SLOW, FAST = ({"median": m, "low": m - 0.1, "high": m + 0.1, "n": 40} for m in (1.2, 3.5))
EVENTS = [
    {"event": "node", "node": "admit", "n": 0, "elapsed": 0.1},
    {"event": "node", "node": "verifier", "n": 1, "method": "seed", "elapsed": 2.0},
    {"event": "attempt", "n": 1, "method": "seed", "verdict": "ok", "speedup": SLOW, "time_ms": 4.0, "elapsed": 3.0},
    {"event": "outcome", "n": 1, "outcome": "first", "elapsed": 3.1},
    {"event": "attempt", "n": 2, "method": "vectorise", "verdict": "wrong", "message": "output 0:\nerror 3", "elapsed": 5.0},
    {"event": "note", "message": "another machine", "elapsed": 5.1},
    {"event": "attempt", "n": 3, "method": "unroll [x2]", "verdict": "ok", "speedup": FAST, "elapsed": 7.0},
]


def shown(terminal):
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=160, highlight=False, soft_wrap=True)
    with live.view(console, attempts=5, minutes=None) as view:
        for event in EVENTS:
            view.tell(event)
    return out.getvalue()


def test_a_pipe_gets_one_plain_line_an_attempt():
    text = shown(False)
    assert "\x1b" not in text
    lines = text.splitlines()
    assert [line.split()[1] for line in lines if line.startswith("attempt")] == ["1", "2", "3"]
    assert "1.20x [1.10, 1.30]" in lines[0] and "best so far 1.20x" in lines[0]
    assert "wrong" in lines[1] and "output 0: error 3" in lines[1]
    assert lines[2] == "note: another machine"
    assert "unroll [x2]" in lines[3] and "best so far 3.50x" in lines[3]


def test_a_terminal_gets_a_table_with_the_best_and_what_goes_on():
    text = shown(True)
    for word in ("attempt", "vectorise", "wrong", "3.50x [3.40, 3.60]", "best so far", "another machine", "done", "first"):
        assert word in text, word


def test_time_left_is_the_smaller_of_budget_and_pace():
    ladder = live.Ladder(attempts=3, minutes=1000)
    assert ladder.left() == pytest.approx(60000, abs=5)
    ladder.start -= 10
    ladder.tell(EVENTS[2])
    assert ladder.left() == pytest.approx(20, abs=1)
    ladder.minutes = 0.25
    assert ladder.left() == pytest.approx(5, abs=1)


def test_a_failed_build_has_a_line_too():
    out = io.StringIO()
    with live.view(Console(file=out, width=160), attempts=3, minutes=None) as view:
        view.tell({"event": "node", "node": "coder", "n": 1, "method": "seed", "elapsed": 1.0})
        assert out.getvalue() == ""
        view.tell({"event": "outcome", "n": 1, "outcome": "failed", "elapsed": 1.1})
    (line,) = out.getvalue().splitlines()
    assert "seed" in line and "failed" in line


def test_a_resumed_run_counts_what_it_ran_before():
    ladder = live.Ladder(attempts=4, minutes=2)
    ladder.tell({"event": "node", "node": "coder", "elapsed": 90.0})
    assert ladder.left() == pytest.approx(30, abs=1)


@pytest.mark.parametrize(
    ("value", "text"), [(5e-5, "50.0 us"), (0.0123, "12.3 ms"), (34.21, "34.2 s"), (130, "2 min 10 s"), (None, "–")]
)
def test_seconds(value, text):
    assert seconds(value) == text


def test_ratios():
    assert (times(3.4567), times(1240.4)) == ("3.46x", "1240x")
    assert interval({"median": 2.0, "low": 1.5, "high": 2.5}) == "2.00x [1.50, 2.50]"
    assert interval(None) == interval({}) == "–"


def test_worst_is_nearest_to_its_limit_not_largest():
    far = {"case": "strong", "output": 0, "error": 1e-3, "limit": 1.0, "reference_error": 1e-4}
    near = {"case": "plain", "output": 1, "error": 1e-6, "limit": 1.1e-6, "reference_error": 3e-7}
    assert "case plain, output 1, the worst of 2" in worst([far, near])
