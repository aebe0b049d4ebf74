"""Ctrl-C and SIGTERM: the first ends the run in an orderly way with the line that resumes it, the second at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from app.fault import INTERRUPTED


class Interrupted(Exception):
    """A run stopped by the person; `line` says how to go on, `data` is what --json adds."""

    def __init__(self, line: str = "interrupted", **data: Any) -> None:
        super().__init__(line)
        self.line, self.data = line, data


@contextmanager
def interruptible() -> Iterator[None]:
    """SIGTERM acts as Ctrl-C; a KeyboardInterrupt that no door explains leaves as Interrupted."""
    before = {s: signal.signal(s, _interrupt) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    signal.signal(number, _at_once)
    raise KeyboardInterrupt


def _at_once(number: int, frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)
