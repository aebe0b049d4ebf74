"""What makes a sketch legal beyond its syntax: declarations, operations, order of definition, hints.

Both directions share it: `validate(sketch)` for captured sketches, `parse` with the places of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import get_args

from sketch import hints
from sketch.expr import compute_dtype
from sketch.ir import (
    COMBINERS,
    DTYPES,
    KINDS,
    Affine,
    Axis,
    Call,
    Const,
    DType,
    Expr,
    Gather,
    Index,
    Load,
    Nest,
    Op,
    Role,
    Sketch,
    Tensor,
    reads,
    walk,
)
from sketch.text_bounds import check_bounds
from sketch.text_expr import RESERVED, Places
from sketch.text_tokens import WORD
from sketch.text_types import FLOATS, arity

INTEGERS: tuple[DType, ...] = ("i64", "i32", "i16", "i8", "u8")
READ_ONLY: tuple[Role, ...] = ("input", "weight", "constant")
FOLDS = {"reduce": COMBINERS, "window": COMBINERS, "contract": ("sum",), "scan": ("sum", "prod", "max", "min"), "compute": ("",)}


def validate(sketch: Sketch, places: Places | None = None) -> None:
    """Raises SketchError at the first mistake."""
    places = places or Places()
    _declarations(sketch, places)
    stored: set[str] = {t.name for t in sketch.tensors.values() if t.role not in ("temp", "output")}
    for nest in sketch.nests:
        _Nest(sketch, nest, places, stored).check()
    for tensor in sketch.tensors.values():
        if tensor.role == "output" and tensor.name not in stored:
            raise places.error(f"output '{tensor.name}' is never stored", f"tensor {tensor.name}")
    _hints(sketch, places)


def _declarations(sketch: Sketch, places: Places) -> None:
    for dim, size in sketch.dims.items():
        _name(dim, places, f"dim {dim}")
        if size < 1:
            raise places.error(f"dim '{dim}' has size {size}; it must be 1 or more", f"dim {dim}")
    taken: dict[tuple[str, str], str] = {}
    for name, tensor in sketch.tensors.items():
        here = f"tensor {name}"
        _name(name, places, here)
        _tensor(sketch, name, tensor, places)
        key = (tensor.role, tensor.source)
        if tensor.role in ("input", "output") and key in taken:
            raise places.error(f"{tensor.role} position {tensor.source} belongs to '{taken[key]}' already", here)
        taken[key] = name


def _name(name: str, places: Places, part: object, reserved: bool = False) -> None:
    if not re.fullmatch(WORD, name):
        raise places.error(f"'{name}' is not a name: letters, digits and underscores, no digit first", part)
    if reserved and name in RESERVED:
        raise places.error(f"'{name}' is a reserved word", part)


def _tensor(sketch: Sketch, name: str, tensor: Tensor, places: Places) -> None:
    here = f"tensor {name}"
    if tensor.name != name:
        raise places.error(f"tensor '{tensor.name}' is filed under '{name}'", here)
    if tensor.dtype not in DTYPES or tensor.role not in get_args(Role):
        raise places.error(f"tensor '{name}' has an unknown dtype or role: {tensor.dtype}, {tensor.role}", here)
    for dim in tensor.dims:
        if dim not in sketch.dims:
            raise places.error(f"undeclared dim '{dim}' of tensor '{name}'", here)
    if tensor.role in ("input", "output") and not tensor.source.isdecimal():
        raise places.error(f"{tensor.role} '{name}' needs its position, e.g. 'from 0'", here)
    if tensor.role in ("weight", "state", "constant") and not tensor.source:
        raise places.error(f"{tensor.role} '{name}' needs its state key, e.g. 'from \"norm.weight\"'", here)


def _hints(sketch: Sketch, places: Places) -> None:
    for key, value in sketch.hints.items():
        reason = hints.check(sketch, key, value)
        if reason:
            name = key.rpartition(".")[2]
            fault = name in hints.HINTS and hints.check(sketch, key, hints.HINTS[name].choices[0]) is None
            raise places.error(reason, f"hint {key}", detail="value" if fault else "")


class _Nest:
    """Checks one nest; `stored` names every tensor that holds values and grows with each operation."""

    def __init__(self, sketch: Sketch, nest: Nest, places: Places, stored: set[str]) -> None:
        self.sketch = sketch
        self.nest = nest
        self.places = places
        self.stored = stored
        self.late: dict[str, str] = {}

    def check(self) -> None:
        if not self.nest.ops:
            raise self.places.error("a nest needs at least one operation", self.nest)
        self._axes(self.nest.parallel)
        for op in self.nest.ops:
            self._op(op)
        check_bounds(self.sketch, self.nest, self.places)

    def _axes(self, axes: Iterable[Axis]) -> None:
        seen: set[str] = set()
        for axis in axes:
            _name(axis.name, self.places, axis, reserved=True)
            if axis.name in seen:
                raise self.places.error(f"axis '{axis.name}' is named twice", axis)
            if axis.dim not in self.sketch.dims:
                raise self.places.error(f"undeclared dim '{axis.dim}' of axis '{axis.name}'", axis)
            seen.add(axis.name)

    def _op(self, op: Op) -> None:
        self._axes((*op.axes, *op.over))
        self._parallel(op)
        self._fold(op)
        self._store(op)
        scope = {a.name for a in (*op.axes, *op.over)}
        self._index(op.out, op.index, {a.name for a in op.axes} | (scope if op.kind == "scan" else set()), op)
        for expr in (op.guard, op.expr):
            self._expression(expr, scope, op)
        self._reads(op)
        if op.origin != op.origin.strip() or "\n" in op.origin:
            raise self.places.error(f"the origin of '{op.out}' must be one trimmed line", op)
        self.stored.add(op.out)
        folded = [a.name for a in op.over if a.name in {p.name for p in self.nest.parallel}]
        if folded:
            self.late[op.out] = folded[0]

    def _parallel(self, op: Op) -> None:
        mine = {a.name: a.dim for a in (*op.axes, *op.over)}
        for axis in self.nest.parallel:
            if axis.name not in mine:
                raise self.places.error(f"'{op.out}' leaves out the parallel axis '{axis.name}': all its points would store it", op)
            if mine[axis.name] != axis.dim:
                raise self.places.error(f"axis '{axis.name}' runs over {axis.dim} in its nest, over {mine[axis.name]} here", op)

    def _fold(self, op: Op) -> None:
        if op.kind not in KINDS or op.combiner not in FOLDS[op.kind]:
            wants = f"takes one of {', '.join(FOLDS[op.kind])}" if FOLDS.get(op.kind, ("",))[0] else "takes no combiner"
            found = f", not '{op.combiner}'" if op.combiner else ", and names none"
            raise self.places.error(f"'{op.kind}' {wants}{found}", op)
        if op.kind == "compute" and (op.over or op.guard is not None):
            raise self.places.error("'compute' folds nothing: it has no 'over' and no guard; use where(c, a, b)", op)
        if op.kind == "scan" and len(op.over) != 1:
            raise self.places.error(f"'scan' runs over exactly one axis, not {len(op.over)}", op)
        if op.kind != "compute" and not op.over:
            raise self.places.error(f"'{op.kind}' needs the axes it folds: over c in C", op)
        if op.kind == "contract" and not _product(op.expr):
            raise self.places.error("'contract' is a sum of products: its expression must be a * b", op)

    def _store(self, op: Op) -> None:
        tensor = self.sketch.tensors.get(op.out)
        if tensor is None:
            raise self.places.error(f"unknown tensor '{op.out}'", op)
        if tensor.role in READ_ONLY:
            raise self.places.error(f"'{op.out}' is {_a(tensor.role)} and cannot be stored to; use a temp or an output", op)
        gives: DType = op.expr.dtype
        if op.combiner.startswith("arg"):
            if tensor.dtype not in INTEGERS:
                raise self.places.error(f"'{op.combiner}' gives a position: '{op.out}' must be i64, not {tensor.dtype}", op)
        elif gives not in (tensor.dtype, compute_dtype(tensor.dtype)):
            raise self.places.error(f"'{op.out}' is {tensor.dtype} but its expression is {gives}; cast it: {tensor.dtype}(...)", op)
        if op.combiner in ("any", "all") and gives != "b1":
            raise self.places.error(f"'{op.combiner}' folds b1, not {gives}; compare first, e.g. a != 0", op)

    def _index(self, name: str, index: tuple[Affine, ...], scope: set[str], *parts: object) -> None:
        rank = len(self.sketch.tensors[name].dims)
        if len(index) != rank:
            raise self.places.error(f"'{name}' has {rank} dim{'s' * (rank != 1)}, not {len(index)}", *parts)
        for at in index:
            self._axes_known(at, scope, *parts)

    def _axes_known(self, at: Affine, scope: set[str], *parts: object) -> None:
        for name, _ in at.terms:
            if name not in scope:
                raise self.places.error(f"unknown axis '{name}'; in scope here: {', '.join(sorted(scope)) or 'none'}", at, *parts)

    def _expression(self, expr: Expr | None, scope: set[str], op: Op) -> None:
        for node in walk(expr) if expr is not None else ():
            if isinstance(node, Call) and (reason := arity(node.fn, len(node.args))):
                raise self.places.error(reason, node, op)
            if isinstance(node, Const) and node.dtype not in FLOATS and int(node.value) != node.value:
                raise self.places.error(f"{node.value} is not a constant of dtype {node.dtype}", node, op)
            if isinstance(node, Index):
                self._axes_known(node.at, scope, node, op)
            if node.dtype not in DTYPES:
                raise self.places.error(f"unknown dtype '{node.dtype}'; known: {', '.join(DTYPES)}", node, op)
            if isinstance(node, Load | Gather):
                self._access(node, scope, op)
        if expr is op.guard and expr is not None and expr.dtype != "b1":
            raise self.places.error(f"a guard is b1, not {expr.dtype}; compare it", expr, op)

    def _access(self, node: Load | Gather, scope: set[str], op: Op) -> None:
        tensor = self.sketch.tensors.get(node.tensor)
        if tensor is None:
            raise self.places.error(f"unknown tensor '{node.tensor}'", node, op)
        self._index(node.tensor, node.index, scope, node, op)
        if node.dtype != tensor.dtype:
            raise self.places.error(f"'{node.tensor}' is {tensor.dtype}, read as {node.dtype}", node, op)
        if isinstance(node, Gather) and node.at.dtype not in INTEGERS:
            raise self.places.error(f"a gather's position is an integer, not {node.at.dtype}", node.at, node, op)
        if isinstance(node, Gather) and (node.dim >= len(node.index) or node.index[node.dim] != Affine()):
            raise self.places.error(f"a gather's own index is empty: '{node.tensor}' dim {node.dim}", node, op)

    def _reads(self, op: Op) -> None:
        for node in reads(op):
            if node.tensor not in self.stored:
                raise self.places.error(f"'{node.tensor}' is read before an operation stores it", node, op)
            if node.tensor in self.late:
                axis = self.late[node.tensor]
                text = f"'{node.tensor}' folds the parallel axis '{axis}': it is known only after this nest"
                raise self.places.error(text, node, op)


def _product(expr: Expr) -> bool:
    while isinstance(expr, Call) and expr.fn == "cast":
        expr = expr.args[0]
    return isinstance(expr, Call) and expr.fn == "mul"


def _a(role: str) -> str:
    return f"an {role}" if role[0] in "aeiou" else f"a {role}"
