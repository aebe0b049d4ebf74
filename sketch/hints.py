"""Hints are the H of the sketch: plain data that a lowering must obey, or refuse with a reason.

Every hint is `key = value`; a nest overrides the whole sketch by the prefix `n<position>.` ("n1.vector").
"""

from __future__ import annotations

from dataclasses import dataclass

from sketch.ir import Sketch

Value = str | int


@dataclass(frozen=True)
class Hint:
    """What a hint may be and what it is for; the first choice is the default."""

    choices: tuple[Value, ...]
    meaning: str
    global_only: bool = False


HINTS: dict[str, Hint] = {
    "vector": Hint((1, 4, 8, 16, 32), "f32 lanes of one vector; 1 leaves loops to the compiler"),
    "unroll": Hint((1, 2, 4, 8, 16), "independent vectors in flight per loop step"),
    "math": Hint(("libm", "poly"), "scalar library functions, or branch-free polynomials that vectorise"),
    "division": Hint(("exact", "reciprocal"), "by a loop-invariant: one division an element, or one reciprocal and products"),
    "threads": Hint((0, 1, 2, 4, 8, 16, 32, 64), "threads of a nest; 0 is every core the process may use"),
    "schedule": Hint(("static", "dynamic"), "how a nest's points are dealt to threads"),
    "store": Hint(("cached", "streaming"), "outputs written through the caches, or past them"),
    "pages": Hint(("default", "huge"), "page size asked for under freshly allocated outputs", global_only=True),
    "stage": Hint(("recompute", "buffer"), "a value used twice in a nest is computed again, or kept in a row buffer"),
    "passes": Hint(
        ("separate", "online"), "dependent reductions (max then sum of exp; mean then squares) one by one, or in one pass"
    ),
    "fuse": Hint(("all", "none"), "operations share nests as far as their axes agree, or each has its own", global_only=True),
    "tile_m": Hint((0, 48, 96, 144, 192, 288, 384, 768), "rows of a contraction's cache block; 0 lets the target choose"),
    "tile_n": Hint((0, 64, 128, 256, 512, 1024, 2048, 4096), "columns of a contraction's cache block"),
    "tile_k": Hint((0, 64, 128, 256, 384, 512, 768, 1024), "depth of a contraction's cache block"),
}


def get(sketch: Sketch, key: str, nest: int | None = None) -> Value:
    """The value in force: the nest's own, else the sketch's, else the default."""
    if nest is not None and f"n{nest}.{key}" in sketch.hints:
        return sketch.hints[f"n{nest}.{key}"]
    return sketch.hints.get(key, HINTS[key].choices[0])


def number(sketch: Sketch, key: str, nest: int | None = None) -> int:
    return int(get(sketch, key, nest))


def check(sketch: Sketch, key: str, value: Value) -> str | None:
    """None when the hint is legal for this sketch, else the reason in one line."""
    prefix, _, name = key.rpartition(".")
    if name not in HINTS:
        return f"unknown hint '{name}'; known: {', '.join(HINTS)}"
    if prefix and not (prefix[:1] == "n" and prefix[1:].isdigit() and int(prefix[1:]) < len(sketch.nests)):
        return f"hint '{key}' names no nest; this sketch has n0 to n{len(sketch.nests) - 1}"
    if prefix and HINTS[name].global_only:
        return f"hint '{name}' holds for the whole sketch, not for one nest"
    if value not in HINTS[name].choices:
        return f"hint '{name}' cannot be {value!r}; choices: {', '.join(map(str, HINTS[name].choices))}"
    return None
