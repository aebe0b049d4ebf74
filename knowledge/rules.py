"""The condition language of the rule files: a table of `fact = "op number"`, all of which must hold."""

import operator
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

Facts = Mapping[str, Any]
OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}


@cache
def read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text())


def holds(conditions: Mapping[str, str], facts: Facts) -> bool:
    """Whether every condition holds; an unknown fact (absent or null) holds for nothing."""
    return all(_holds(condition, facts.get(name)) for name, condition in conditions.items())


def evidence(conditions: Mapping[str, str], facts: Facts) -> list[str]:
    """What was measured beside each threshold, such as `pct_triad 72.1 (>= 60)`."""
    return [f"{name} {facts[name]:.4g} ({condition})" for name, condition in conditions.items()]


def _holds(condition: str, value: float | None) -> bool:
    if value is None:
        return False
    sign, number = condition.split()
    return OPERATORS[sign](value, float(number))
