import numpy as np
import pytest

from measure import quiet, timing
from measure.verdict import Rejected


class Clockwork:
    """A side whose calls take a fixed time with lognormal noise and rare bursts, without any waiting."""

    def __init__(self, ns, seed, lie=1.0, gap=20_000):
        self.ns, self.lie, self.gap, self.draw = ns, lie, gap, np.random.default_rng(seed)

    def sample(self, calls):
        noise = self.draw.lognormal(0, 0.05) + (self.draw.random() < 0.05) * 0.5
        true = self.ns * calls * noise
        return timing.Sample(int(true * self.lie), int(true + self.gap), calls)


def test_the_interval_covers_the_truth():
    draw = np.random.default_rng(3)
    hits = 0
    for seed in range(200):
        median, low, high = timing.interval(draw.lognormal(0.0, 0.1, 25), seed)
        assert low <= median <= high
        hits += low <= 1.0 <= high
    assert hits >= 180


def test_equal_sides_tie_and_a_twice_faster_one_wins(monkeypatch):
    monkeypatch.setattr(timing, "SETTLE_S", 0.0)
    covered = 0
    for seed in range(20):
        same = timing.compare(Clockwork(50_000, seed), Clockwork(50_000, seed + 100), 0.2)["speedup"]
        covered += same["low"] <= 1.0 <= same["high"]
    assert covered >= 17
    twice = timing.compare(Clockwork(40_000, 1), Clockwork(80_000, 2), 0.2)
    assert twice["speedup"]["low"] > 1.8 and twice["speedup"]["high"] < 2.2
    assert twice["candidate_ms"] == pytest.approx(0.04, rel=0.1)
    assert twice["speedup"]["n"] >= timing.MIN_PAIRS


def test_a_claim_that_the_judges_clock_does_not_bear_out(monkeypatch):
    monkeypatch.setattr(timing, "SETTLE_S", 0.0)
    with pytest.raises(Rejected) as caught:
        timing.compare(Clockwork(3_000_000, 1, 0.5), Clockwork(3_000_000, 2), 0.2)
    assert caught.value.verdict["kind"] == "clock"


@pytest.mark.parametrize("ns", [20_000, 3_000_000])
def test_a_small_lie_gains_nothing(ns, monkeypatch):
    monkeypatch.setattr(timing, "SETTLE_S", 0.0)
    speedup = timing.compare(Clockwork(ns, 1, 0.8), Clockwork(ns, 2), 0.2)["speedup"]
    assert speedup["low"] < 1.03 and speedup["median"] < 1.06


def test_a_judge_that_wakes_late_raises_no_alarm(monkeypatch):
    monkeypatch.setattr(timing, "SETTLE_S", 0.0)
    for late in (-2_000_000, 4_000_000):
        speedup = timing.compare(Clockwork(20_000_000, 1, gap=late), Clockwork(20_000_000, 2), 0.2)["speedup"]
        assert 0.7 < speedup["median"] < 1.1


def test_samples_last_three_milliseconds():
    assert timing.calibrated(Clockwork(500_000, 1)) in (6, 7, 8)
    assert 280 <= timing.calibrated(Clockwork(10_000, 1)) <= 380
    assert timing.calibrated(Clockwork(50_000_000, 1)) == 1


def test_the_stopping_rule():
    def pairs(count, ns=2_000_000, wobble=0.0):
        draw = np.random.default_rng(0)
        samples = [timing.Sample(int(ns * (1 + wobble * draw.standard_normal())), ns, 1) for _ in range(2 * count)]
        return timing.Pairs(samples[:count], samples[count:])

    assert not timing.enough(pairs(10), 0.5, 1.0)
    assert timing.enough(pairs(15), 0.5, 1.0) and not timing.enough(pairs(15, wobble=0.3), 0.5, 1.0)
    assert timing.enough(pairs(16, wobble=0.3), 1.1, 1.0)
    assert timing.enough(pairs(5, ns=300_000_000), 3.0, 1.0) and not timing.enough(pairs(4, ns=300_000_000), 3.0, 1.0)


def test_disturbed_pairs_are_set_aside():
    calm, hit = timing.Sample(1_000_000, 1_000_000, 1), timing.Sample(9_000_000, 9_000_000, 1, 0.0, 2.0)
    kept = timing.Pairs([calm] * 9 + [hit] * 3, [calm] * 12).clean()
    assert len(kept.baseline) == 9 and timing.interval(kept.ratios())[0] == 1.0


def test_the_guard_names_its_reasons():
    assert quiet.Noise(0.1, 0.0, 0.02, 0.05).reasons() == []
    assert len(quiet.Noise(1.4, 0.9, 0.5, 0.9).reasons()) == 4
