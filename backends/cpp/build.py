"""Builds ahead of the candidate, under the very key that its loader will ask for, and asks the compiler about its loops.

Everywhere a source may be the C++ text itself or a whole candidate file, whose module-level SOURCE is meant then.
"""

from __future__ import annotations

import ast
import functools
import os
import re
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from backends.cpp import loader, simd

LIMIT_S = 120.0
LOG_CHARS = 20_000
_AT = re.compile(r"^(?:.*/)?kernel\.cpp:(\d+):\d+: (?:fatal )?error: (.*)$", re.MULTILINE)
_UNDEFINED = re.compile(r"undefined (?:reference to|symbol:) .*")
_REMARK = re.compile(r"kernel\.cpp:(\d+):\d+: (optimized|missed|remark): +(.*)$", re.MULTILINE)
_LOOP = re.compile(r"\s*(?:for|while)\s*\(")
_LAMBDA = re.compile(r"\s*(?:const )?auto (\w+) = \[")
_UNROLLED = re.compile(r"\bu < U|\bu < UNROLL|auto& p : part")
_SCALAR_REST = re.compile(r"\b(?:float|double|u?int\d+_t)\{\}")
_WIDTH = re.compile(r"Vec<\w+, ?(\d+)>")
_HEAD = re.compile(r"^[A-Za-z_\[].*?(\w+)\([^;]*\)?[^;]*\{?\s*$")


@dataclass(frozen=True)
class Build:
    """`kind` is ok, no-compiler, compile, symbol, timeout or cache; `message` is one line; `path` is None without an object."""

    ok: bool
    kind: str
    message: str
    path: Path | None = None
    log: str = ""
    seconds: float = 0.0
    cached: bool = False


class Remark(TypedDict):
    """One loop of the source: where it begins, and what the compiler made of it."""

    line: int
    kind: str
    message: str
    function: str


def compiler() -> str | None:
    """One line that names the compiler in force, or None."""
    try:
        return loader.compiler()[1]
    except (RuntimeError, OSError):
        return None


def cpp_of(source: str) -> str | None:
    """The C++ text of a candidate; None for a Python file that holds none; a C++ text is its own."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return source
    for node in tree.body:
        named = isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "SOURCE" for t in node.targets)
        if named and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):  # type: ignore[attr-defined]
            return node.value.value  # type: ignore[attr-defined]
    return None


def build(source: str, flags: str = "", limit_s: float = LIMIT_S) -> Build:
    """The built object and the bridge, both where the loader looks first; never raises for what a source does."""
    text = cpp_of(source)
    if text is None:
        return Build(True, "ok", "nothing to build ahead: the candidate holds no SOURCE text")
    if "pragma_kernel" not in text:
        return Build(False, "symbol", 'the source exports no `extern "C" void pragma_kernel(void** t)`')
    made = _attempt(lambda run: loader.built(text, loader.all_flags(flags), run), limit_s)
    if made.ok and not (called := bridge(limit_s)).ok:
        return called
    return made


def bridge(limit_s: float = LIMIT_S) -> Build:
    """The extension module that calls kernels, built ahead (under a second, once)."""

    def make(run: Callable) -> None:
        loader.bridge(run)

    return _attempt(make, limit_s)


def _attempt(make: Callable[[Callable], Path | None], limit_s: float) -> Build:
    start, logs = time.perf_counter(), []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        done = bounded(command, limit_s)
        logs.append(done.stderr[:LOG_CHARS])
        return done

    try:
        ok, kind, message, path = True, "ok", "", make(run)
    except subprocess.TimeoutExpired:
        ok, kind, message, path = False, "timeout", f"the C++ compiler took more than {limit_s:g} s", None
    except RuntimeError as error:
        kind, found = ("compile", first_error(logs[-1])) if logs else ("no-compiler", "")
        ok, message, path = False, found or str(error), None
    except (OSError, ImportError) as error:
        ok, kind, message, path = False, "cache", f"the kernel cache cannot be used: {error}", None
    return Build(ok, kind, message, path, "".join(logs), time.perf_counter() - start, ok and not logs)


def bounded(command: list[str], limit_s: float) -> subprocess.CompletedProcess[str]:
    """Runs a command with its children in a group of its own, which a timeout ends as a whole."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            out, err = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def first_error(log: str) -> str:
    """The first error with its line in the source; "" when the log names none."""
    if at := _AT.search(log):
        return f"line {at[1]}: {at[2]}"
    undefined = _UNDEFINED.search(log)
    return undefined[0] if undefined else ""


@functools.lru_cache(maxsize=16)
def remarks(source: str, limit_s: float = LIMIT_S) -> tuple[Remark, ...]:
    """What the compiler made of every loop of the source, the simd pieces left out; () when it could not be asked."""
    text = cpp_of(source)
    if not text or not compiler():
        return ()
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch, "kernel.cpp").write_text(text)
        words = [
            *loader.compiler()[0],
            *shlex.split(loader.all_flags()),
            *_asking(),
            "-S",
            "-o",
            os.devnull,
            f"{scratch}/kernel.cpp",
        ]
        try:
            log = bounded([w for w in words if w not in ("-shared", "-Wl,-z,defs")], limit_s).stderr
        except (subprocess.TimeoutExpired, OSError):
            return ()
    return tuple(_remarks(text.splitlines(), _by_line(log)))


def _asking() -> list[str]:
    if "clang" in loader.compiler()[1]:
        return ["-Rpass=loop-vectorize", "-Rpass-missed=loop-vectorize", "-Rpass-analysis=loop-vectorize"]
    return ["-fopt-info-vec-optimized-missed"]


def _by_line(log: str) -> dict[int, tuple[str, str]]:
    """Loop's line -> (vectorised | missed, message): vectorised if any version of the loop is."""
    found = [(int(line), message.split(" [-R")[0]) for line, _, message in _REMARK.findall(log)]
    done: dict[int, tuple[str, str]] = {}
    for i, (line, message) in enumerate(found):
        if "loop vectorized" in message or message.startswith("vectorized loop"):
            done[line] = ("vectorised", message)
        elif message.startswith(("couldn't vectorize loop", "loop not vectorized")):
            done.setdefault(line, ("missed", _reason([m for _, m in (*found[i : i + 3], *found[max(i - 2, 0) : i])])))
    return done


def _reason(around: list[str]) -> str:
    """gcc gives the reason after the loop, clang before it; gcc's "no vectype" only says that no vector width was left to try."""
    told = (m for m in around if m.startswith(("not vectorized:", "loop not vectorized:")) and "no vectype" not in m)
    return next(told, "loop not vectorized")


def _remarks(lines: list[str], told: dict[int, tuple[str, str]]) -> Iterator[Remark]:
    """One remark for each innermost loop after the simd pieces; loops over vectors are judged by their text."""
    for line in range(lines.index(simd.END) + 1 if simd.END in lines else 0, len(lines)):
        if not _LOOP.match(lines[line]):
            continue
        text = _block(lines, line)
        seen = told.get(line + 1)
        if any(_LOOP.match(inner) and not _UNROLLED.search(inner) for inner in text[1:]) and not (seen and seen[0] == "vectorised"):
            continue
        verdict = _by_hand(lines, line, "\n".join(text)) if not _UNROLLED.search(text[0]) else None
        if kept := (
            seen if verdict == "compiler" else None if verdict is None else (verdict.partition(": ")[0], verdict.partition(": ")[2])
        ):
            message = f"{kept[1]}: {text[0].strip()[:100]}"
            yield Remark(line=line + 1, kind=kept[0], message=message, function=_function(lines, line))


def _by_hand(lines: list[str], line: int, text: str) -> str | None:
    """ "kind: why" for a loop over vector types, "compiler" for a plain loop, None for the scalar rest of a vector loop."""
    whole = "\n".join(["\n".join(_block(lines, at)) for at in _lambdas(lines, line, text)] + [text])
    widths = [m[1] for m in (_WIDTH.search(t) for t in [text, *reversed(lines[:line])]) if m]
    wide = int(widths[0]) if widths else 1
    if "_mm" in text or (wide > 1 and re.search(r"lanes<V>|Vec<|<V>", text)):
        if called := re.search(r"\bl_\w+|\bstd::(?:exp|log|tanh|erf|pow|sin|cos)\w*", whole):
            return f"missed: vectors, but {called[0]} is called lane by lane"
        return f"vectorised: written with vectors of {wide} lanes" if "_mm" not in text else "vectorised: written with intrinsics"
    return None if wide > 1 and _SCALAR_REST.search(text) else "compiler"


def _lambdas(lines: list[str], line: int, text: str) -> list[int]:
    """Where the local functions that a loop calls begin."""
    last = {m[1]: at for at in range(line) if (m := _LAMBDA.match(lines[at]))}
    return [at for name, at in last.items() if re.search(rf"\b{name}\(", text)]


def _block(lines: list[str], line: int) -> list[str]:
    """A statement's lines, to its closing brace or semicolon."""
    depth = 0
    for end in range(line, len(lines)):
        depth += lines[end].count("{") - lines[end].count("}")
        if depth <= 0 and lines[end].rstrip().endswith(("}", ";", "};")):
            return lines[line : end + 1]
    return lines[line:]


def _function(lines: list[str], line: int) -> str:
    for text in reversed(lines[:line]):
        if text[:1] not in ("", " ", "}", "#", "/", "\t") and (head := _HEAD.match(text)):
            return head[1]
    return ""
