"""The files that doors are given, and the compiler they need: each refusal is one line that says what, where and how to mend it."""

from __future__ import annotations

import ast
from pathlib import Path

from app.fault import Fault
from measure.task import Task, TaskError, load


def read_task(path: str) -> Task:
    """The task, read and checked but not executed."""
    try:
        return load(path)
    except TaskError as error:
        raise Fault(error.message, kind=error.kind) from error


def read_candidate(path: str) -> str:
    """The candidate's source text; it must parse and define ModelNew."""
    try:
        source = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text"
        raise Fault(
            f"{path}: the candidate cannot be read ({why}); give a Python file that defines ModelNew", kind="missing-file"
        ) from error
    try:
        tree = ast.parse(source, path)
    except (SyntaxError, ValueError) as error:
        raise Fault(
            f"{path}:{getattr(error, 'lineno', 0)}: {error.args[0]}; the candidate must be a Python file", kind="syntax"
        ) from error
    if "ModelNew" not in _names(tree):
        raise Fault(
            f"{path}: no ModelNew; a candidate defines `class ModelNew` with Model's constructor and forward", kind="no-model-new"
        )
    return source


def _names(tree: ast.Module) -> set[str]:
    """Names bound anywhere in the module, as a class, an assignment or an import."""
    found = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    found |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return found | {
        a.asname or a.name for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom) for a in node.names
    }


def check_compiler() -> None:
    """The C++ backend cannot work without one."""
    from backends.cpp.loader import compiler

    try:
        compiler()
    except (RuntimeError, OSError) as error:
        raise Fault(f"no C++ compiler on PATH ({error})", kind="no-compiler") from error
