"""Fast, verified kernels for slow PyTorch operators. Exit 0 verified, 1 rejected, 2 bad input, 3 environment, 130 interrupted."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from app.answer import Answer, answering
from app.fault import BAD_INPUT, INTERRUPTED, Fault, one_line
from app.signals import Interrupted, interruptible

UsageError: type[Exception] = typer.BadParameter.__bases__[0]  # of whichever click typer carries
app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, help=__doc__)

Task = Annotated[str, typer.Argument(help="task file: class Model(nn.Module), get_inputs(), get_init_inputs()")]
Candidate = Annotated[str, typer.Argument(help="candidate file that defines ModelNew")]
Backend = Annotated[str, typer.Option(help="target the kernel is written for")]
Model = Annotated[str, typer.Option(help="chat model of the agents, or builtin: rules, no key, no network")]
Precision = Annotated[str, typer.Option(help="strict, kernelbench, tf32, bf16 or fp16; binds both sides")]
Json = Annotated[bool, typer.Option("--json", help="print one JSON object on stdout and nothing else")]
Home = Annotated[Path | None, typer.Option(help="folder of runs, checkpoints and stores instead of $PRAGMA_HOME")]


@app.command()
def optimize(
    task: Task,
    backend: Backend = "cpp",
    model: Model = "builtin",
    attempts: Annotated[int, typer.Option(min=1, max=1000, help="most attempts")] = 15,
    minutes: Annotated[float | None, typer.Option(help="most minutes")] = None,
    precision: Precision = "strict",
    out: Annotated[Path | None, typer.Option(help="copy the best kernel to this file")] = None,
    profile: Annotated[bool, typer.Option(help="read the profiler's counters (off: the ablation by time alone)")] = True,
    recall: Annotated[bool, typer.Option(help="start from the best kernel that earlier runs left")] = True,
    home: Home = None,
    json: Json = False,
) -> None:
    """Make the task's operator fast: a verified kernel, its report and its record."""
    from app import optimize as door

    wish = door.Wish(task, backend, model, attempts, minutes, precision, out, profile, recall)
    _open(home, json, lambda answer: door.optimize(wish, answer))


@app.command()
def verify(task: Task, candidate: Candidate, precision: Precision = "strict", home: Home = None, json: Json = False) -> None:
    """Judge a candidate against its task: correctness, then speed against eager and torch.compile."""
    from app import verify as door

    _open(home, json, lambda answer: door.verify(task, candidate, precision, answer))


@app.command()
def profile(task: Task, candidate: Candidate, precision: Precision = "strict", home: Home = None, json: Json = False) -> None:
    """Show where a candidate's time goes: counters, roofline, bottleneck and the evidence for it."""
    from app import profile as door

    _open(home, json, lambda answer: door.profile(task, candidate, precision, answer))


@app.command()
def resume(
    run: Annotated[str, typer.Argument(help="run id or its beginning; empty: the newest interrupted run")] = "",
    out: Annotated[Path | None, typer.Option(help="copy the best kernel to this file")] = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Go on with an interrupted run from its last checkpoint."""
    from app import resume as door

    _open(home, json, lambda answer: door.resume(run, out, answer))


@app.command()
def runs(home: Home = None, json: Json = False) -> None:
    """List the runs with their status, newest first."""
    from app import runs as door

    _open(home, json, door.runs)


@app.command()
def report(
    run: Annotated[str, typer.Argument(help="run id or its beginning; empty: the newest finished run")] = "",
    home: Home = None,
    json: Json = False,
) -> None:
    """Rebuild a run's report.html and print its path."""
    from app import report as door

    _open(home, json, lambda answer: door.report(run, answer))


@app.command()
def doctor(
    measure: Annotated[bool, typer.Option(help="measure the machine's ceilings (a few seconds)")] = True,
    home: Home = None,
    json: Json = False,
) -> None:
    """Say what this machine offers, what is missing and how to lift it."""
    from app import doctor as door

    _open(home, json, lambda answer: door.doctor(measure, answer))


@app.command()
def demo(
    attempts: Annotated[int, typer.Option(min=1, max=100, help="most attempts for each task")] = 6,
    minutes: Annotated[float, typer.Option(help="most minutes for each task")] = 1.0,
    home: Home = None,
    json: Json = False,
) -> None:
    """Optimise three example tasks and end with a table."""
    from app import demo as door

    _open(home, json, lambda answer: door.demo(attempts, minutes, answer))


def _open(home: Path | None, as_json: bool, door: Callable[[Answer], int]) -> None:
    """Run a door with its faults, interrupts and output in one place; leaves by typer.Exit with the door's code."""
    if home is not None:
        os.environ["PRAGMA_HOME"] = str(home.expanduser().absolute())
    with answering(as_json) as answer:
        try:
            with interruptible():
                code = door(answer)
        except Fault as fault:
            answer.give({"ok": False, "kind": fault.kind, "message": fault.message})
            _complain(fault.message)
            code = fault.code
        except Interrupted as stop:
            answer.give({"ok": False, "kind": "interrupted", "message": "interrupted", **stop.data})
            _complain(stop.line)
            code = INTERRUPTED
    raise typer.Exit(code)


def _complain(message: str) -> None:
    sys.stderr.write(f"pragma: {one_line(message)}\n")


def main(arguments: list[str] | None = None) -> None:
    """The console script."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: list[str]) -> int:
    """The command's exit code; wrong usage is one line and exit 2 instead of a box."""
    try:
        result: Any = app(arguments or ["--help"], prog_name="pragma", standalone_mode=False)
    except UsageError as error:
        text = getattr(error, "format_message", error.__str__)()
        _complain(f"{text} (pragma --help lists the commands, pragma COMMAND --help the options)")
        return BAD_INPUT
    return result if isinstance(result, int) else 0


if __name__ == "__main__":
    main()
