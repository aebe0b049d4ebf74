"""Where a door's words go: people's text on stdout, or with --json exactly one object on stdout and everything else on stderr."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console


class Answer:
    """`say` is for people; `give` is the one JSON object (ignored without --json)."""

    def __init__(self, as_json: bool, stdout: int) -> None:
        self.as_json, self._stdout, self._given = as_json, stdout, False
        stream = sys.stderr if as_json else sys.stdout
        width = shutil.get_terminal_size().columns if stream.isatty() else 200  # a pipe wraps nothing
        self.console = Console(stderr=as_json, highlight=False, soft_wrap=True, width=width)

    def say(self, text: str = "") -> None:
        self.console.print(text, markup=False)

    def give(self, data: dict[str, Any]) -> None:
        if self.as_json and not self._given:
            self._given = True
            os.write(self._stdout, (json.dumps(data, indent=2, default=str) + "\n").encode())


@contextmanager
def answering(as_json: bool) -> Iterator[Answer]:
    """With --json file descriptor 1 points to stderr meanwhile, so that no library's print can spoil the object."""
    if not as_json:
        yield Answer(False, 1)
        return
    sys.stdout.flush()
    saved = os.dup(1)
    os.dup2(2, 1)
    try:
        yield Answer(True, saved)
    finally:
        sys.stdout.flush()
        os.dup2(saved, 1)
        os.close(saved)
