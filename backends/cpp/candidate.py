"""A candidate file: the C++ source, the loader that builds it, and `ModelNew` with the reference's own constructor."""

from __future__ import annotations

import ast
from pathlib import Path

from backends.cpp.lower import Argument, arguments
from backends.cpp.names import safe
from sketch.ir import DType, Sketch

LOADER = Path(__file__).with_name("loader.py")
TORCH: dict[DType, str] = {
    "f32": "torch.float32", "f64": "torch.float64", "bf16": "torch.bfloat16", "f16": "torch.float16", "i64": "torch.int64",
    "i32": "torch.int32", "i16": "torch.int16", "i8": "torch.int8", "u8": "torch.uint8", "b1": "torch.bool",
}  # fmt: skip


def render(sketch: Sketch, cpp_source: str, task_source: str) -> str:
    """The whole file; it needs torch and a C++ compiler, nothing of this project."""
    loader = LOADER.read_text().split('"""', 2)[2].strip()
    parts = [
        f'"""ModelNew for {sketch.name}: C++ specialised for the shapes of the task. Needs torch and g++ or clang++."""\n',
        _model(task_source, "imports"),
        f"SOURCE = r'''\n{cpp_source}'''\n",
        f"# --- the loader: builds SOURCE once and keeps it by content hash\n{loader}\n",
        "_kernel = load(SOURCE)\n",
        _model(task_source, "support"),
        _class(sketch, task_source),
    ]
    return "\n".join(p for p in parts if p.strip())


def _model(task_source: str, what: str) -> str:
    """The task's imports, or the module-level definitions that its constructor uses."""
    tree = ast.parse(task_source)
    imports = [n for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
    if what == "imports":
        lines = [ast.unparse(n) for n in imports if not (isinstance(n, ast.ImportFrom) and n.module == "__future__")]
        return "\n".join(dict.fromkeys(["import torch", "from torch import nn", *lines])) + "\n"
    model = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Model")
    return "\n\n".join(ast.unparse(n) for n in _used(tree, [*_init(model), *model.bases])) + "\n"


def _init(model: ast.ClassDef) -> list[ast.FunctionDef]:
    return [n for n in model.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]


def _used(tree: ast.Module, roots: list[ast.stmt | ast.expr] | list) -> list[ast.stmt]:  # type: ignore[type-arg]
    """Top-level statements whose names the roots mention, with what those mention in turn, in file order."""
    defined: dict[str, ast.stmt] = {}
    for node in tree.body:
        names = [node.name] if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
        if isinstance(node, ast.Assign):
            names = [n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)]
        defined.update({n: node for n in names if n != "Model"})
    wanted: list[ast.stmt] = []
    queue = list(roots)
    while queue:
        for name in ast.walk(queue.pop()):
            found = defined.get(name.id) if isinstance(name, ast.Name) else None
            if found is not None and found not in wanted:
                wanted.append(found)
                queue.append(found)
    return [n for n in tree.body if n in wanted]


class _Renamed(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name("ModelNew", node.ctx) if node.id == "Model" else node


def _class(sketch: Sketch, task_source: str) -> str:
    model = next(n for n in ast.parse(task_source).body if isinstance(n, ast.ClassDef) and n.name == "Model")
    bases = ", ".join(ast.unparse(b) for b in model.bases) or "nn.Module"
    init = "\n".join(ast.unparse(_Renamed().visit(n)) for n in _init(model))
    indented = "\n".join("    " + line if line else "" for line in init.splitlines())
    return "\n".join(x for x in [f"class ModelNew({bases}):", indented, "", *_forward(sketch)] if x is not None) + "\n"


def _forward(sketch: Sketch) -> list[str]:
    passed, sketch = arguments(sketch), safe(sketch)
    names = {a.tensor.name: a for a in passed}
    inputs = sorted((t for t in sketch.tensors.values() if t.role == "input"), key=lambda t: int(t.source))
    lines = [f"    def forward(self, {', '.join(t.name for t in inputs)}):"]
    for t in inputs:
        shape = sketch.shape(t.name)
        lines.append(f"        if {t.name}.shape != {shape} or {t.name}.dtype != {TORCH[t.dtype]}:")
        want = f"{t.dtype}{list(shape)}"
        lines.append(
            f"            raise ValueError(f'{t.name}: built for {want}, got {{{t.name}.dtype}} {{list({t.name}.shape)}}')"
        )
    call = [_passed(a, lines) for a in names.values()]
    lines.append(f"        _kernel({', '.join(call)})")
    outputs = sorted((t for t in sketch.tensors.values() if t.role == "output"), key=lambda t: int(t.source))
    lines.append(f"        return {', '.join(t.name for t in outputs)}")
    return lines


def _passed(argument: Argument, lines: list[str]) -> str:
    """The expression that is passed for one pointer; outputs and work space are allocated first."""
    tensor = argument.tensor
    if tensor.role in ("output", "temp"):
        lines.append(f"        {tensor.name} = torch.empty({argument.shape}, dtype={TORCH[tensor.dtype]})")
        return tensor.name
    if tensor.role == "input":
        return f"{tensor.name}.contiguous()"
    path = tensor.source.split(".")
    owner = "self"
    for part in path[:-1]:
        owner = f"{owner}.{part}" if part.isidentifier() else f"getattr({owner}, {part!r})"
    return f"{owner}.{path[-1]}"


__all__ = ["render"]
