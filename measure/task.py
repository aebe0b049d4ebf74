"""Tasks in KernelBench's form: reading, checking and executing the file, with one clear line for whatever is wrong."""

import ast
import hashlib
import sys
import traceback
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

GPU_WORDS = ("Torch not compiled with CUDA", "Found no NVIDIA driver", "No CUDA GPUs", "CUDA driver", "HIP", "no accelerator")


class TaskError(Exception):
    """The task, not a candidate, is at fault; `message` says what, where and how to mend it."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


@dataclass(frozen=True)
class Task:
    """A task file that has been read but not executed; `fingerprint` is the sha256 of its source."""

    path: str
    name: str
    source: str
    fingerprint: str
    entry: str = "Model"


@dataclass(frozen=True)
class Instance:
    """An executed task: the reference module and one set of inputs."""

    model: torch.nn.Module
    inputs: tuple[Any, ...]
    init_inputs: list[Any]
    module: types.ModuleType


def load(path: str | Path) -> Task:
    """Reads a task and checks its shape without executing it."""
    file = Path(path)
    if not file.is_file():
        raise TaskError("missing-file", f"{file}: no such task file")
    try:
        source = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TaskError("missing-file", f"{file}: cannot be read as text ({error})") from error
    _check_shape(source, str(file))
    digest = hashlib.sha256(source.encode()).hexdigest()
    return Task(str(file.resolve()), file.stem, source, digest)


def _check_shape(source: str, where: str) -> None:
    try:
        tree = ast.parse(source, where)
    except (SyntaxError, ValueError) as error:
        raise TaskError("syntax", f"{where}:{getattr(error, 'lineno', 0)}: {error.args[0]}") from error
    names = {name for node in ast.walk(tree) for name in _bound_names(node)}
    if "Model" not in names:
        raise TaskError("no-model", f"{where}: define `class Model(nn.Module)`, the operator to make fast")
    if "get_inputs" not in names:
        raise TaskError("no-inputs", f"{where}: define `get_inputs()` that returns the list of forward's arguments")


def _bound_names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [t.id for t in node.targets if isinstance(t, ast.Name)]
    if isinstance(node, ast.ImportFrom | ast.Import):
        return [a.asname or a.name for a in node.names]
    return []


def instantiate(task: Task, seed: int = 0) -> Instance:
    """Executes the task: constructs Model and draws inputs, each under torch.manual_seed(seed)."""
    module = execute(task)
    init_inputs = _init_inputs(module, task)
    torch.manual_seed(seed)
    model = attempt("init-raises", "Model(*get_init_inputs())", task, lambda: module.Model(*init_inputs))
    if not isinstance(model, torch.nn.Module):
        raise TaskError("no-model", f"{task.path}: Model is a {type(model).__name__}, not a torch.nn.Module")
    return Instance(model, draw_inputs(module, task, seed), init_inputs, module)


def execute(task: Task) -> types.ModuleType:
    """Runs the file's top level as a module of its own name."""
    module = types.ModuleType(f"pragma_task_{task.fingerprint[:12]}")
    module.__file__ = task.path
    sys.modules[module.__name__] = module
    code = compile(task.source, task.path, "exec")
    attempt("import-raises", "executing the file", task, lambda: exec(code, module.__dict__))
    for name, kind in (("Model", "no-model"), ("get_inputs", "no-inputs")):
        if not callable(getattr(module, name, None)):
            raise TaskError(kind, f"{task.path}: {name} is not callable after executing the file")
    return module


def _init_inputs(module: types.ModuleType, task: Task) -> list[Any]:
    if not hasattr(module, "get_init_inputs"):
        return []
    values = attempt("init-raises", "get_init_inputs()", task, module.get_init_inputs)
    if not isinstance(values, list | tuple):
        raise TaskError("init-raises", f"{task.path}: get_init_inputs() must return a list, not a {type(values).__name__}")
    return list(values)


def draw_inputs(module: types.ModuleType, task: Task, seed: int) -> tuple[Any, ...]:
    """One set of forward's arguments, drawn under the seed."""
    torch.manual_seed(seed)
    values = attempt("inputs-raise", "get_inputs()", task, module.get_inputs)
    if not isinstance(values, list | tuple):
        raise TaskError("inputs-raise", f"{task.path}: get_inputs() must return a list, not a {type(values).__name__}")
    return tuple(values)


def attempt(kind: str, what: str, task: Task, call: Callable[[], Any]) -> Any:
    """Runs a piece of the task; whatever it raises becomes a TaskError that names the task's own line."""
    try:
        return call()
    except Exception as error:  # the task's code may raise anything: this is the edge
        raise TaskError(*described(error, kind, what, task.path)) from error


def described(error: BaseException, kind: str, what: str, path: str) -> tuple[str, str]:
    """Kind and one line (where, what, exception, mend) for an exception that the task's code raised."""
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
    where = f"{path}:{lines[-1]}" if lines else path
    text = " ".join(str(error).split())[:300]
    if not torch.cuda.is_available() and any(word in text for word in GPU_WORDS):
        return "needs-gpu", f"{where}: {what} asks for a GPU that this machine lacks; drop .cuda() or device='cuda' ({text})"
    return kind, f"{where}: {what} raised {type(error).__name__}: {text}"
