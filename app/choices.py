"""Choices that are refused in one line, with the list, before anything is started."""

from __future__ import annotations

import typing
from collections.abc import Sequence

from app.fault import Fault


def among(what: str, value: str, choices: Sequence[str]) -> str:
    """The value, if it is one of the choices."""
    if value not in choices:
        raise Fault(f"unknown {what} {value!r}; choose one of: {', '.join(choices)}", kind=f"unknown-{what}")
    return value


def allowed(field: str) -> tuple[str, ...]:
    """The choices that the run's settings declare for a field."""
    from graph.context import Context

    return typing.get_args(Context.model_fields[field].annotation)


def check_model(name: str) -> str:
    """A model is `builtin` until chat models are wired in."""
    return among("model", name, ("builtin",))
