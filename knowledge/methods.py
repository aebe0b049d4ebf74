"""From bottlenecks to the next change: one method at a time, never the same hints twice (data: methods.toml).

Order: the methods that the likeliest bottleneck names, then those of the next ones, then whatever else applies. A method
that brought nothing is only tried again from another base, after every method that is still fresh; one that broke the
kernel is out for the run.
"""

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from knowledge.diagnosis import Diagnosis
from knowledge.rules import Facts, holds, read
from sketch.hints import HINTS, Value, check
from sketch.ir import Sketch

RULES = Path(__file__).with_name("methods.toml")
SEED: dict[str, Value] = {
    "vector": 1,
    "unroll": 1,
    "math": "libm",
    "division": "exact",
    "threads": 0,
    "schedule": "static",
    "store": "cached",
    "pages": "default",
    "stage": "recompute",
    "passes": "separate",
    "fuse": "all",
}
SAFE: dict[str, Value] = {**SEED, "threads": 1, "fuse": "none"}


@dataclass(frozen=True)
class Tried:
    """What an earlier attempt did: `fruitful` when it became the best, `broken` when its kernel failed."""

    method: str
    hints: Mapping[str, Value]
    fruitful: bool
    broken: bool


@dataclass(frozen=True)
class Choice:
    """The next change: whole hints, the prediction, the bottleneck it attacks; `fresh` when untried so far."""

    method: str
    hints: dict[str, Value]
    predict: dict[str, Any]
    bottleneck: str
    fresh: bool


@cache
def lanes() -> int:
    """f32 lanes of the widest vector of this CPU."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return 4
    try:
        flags = set(Path("/proc/cpuinfo").read_text().partition("flags")[2].partition("\n")[0].split())
    except OSError:
        return 4
    return 16 if "avx512f" in flags else 8 if "avx2" in flags else 4


@dataclass(frozen=True)
class Search:
    """What is known when the next change is chosen; `novel` says whether hints give a kernel that no attempt had."""

    sketch: Sketch
    base: Mapping[str, Value]
    ranked: Sequence[Diagnosis]
    facts: Facts
    tried: Sequence[Tried]
    novel: Callable[[dict[str, Value]], bool] = lambda hints: True


def choose(search: Search) -> Choice | None:
    """The next change from the base, fresh methods first, or None when nothing is left that was not tried."""
    options = sorted(_options(search), key=lambda option: not option.fresh)
    return next((option for option in options if search.novel(option.hints)), None)


def covered(search: Search) -> bool:
    """Whether every method that the diagnosed bottlenecks name was tried, as far as it applies to the base."""
    asked = (option for option in _options(search) if option.fresh and option.bottleneck)
    return not any(search.novel(option.hints) for option in asked)


def _options(search: Search) -> Iterator[Choice]:
    methods = {method["name"]: method for method in read(RULES)["method"]}
    seen = {_canonical(attempt.hints) for attempt in search.tried} | {_canonical(search.base)}
    broken = {attempt.method for attempt in search.tried if attempt.broken}
    stale = {attempt.method: not attempt.fruitful for attempt in search.tried}
    for name, bottleneck in _order(list(methods), search.ranked):
        method = methods[name]
        hints = _applied(method["changes"], search.base)
        if hints is None or name in broken or _canonical(hints) in seen or not _fits(search, method, hints):
            continue
        yield Choice(name, hints, dict(method["predict"]), bottleneck, not stale.get(name, False))


def _fits(search: Search, method: dict[str, Any], hints: dict[str, Value]) -> bool:
    legal = all(check(search.sketch, key, value) is None for key, value in hints.items())
    return legal and holds(method["needs"], search.facts)


def _order(names: Sequence[str], ranked: Sequence[Diagnosis]) -> Iterator[tuple[str, str]]:
    """Method names with the bottleneck that asks for them ("" for none), without what the likeliest one forbids."""
    table = read(RULES)["bottleneck"]
    done = set(table[ranked[0]["bottleneck"]]["forbid"]) if ranked else set()
    asked = [(name, found["bottleneck"]) for found in ranked for name in table[found["bottleneck"]]["try"]]
    for name, bottleneck in [*asked, *((name, "") for name in names)]:
        if name not in done:
            done.add(name)
            yield name, bottleneck


def _applied(changes: Mapping[str, Value], base: Mapping[str, Value]) -> dict[str, Value] | None:
    """The base with the changes, or None when a step up or down has nowhere to go."""
    hints = dict(base)
    for key, value in changes.items():
        moved = _moved(key, value, base.get(key, HINTS[key].choices[0]))
        if moved is None:
            return None
        hints[key] = moved
    return hints


def _moved(key: str, value: Value, now: Value) -> Value | None:
    if value == "native":
        return lanes()
    if value not in ("double", "half"):
        return value
    choices = HINTS[key].choices
    place = choices.index(now) + (1 if value == "double" else -1) if now in choices else -1
    floor = 1 if value == "half" and key == "vector" else 0  # half of the narrowest vector is no vector at all
    return choices[place] if floor <= place < len(choices) else None


def _canonical(hints: Mapping[str, Value]) -> tuple[tuple[str, Value], ...]:
    """Hints without the defaults, so that saying a default aloud is no new attempt."""
    return tuple(sorted((key, value) for key, value in hints.items() if key not in HINTS or value != HINTS[key].choices[0]))
