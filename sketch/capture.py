"""From a torch module to a Unified Sketch: torch.export, decomposition to core ATen, then one pass over the graph."""

from __future__ import annotations

import operator
import threading
import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch.export.graph_signature import InputKind, OutputKind

from sketch import operators, views
from sketch.axes import unify
from sketch.expr import cast, compute_dtype
from sketch.ir import Affine, Const, DType, Expr, Op, Sketch, walk
from sketch.names import finish
from sketch.nest import nests
from sketch.pointwise import DTYPE_OF, PARAMETRIC
from sketch.prune import prune
from sketch.registry import HANDLERS
from sketch.values import Builder, Unsupported, Value

EXPORTING = threading.Lock()  # torch.export keeps state of its own in globals
REGISTERED = (operators, views)  # importing them fills HANDLERS
COSTLY = {"exp", "expm1", "log", "log1p", "tanh", "sigmoid", "erf", "pow", "sin", "cos", "sqrt", "rsqrt", "div", "exp2", "log2"}


def capture(model: torch.nn.Module, inputs: Sequence[Any], name: str) -> Sketch:
    """The sketch of one forward call, nested and named; raises Unsupported naming the operator."""
    program = _export(model, inputs)
    builder = Builder()
    env = _declare(builder, program, inputs)
    results = _interpret(builder, program, env)
    _outputs(builder, program, results)
    return finish(name, builder, nests(unify(prune(builder), builder.size), builder.size))


def warm() -> None:
    """Makes torch.export load what it imports lazily (more than a second of it), so that a thread can do so while others wait."""
    _export(torch.nn.Identity(), [torch.zeros(1)])


def _export(model: torch.nn.Module, inputs: Sequence[Any]) -> torch.export.ExportedProgram:
    if not all(isinstance(x, torch.Tensor) for x in inputs):
        raise Unsupported("get_inputs", "every input must be a tensor; fix other arguments in the constructor")
    try:
        with EXPORTING, torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.export.export(model, tuple(inputs), strict=False).run_decompositions()
    except Exception as error:  # torch.export raises dozens of types; each means the same to the user
        line = next((x for x in str(error).splitlines() if x.strip()), type(error).__name__)
        raise Unsupported("torch.export", f"the module cannot be traced: {line.strip()[:200]}") from error


def _declare(b: Builder, program: torch.export.ExportedProgram, inputs: Sequence[Any]) -> dict[str, Any]:
    """Tensors for every user input, parameter, buffer and constant that the graph reads."""
    env: dict[str, Any] = {}
    position = 0
    mutated = {s.target for s in program.graph_signature.output_specs if s.kind == OutputKind.BUFFER_MUTATION}
    fakes = {n.name: n for n in program.graph.nodes if n.op == "placeholder"}
    for spec in program.graph_signature.input_specs:
        key = getattr(spec.arg, "name", "")
        fake = fakes[key].meta.get("val")
        if spec.kind == InputKind.USER_INPUT:
            role, source, stem = "input", str(position), key
            position += 1
        elif spec.kind in (InputKind.PARAMETER, InputKind.BUFFER):
            role, source, stem = ("state" if spec.target in mutated else "weight"), str(spec.target), str(spec.target)
        else:
            role, source, stem = "constant", str(spec.target), str(spec.target)
        if role == "constant" or not isinstance(fake, torch.Tensor):
            env[key] = _scalar_constant(program, spec)
            continue
        dtype = _dtype(fake.dtype, role)
        tensor = b.tensor(stem, dtype, fake.shape, role, source)
        env[key] = b.load(tensor)
    return env


def _scalar_constant(program: torch.export.ExportedProgram, spec: Any) -> Any:
    value = program.constants.get(str(spec.target))
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        dtype = _dtype(value.dtype, "constant")
        return Value(((),) * value.dim(), Const(value.item(), compute_dtype(dtype)), dtype)
    raise Unsupported("constant", f"'{spec.target}' is a tensor made inside the module; register it as a buffer")


def _dtype(dtype: torch.dtype, where: str) -> DType:
    if dtype not in DTYPE_OF:
        raise Unsupported(where, f"dtype {dtype} is not supported")
    return DTYPE_OF[dtype]


def _interpret(b: Builder, program: torch.export.ExportedProgram, env: dict[str, Any]) -> list[Any]:
    results: list[Any] = []
    with torch.no_grad():
        for node in program.graph.nodes:
            if node.op == "output":
                results = [env[a.name] if isinstance(a, torch.fx.Node) else a for a in node.args[0]]
            elif node.op == "call_function":
                env[node.name] = _shared(b, node, _call(b, node, env))
    return results


def _call(b: Builder, node: torch.fx.Node, env: dict[str, Any]) -> Any:
    def read(argument: Any) -> Any:
        return torch.fx.node.map_arg(argument, lambda n: env[n.name])

    args, kwargs = read(node.args), {k: read(v) for k, v in node.kwargs.items()}
    if node.target is operator.getitem:
        return args[0][args[1]]
    name = str(node.target).removeprefix("aten.").rsplit(".", 1)
    base = name[0]
    b.origin = f"aten.{base}"
    if base in HANDLERS:
        return HANDLERS[base](b, node, *args, **kwargs)
    if base in PARAMETRIC:
        return _pointwise(b, node, base, args, kwargs)
    raise Unsupported(f"aten.{base}", "this operator cannot be captured yet")


def _pointwise(b: Builder, node: torch.fx.Node, base: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Value:
    fake = node.meta["val"]
    out = _dtype(fake.dtype, f"aten.{base}")
    values = [(i, a) for i, a in enumerate(args) if isinstance(a, Value)]
    kind = compute_dtype(out) if out != "b1" else _common([a for _, a in values])
    aligned = b.align([a for _, a in values])
    exprs: list[Any] = [Const(a, "f32") if isinstance(a, int | float) and base in NUMBERS else a for i, a in enumerate(args)]
    for (i, _), value in zip(values, aligned, strict=True):
        keep = base == "where" and i == 0
        exprs[i] = value.expr if keep else cast(value.expr, kind)
    exprs = [cast(e, kind) if isinstance(e, Const) and not (base == "where" and not i) else e for i, e in enumerate(exprs)]
    kwargs = {k: v for k, v in kwargs.items() if k not in ("dtype", "layout", "device", "pin_memory")}
    expr = PARAMETRIC[base](*exprs, **kwargs)
    return Value(aligned[0].dims, cast(expr, compute_dtype(out)), out)


NUMBERS = {
    "add",
    "sub",
    "mul",
    "div",
    "rsub",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "remainder",
    "maximum",
    "minimum",
    "pow",
    "where",
}


def _common(values: list[Value]) -> DType:
    """The type in which values are compared."""
    kinds = {v.expr.dtype for v in values}
    return next((k for k in ("f64", "f32", "i64") if k in kinds), "b1")  # type: ignore[return-value]


def _shared(b: Builder, node: torch.fx.Node, result: Any) -> Any:
    """A value with several readers and a costly expression becomes a named temporary, which hints may keep or recompute."""
    readers = [u for u in node.users if u.op != "output"]
    if not isinstance(result, Value) or len(readers) < 2 or not result.axes:
        return result
    costly = any(getattr(n, "fn", "") in COSTLY for n in walk(result.expr))
    return b.store(result, node.name) if costly else result


def _outputs(b: Builder, program: torch.export.ExportedProgram, results: list[Any]) -> None:
    position = 0
    for spec, value in zip(program.graph_signature.output_specs, results, strict=True):
        if spec.kind == OutputKind.USER_OUTPUT:
            if not isinstance(value, Value):
                raise Unsupported("output", "every output must be a tensor")
            _write(
                b,
                value,
                b.tensor("out" if position == 0 else f"out{position}", value.dtype, b.shape(value), "output", str(position)),
            )
            position += 1
        elif spec.kind == OutputKind.BUFFER_MUTATION:
            state = next(t.name for t, _ in b.tensors.values() if t.role == "state" and t.source == spec.target)
            _write(b, value, state)
        else:
            raise Unsupported("output", f"the module changes its input ({spec.kind.name.lower()}); return a new tensor instead")


def _write(b: Builder, value: Value, out: str) -> None:
    index = []
    for dim in value.dims:
        at, step = Affine(), 1
        for a in reversed(dim):
            at, step = at + Affine.axis(a).scaled(step), step * b.size[a]
        index.append(at)
    stored = b.tensors[out][0].dtype
    expr: Expr = value.expr if stored in ("bf16", "f16") else cast(value.expr, compute_dtype(stored))
    b.ops.append(Op("compute", out, tuple(index), b.loops(value.axes), (), "", expr, origin="output"))
