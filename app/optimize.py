"""`pragma optimize TASK`: from a task file to a verified kernel, its report and its record."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from app import work
from app.answer import Answer
from app.choices import allowed, among, check_model
from app.fault import Fault
from app.files import check_compiler, read_task
from app.home import check_out, writable_home
from app.numbers import seconds
from graph.context import Context

SECONDS_EACH, SECONDS_ONCE = 3.0, 20.0  # an attempt, and admission plus the final confirmation, of a small task on two cores


@dataclass(frozen=True)
class Wish:
    """The command line of one optimisation."""

    task: str
    backend: str = "cpp"
    model: str = "builtin"
    attempts: int = 15
    minutes: float | None = None
    precision: str = "strict"
    out: Path | None = None
    profile: bool = True
    recall: bool = True


def optimize(wish: Wish, answer: Answer) -> int:
    """Refuse bad input before anything is started, then run the graph; the exit code is the run's."""
    context = checked(wish)
    answer.say(heading(wish))
    return work.work(work.begin(wish.task, context), answer, wish.out)


def checked(wish: Wish) -> Context:
    """The run's settings, once every choice, file, folder and tool that they need is there."""
    among("backend", wish.backend, allowed("backend"))
    among("precision", wish.precision, allowed("precision"))
    check_model(wish.model)
    if wish.minutes is not None and wish.minutes <= 0:
        raise Fault(f"--minutes {wish.minutes:g} is no time: give more than 0", kind="usage")
    read_task(wish.task)
    check_out(wish.out)
    if wish.backend == "cpp":
        check_compiler()
    home = writable_home()
    return Context.model_validate(
        {
            "backend": wish.backend,
            "model": wish.model,
            "precision": wish.precision,
            "attempts": wish.attempts,
            "minutes": wish.minutes,
            "profile": wish.profile,
            "recall": wish.recall,
            "home": str(home),
        }
    )


def heading(wish: Wish) -> str:
    """What will be done and how long it should take at most."""
    guess = wish.attempts * SECONDS_EACH + SECONDS_ONCE
    bound = guess if wish.minutes is None else min(guess, wish.minutes * 60 + SECONDS_ONCE)
    plan = f"up to {wish.attempts} attempts on {wish.backend}, mind {wish.model}, precision {wish.precision}"
    return (
        f"{wish.task}: {plan}, {len(os.sched_getaffinity(0))} cores; forecast {seconds(bound)} (~{SECONDS_EACH:.0f} s an attempt)"
    )
