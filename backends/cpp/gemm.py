"""Matrix products (placeholder while the elementwise and reduction families are brought up)."""

from __future__ import annotations

from backends.cpp.expr import Text
from backends.cpp.plan import Loops, Plan
from sketch.ir import Op


def fits(op: Op) -> bool:
    return False


def write(text: Text, p: Plan, loops: Loops) -> None:
    raise NotImplementedError
