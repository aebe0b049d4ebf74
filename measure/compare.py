"""Comparison of outputs in chunks: structure, type, dtype and shape exactly, NaN and Inf masks, then the policy's error."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from measure.values import Entry, Stored, opened

CHUNK = 1 << 15  # elements: in cache, and below the size at which torch goes parallel (a busy machine stalls every parallel region)
TENSOR = "torch.Tensor"


class Flat(Protocol):
    """One tensor that can be read piece by piece, row-major."""

    def chunk(self, start: int, stop: int) -> torch.Tensor: ...


@dataclass(frozen=True)
class Slot:
    """One tensor of a stored file."""

    stored: Stored
    index: int

    @property
    def entry(self) -> Entry:
        return self.stored.entries[self.index]

    def chunk(self, start: int, stop: int) -> torch.Tensor:
        return self.stored.chunk(self.index, start, stop)


@dataclass
class Expected:
    """What one output must be: the golden, eager's own output, the golden's scale, eager's error."""

    golden: Slot
    eager: Slot
    scale: float
    error: float

    @property
    def exact(self) -> bool:
        return not (self.eager.entry.dtype.is_floating_point or self.eager.entry.dtype.is_complex)


@dataclass(frozen=True)
class Deviation:
    """`kind` is "" or "nan"; `error` is the policy's error, or for exact outputs the share of unequal elements."""

    kind: str
    error: float
    where: int
    got: float
    want: float


def slots(stored: Stored) -> list[Slot]:
    """Every tensor of a file."""
    return [Slot(stored, i) for i in range(len(stored.entries))]


def expected(golden: Stored, eager: Stored) -> list[Expected]:
    """The expectations of one case, with scales and eager's errors computed once."""
    found = []
    for g, e in zip(slots(golden), slots(eager), strict=True):
        one = Expected(g, e, _scale(g), 0.0)
        one.error = 0.0 if one.exact else deviation(e, one).error
        found.append(one)
    return found


def structure(tree: Any, wanted: Any) -> str:
    """How an output tree differs from the reference's, or an empty string; lists and tuples count as the same."""
    if _plain(tree) == _plain(wanted):
        return ""
    return f"the output is {_said(tree)}, the reference gives {_said(wanted)}"


def mismatch(got: Entry, want: Entry) -> tuple[str, str] | None:
    """Kind and message of a difference in type, dtype or shape."""
    if got.kind not in (TENSOR, want.kind):
        return "type", f"the output is a {got.kind}, not exactly a torch.Tensor"
    if got.shape != want.shape:
        return "shape", f"the output has shape {list(got.shape)}, the reference {list(want.shape)}"
    if got.dtype != want.dtype:
        return "dtype", f"the output is {got.dtype}, the reference {want.dtype}"
    return None


def deviation(got: Flat, want: Expected, enough: float = math.inf) -> Deviation:
    """The worst element of `got` against the expectation; an error above `enough` ends the search."""
    worst = Deviation("", 0.0, -1, 0.0, 0.0)
    unequal, total = 0.0, max(1, want.eager.entry.numel)
    for start, stop in _pieces(want.eager.entry.numel):
        y, g, r = (side.chunk(start, stop) for side in (got, want.golden, want.eager))
        if want.exact:
            found = _unequal(y, g, r, start)
            unequal += found.error
            worst = found if worst.where < 0 else worst
            continue
        found = _furthest(_real(y), _real(g), _real(r), want.scale, start)
        if found.kind:
            return found
        worst = found if found.error > worst.error else worst
        if worst.error > enough:
            break
    return Deviation("", unequal / total, worst.where, worst.got, worst.want) if want.exact else worst


def _furthest(y: torch.Tensor, g: torch.Tensor, r: torch.Tensor, scale: float, start: int) -> Deviation:
    error = (y - g).abs_().div_(g.abs().add_(scale + 1e-300))
    if not math.isfinite(float((y + g).add_(r).sum())):
        special = ~(torch.isfinite(y) & torch.isfinite(g) & torch.isfinite(r))
        same = (y == r) | (y == g) | (y.isnan() & (r.isnan() | g.isnan()))
        close = torch.isfinite(y) & torch.isfinite(g)  # more accurate than an eager overflow: judged by its error
        wrong = special & ~same & ~close
        if bool(wrong.any()):
            at = int(wrong.nonzero()[0])
            return Deviation("nan", math.inf, start + at, float(y[at]), float(r[at]))
        error = torch.where(special & same, 0.0, error)
    at = int(error.argmax())
    return Deviation("", float(error[at]), start + at, float(y[at]), float(g[at]))


def _unequal(y: torch.Tensor, g: torch.Tensor, r: torch.Tensor, start: int) -> Deviation:
    wrong = (y != r) & (y != g.to(y.dtype))
    count = int(wrong.sum())
    if not count:
        return Deviation("", 0.0, -1, 0.0, 0.0)
    at = int(wrong.nonzero()[0])
    return Deviation("", float(count), start + at, float(y[at]), float(r[at]))


def _scale(golden: Slot) -> float:
    """Mean magnitude of the finite elements."""
    if golden.entry.dtype in (torch.bool,):
        return 1.0
    total, count = 0.0, 0
    for start, stop in _pieces(golden.entry.numel):
        piece = _real(golden.chunk(start, stop)).abs()
        finite = torch.isfinite(piece)
        total += float(piece[finite].sum())
        count += int(finite.sum())
    return total / count if count else 0.0


def _real(tensor: torch.Tensor) -> torch.Tensor:
    """As flat float64; a complex number counts as two."""
    if tensor.dtype.is_complex:
        tensor = torch.view_as_real(tensor).reshape(-1)
    return tensor.to(torch.float64)


def _pieces(numel: int) -> Iterator[tuple[int, int]]:
    for start in range(0, numel, CHUNK):
        yield start, min(numel, start + CHUNK)


def _plain(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {("list" if k == "tuple" else k): _plain(v) for k, v in tree.items()}
    return [_plain(v) for v in tree] if isinstance(tree, list) else tree


def _said(tree: Any) -> str:
    if not isinstance(tree, dict) or len(tree) != 1:
        return "malformed"
    ((kind, body),) = tree.items()
    if kind in ("list", "tuple", "dict") and isinstance(body, list):
        return f"a {kind} of {len(body)}"
    return "a tensor" if kind == "tensor" else f"the value {str(body)[:40]}"


def ties(got: Slot, want: Expected, inputs: Any) -> bool:
    """Whether unequal indices are ties: each picks, along one axis of the only float input, the very value eager's index picks.

    Nothing is known of the operator, so the axis is the one whose removal (or reduction to 1) gives the output's shape.
    """
    if want.eager.entry.dtype != torch.int64:
        return False
    source = opened(inputs)
    try:
        floats = [i for i, e in enumerate(source.entries) if e.dtype.is_floating_point]
        if len(floats) != 1:
            return False
        values, index, right = source.tensor(floats[0]), got.stored.tensor(got.index), want.eager.stored.tensor(want.eager.index)
        return any(_picks_same(values, index, right, axis) for axis in range(values.dim()))
    finally:
        source.close()


def _picks_same(values: torch.Tensor, index: torch.Tensor, right: torch.Tensor, axis: int) -> bool:
    reduced = [n for i, n in enumerate(values.shape) if i != axis]
    if list(index.shape) == reduced:
        index, right = index.unsqueeze(axis), right.unsqueeze(axis)
    if index.dim() != values.dim() or any(i != axis and index.shape[i] != values.shape[i] for i in range(values.dim())):
        return False
    size = values.shape[axis]
    if bool(((index < 0) | (index >= size) | (right < 0) | (right >= size)).any()):
        return False
    return torch.equal(values.gather(axis, index), values.gather(axis, right))
