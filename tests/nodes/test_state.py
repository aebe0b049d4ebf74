"""The ladder's reducer: a node that runs again neither doubles nor loses an attempt."""

from nodes.state import merge_attempts


def test_a_row_written_twice_counts_once():
    once = merge_attempts([], [{"n": 1, "method": "seed", "verdict": ""}])
    twice = merge_attempts(once, [{"n": 1, "method": "seed", "verdict": ""}])
    assert once == twice == [{"n": 1, "method": "seed", "verdict": ""}]


def test_later_nodes_add_keys_and_rows_stay_in_order():
    rows = merge_attempts([{"n": 2, "verdict": ""}], [{"n": 1, "verdict": "ok"}, {"n": 2, "verdict": "wrong"}])
    assert rows == [{"n": 1, "verdict": "ok"}, {"n": 2, "verdict": "wrong"}]
    assert merge_attempts(rows, [{"n": 2, "outcome": "failed"}])[1] == {"n": 2, "verdict": "wrong", "outcome": "failed"}


def test_an_empty_update_starts_over():
    assert merge_attempts([{"n": 1}], []) == []
