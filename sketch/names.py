"""The last step of capture: readable names for dims and axes, and the finished Sketch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sketch.expr import rewrite, substitute
from sketch.ir import DTYPES, FUNCTIONS, KINDS, Affine, Axis, Expr, Gather, Load, Nest, Op, Sketch, Tensor, reads
from sketch.values import Builder

LETTERS = {1: ["N"], 2: ["B", "C"], 3: ["B", "T", "C"], 4: ["B", "C", "H", "W"], 5: ["B", "C", "D", "H", "W"]}
_WORDS = """
sketch dim input weight state constant temp output hint parallel serial for in over if from gather index inf nan true false let
int float double bool char long short auto new delete class struct template this return else while do switch case default const
static void operator namespace using union register volatile sizeof typename private public signed unsigned goto try throw catch
def import lambda pass raise None True False is and or not del global nonlocal with as assert async await break continue elif
except finally yield
"""  # of the text form, of C++ and of Python
RESERVED = {*FUNCTIONS, *DTYPES, *KINDS, *_WORDS.split()}
Node = tuple[str, ...]
Tensors = Mapping[str, tuple[Tensor, tuple[int, ...]]]


def finish(name: str, b: Builder, groups: Sequence[Nest]) -> Sketch:
    """Dims are shared by everything that must have the same extent; axes are their dim's name in lower case."""
    ops = [op for g in groups for op in g.ops]
    used = {op.out for op in ops} | {n.tensor for op in ops for n in reads(op)}
    tensors = {k: v for k, v in b.tensors.items() if k in used or v[0].role == "input"}
    renamed = {old: _safe(old, set(tensors)) for old in tensors}
    root = _classes(b, ops, tensors)
    dims, dim_of = _dim_names(tensors, ops, root, b, set(renamed.values()))
    axes = _axis_names(ops, {a: dim_of[root(("axis", a))] for op in ops for a in _axes(op)}, set(renamed.values()))

    def fix(op: Op) -> Op:
        table = {a: Affine.axis(n.name) for a, n in axes.items()}
        return replace(
            op,
            out=renamed[op.out],
            index=tuple(i.substitute(table) for i in op.index),
            axes=tuple(axes[a.name] for a in op.axes),
            over=tuple(axes[a.name] for a in op.over),
            expr=_retensor(substitute(op.expr, table), renamed),
            guard=op.guard and _retensor(substitute(op.guard, table), renamed),
        )

    declared = {
        renamed[k]: replace(t, name=renamed[k], dims=tuple(dim_of[root(_tensor_node(k, i, n))] for i, n in enumerate(shape)))
        for k, (t, shape) in tensors.items()
    }
    return Sketch(
        name, dims, declared, tuple(Nest(tuple(axes[a.name] for a in g.parallel), tuple(fix(o) for o in g.ops)) for g in groups)
    )


def _retensor(expr: Expr, renamed: Mapping[str, str]) -> Expr:
    return rewrite(expr, lambda n: replace(n, tensor=renamed[n.tensor]) if isinstance(n, Load | Gather) else n)


def _safe(name: str, taken: set[str]) -> str:
    while name in RESERVED or (name.endswith("_") and name in taken):
        name += "_"
    return name


def _axes(op: Op) -> list[str]:
    return [a.name for a in (*op.axes, *op.over)]


def _tensor_node(name: str, i: int, extent: int) -> Node:
    return ("one",) if extent == 1 else ("tensor", name, str(i))


def _classes(b: Builder, ops: Sequence[Op], tensors: Tensors) -> Callable[[Node], Node]:
    """Union-find over axes and tensor dims: an index that is one bare axis ties the two."""
    parent: dict[Node, Node] = {}

    def root(node: Node) -> Node:
        while parent.setdefault(node, node) != node:
            node = parent[node]
        return node

    for op in ops:
        for tensor, index in [(op.out, op.index), *((n.tensor, n.index) for n in reads(op))]:
            shape = tensors[tensor][1]
            for i, (at, extent) in enumerate(zip(index, shape, strict=True)):
                axis = at.terms[0][0] if len(at.terms) == 1 else ""
                if axis and at == Affine.axis(axis) and b.size[axis] == extent != 1:
                    parent[root(("axis", axis))] = root(("tensor", tensor, str(i)))
    return root


def _dim_names(
    tensors: Tensors, ops: Sequence[Op], root: Callable[[Node], Node], b: Builder, taken: set[str]
) -> tuple[dict[str, int], dict[Node, str]]:
    dims: dict[str, int] = {}
    names: dict[Node, str] = {}

    def name(node: Node, extent: int, wish: str) -> None:
        if node in names:
            return
        pick, k = wish, 2
        while pick in dims or pick in taken:
            pick, k = f"{wish}{k}", k + 1
        names[node], dims[pick] = pick, extent

    ordered = sorted(
        tensors.items(), key=lambda kv: ("input", "output", "weight", "state", "constant", "temp").index(kv[1][0].role)
    )
    for key, (_, shape) in ordered:
        wishes = LETTERS.get(len(shape), ["D"] * len(shape))
        for i, extent in enumerate(shape):
            name(root(_tensor_node(key, i, extent)), extent, "ONE" if extent == 1 else wishes[i])
    for op in ops:
        for a in _axes(op):
            name(root(("axis", a)), b.size[a], "K")
    return dims, names


def _axis_names(ops: Sequence[Op], dim_of: Mapping[str, str], taken: set[str]) -> dict[str, Axis]:
    axes: dict[str, Axis] = {}
    used = set(taken) | RESERVED
    for op in ops:
        for a in _axes(op):
            if a not in axes:
                wish = dim_of[a].lower()
                pick, k = wish, 1
                while pick in used:
                    pick, k = f"{wish}_{k}", k + 1
                used.add(pick)
                axes[a] = Axis(pick, dim_of[a])
    return axes
