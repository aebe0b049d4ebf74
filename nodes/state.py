"""The run's state: small JSON that a checkpoint holds; sources, sketches and profiles live by hash in the run's folder.

Everything here is plain data, so that any checkpointer, Studio and `run.json` can hold it. Attempt rows merge by their
number `n`: a node that is killed and run again writes the same row twice and the run counts it once.
"""

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

Outcome = Literal["", "first", "confirmed", "faster for another reason", "moved but not faster", "no effect", "worse", "failed"]
Next = Literal["coder", "designer", "profiler", "finish"]
Hints = dict[str, str | int]


class Speedup(TypedDict, total=False):
    """Median of paired ratios against a baseline, with the bootstrap interval's ends."""

    median: float
    low: float
    high: float
    n: int


class Prediction(TypedDict):
    """`metric` should move in `direction` by at least the fraction `by` of its value."""

    metric: str
    direction: Literal["up", "down"]
    by: float


class Plan(TypedDict):
    """The next attempt; `base` is the attempt it starts from (0: none), `source` a ready source's hash or ""."""

    n: int
    method: str
    hints: Hints
    base: int
    source: str
    prediction: Prediction | None
    bottleneck: str
    reason: str


class Attempt(TypedDict, total=False):
    """One row of the ladder.

    `bottleneck` is what the attempt attacked, `found` what its own profile shows; `moved` is the predicted metric's
    relative change; `seconds` the attempt's whole cost; `kept` says that it became the best.
    """

    n: int
    method: str
    hints: Hints
    base: int
    source: str
    sketch: str
    verdict: str
    message: str
    speedup: Speedup
    time_ms: float
    baseline_ms: float
    noisy: bool
    kept: bool
    prediction: Prediction | None
    moved: float | None
    outcome: Outcome
    bottleneck: str
    reason: str
    found: str
    seconds: float


class Best(TypedDict):
    """The fastest verified attempt so far."""

    n: int
    source: str
    hints: Hints
    speedup: Speedup
    time_ms: float


class Known(TypedDict):
    """What an earlier run left for this task, backend, device and precision."""

    run_id: str
    source: str
    hints: Hints
    speedup: float


class Summary(TypedDict, total=False):
    """A profile in short; the whole one is profiles/<source>.json."""

    source: str
    tier: str
    bottleneck: str
    confidence: float
    fraction: float
    bound: str


class Limits(TypedDict):
    """What the run may spend (None: no limit), and whether it profiles."""

    attempts: int
    minutes: float | None
    tokens: int | None
    usd: float | None
    profile: bool


class Spend(TypedDict):
    """`seconds` of node time over all processes that worked on the run; tokens and dollars of chat models."""

    seconds: float
    tokens: int
    usd: float
    attempts: int


def merge_attempts(old: list[Attempt], new: list[Attempt]) -> list[Attempt]:
    """Rows merged key by key on `n` and sorted by it; an empty update clears the ladder (a new run on an old thread)."""
    if not new:
        return []
    rows: dict[int, Attempt] = {row["n"]: row for row in old}
    for row in new:
        rows[row["n"]] = {**rows.get(row["n"], {}), **row}  # type: ignore[typeddict-item]
    return [rows[n] for n in sorted(rows)]


class Input(TypedDict, total=False):
    """What a person gives: the rest of the state is the graph's own."""

    task: Annotated[
        str,
        Field(
            title="Task file",
            description="Path of the task: a Python file that defines class Model(nn.Module), get_inputs() and get_init_inputs().",
        ),
    ]
    notes: Annotated[str, Field(title="Notes", description="Optional remarks that are kept with the run and its report.")]


class State(TypedDict, total=False):
    task: str
    notes: str
    run_id: str
    folder: str
    started: str
    admission: dict
    environment: dict
    known: Known | None
    sketch: str
    facts: dict
    plan: Plan | None
    rows: Annotated[list[Attempt], merge_attempts]
    best: Best | None
    profile: Summary | None
    next: Next
    stop_reason: str
    message: str
    limits: Limits
    spend: Spend
