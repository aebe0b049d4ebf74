"""What a door tells the shell: exit codes, and the one exception that carries a code with its one clear line."""

from __future__ import annotations

VERIFIED, REJECTED, BAD_INPUT, ENVIRONMENT, INTERRUPTED = 0, 1, 2, 3, 130

# Verdict, admission and stop kinds that are not the candidate's fault; every other kind of failure is a rejection (1).
BAD_INPUT_KINDS = frozenset(
    {
        "missing-file", "syntax", "no-model", "no-inputs", "inputs-raise", "init-raises", "reference-raises", "non-tensor-output",
        "nondeterministic-reference", "task", "task-broken", "unsupported", "no-model-new", "no-compiler", "run-folder",
    }
)  # fmt: skip
ENVIRONMENT_KINDS = frozenset({"environment", "sandbox", "worker", "disk-full", "infrastructure"})


class Fault(Exception):
    """A bad input or an environment fault: `message` is one line that says what, where and how to mend it."""

    def __init__(self, message: str, code: int = BAD_INPUT, kind: str = "bad-input") -> None:
        super().__init__(message)
        self.message, self.code, self.kind = one_line(message), code, kind


def one_line(text: str) -> str:
    """The text without line breaks and runs of blanks."""
    return " ".join(text.split())


def code_of(kind: str) -> int:
    """The exit code for a verdict or stop kind; "ok" is 0, an unknown kind counts as a rejection."""
    if kind == "ok":
        return VERIFIED
    if kind in BAD_INPUT_KINDS:
        return BAD_INPUT
    return ENVIRONMENT if kind in ENVIRONMENT_KINDS else REJECTED
