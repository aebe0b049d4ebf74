"""Trees of tensors as bytes: an 8-byte length, a JSON header (tree, dtype, shape, stride, offset of every tensor), raw data.

Nothing is ever unpickled from a candidate; the header it writes is checked before one byte of data is read.
"""

import json
import math
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

DTYPES = {
    str(d).removeprefix("torch."): d
    for d in (
        torch.float32,
        torch.float64,
        torch.float16,
        torch.bfloat16,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.uint8,
        torch.bool,
        torch.complex64,
        torch.complex128,
    )
}
HEADER_LIMIT = 16 << 20
PIECE = 64 << 20


class Unencodable(Exception):
    """A value that is neither a tensor, a plain value nor a container of such."""


class Corrupt(Exception):
    """A file whose header does not describe its bytes."""


@dataclass(frozen=True)
class Entry:
    """Where one tensor lies in the file; `kind` is the Python type's name as the writer saw it."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    kind: str

    @property
    def numel(self) -> int:
        return math.prod(self.shape)


class Stored:
    """A readable file of tensors, read by explicit copies (a mapping would let a truncation kill the reader)."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.tree, self.entries = _header(fd)

    def chunk(self, index: int, start: int, stop: int) -> torch.Tensor:
        """Elements start..stop of one tensor in row-major order, as a flat tensor."""
        entry = self.entries[index]
        out = torch.empty(stop - start, dtype=entry.dtype)
        _fill(self.fd, out, entry.offset + start * entry.dtype.itemsize)
        return out

    def tensor(self, index: int) -> torch.Tensor:
        """One whole tensor with its own strides where they are dense."""
        entry = self.entries[index]
        flat = self.chunk(index, 0, entry.numel).view(entry.shape)
        if entry.stride == flat.stride() or any(s == 0 for s in entry.stride):
            return flat
        return torch.empty_strided(entry.shape, entry.stride, dtype=entry.dtype).copy_(flat)

    def value(self) -> Any:
        """The whole tree with its tensors."""
        tensors = [self.tensor(i) for i in range(len(self.entries))]
        try:
            return _rebuilt(self.tree, tensors)
        except (ValueError, TypeError, IndexError, AttributeError, RecursionError) as error:
            raise Corrupt(f"bad tree: {error}") from error

    @property
    def nbytes(self) -> int:
        return sum(e.numel * e.dtype.itemsize for e in self.entries)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1


def opened(path: str | Path) -> Stored:
    """Opens a file that a trusted side wrote."""
    return Stored(os.open(path, os.O_RDONLY | os.O_CLOEXEC))


def read(path: str | Path) -> Any:
    """The value in a trusted file."""
    stored = opened(path)
    try:
        return stored.value()
    finally:
        stored.close()


def reread(path: str | Path, old: Any) -> Any:
    """The value in a trusted file, in the very memory of an earlier value of the same layout (and without a new tensor version)."""
    tensors, stored = tensors_of(old), opened(path)
    try:
        alike = len(tensors) == len(stored.entries) and all(map(_fits, tensors, stored.entries))
        if not alike:
            return stored.value()
        for tensor, entry in zip(tensors, stored.entries, strict=True):
            _fill(stored.fd, tensor, entry.offset)
        return _rebuilt(stored.tree, tensors)
    finally:
        stored.close()


def _fits(tensor: torch.Tensor, entry: Entry) -> bool:
    same = (tensor.dtype, tuple(tensor.shape), tensor.stride()) == (entry.dtype, entry.shape, entry.stride)
    return same and tensor.is_contiguous()


def write(target: str | Path | int, value: Any) -> int:
    """Writes a value to a path or an open descriptor and returns the bytes written."""
    tensors: list[torch.Tensor] = []
    tree = _flattened(value, tensors)
    entries, size = _laid_out(tensors)
    header = json.dumps({"tree": tree, "tensors": entries}).encode()
    with open(target, "wb", closefd=not isinstance(target, int)) as file:
        file.write(struct.pack("<Q", len(header)) + header)
        for tensor in tensors:
            raw = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8) if tensor.numel() else None
            if raw is not None:
                file.write(memoryview(raw.numpy()))  # type: ignore[arg-type]
    return size


def tensors_of(value: Any) -> list[torch.Tensor]:
    """Every tensor of a tree, in the order in which it is written."""
    tensors: list[torch.Tensor] = []
    _flattened(value, tensors)
    return tensors


def mapped(value: Any, change: Any) -> Any:
    """The same tree with every tensor replaced by change(tensor)."""
    tensors: list[torch.Tensor] = []
    tree = _flattened(value, tensors)
    return _rebuilt(tree, [change(t) for t in tensors])


def _laid_out(tensors: list[torch.Tensor]) -> tuple[list[dict[str, Any]], int]:
    entries, offset = [], 0
    for tensor in tensors:
        name = str(tensor.dtype).removeprefix("torch.")
        if name not in DTYPES or tensor.layout != torch.strided:
            raise Unencodable(f"a tensor of {tensor.dtype}, {tensor.layout}")
        entries.append(
            {
                "dtype": name,
                "shape": list(tensor.shape),
                "stride": list(tensor.stride()),
                "offset": offset,
                "kind": f"{type(tensor).__module__}.{type(tensor).__name__}",
            }
        )
        offset += tensor.numel() * tensor.dtype.itemsize
    return entries, offset


def _flattened(value: Any, tensors: list[torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return {"tensor": len(tensors) - 1}
    if isinstance(value, list | tuple):
        return {"tuple" if isinstance(value, tuple) else "list": [_flattened(v, tensors) for v in value]}
    if isinstance(value, dict):
        return {"dict": [[str(k), _flattened(v, tensors)] for k, v in value.items()]}
    if value is None or isinstance(value, bool | int | float | str):
        return {"value": value}
    raise Unencodable(f"a {type(value).__module__}.{type(value).__name__}")


def _rebuilt(tree: Any, tensors: list[torch.Tensor]) -> Any:
    ((kind, body),) = tree.items()
    if kind == "tensor":
        return tensors[body]
    if kind == "dict":
        return {k: _rebuilt(v, tensors) for k, v in body}
    if kind in ("list", "tuple"):
        items = [_rebuilt(v, tensors) for v in body]
        return tuple(items) if kind == "tuple" else items
    return body


def _header(fd: int) -> tuple[Any, list[Entry]]:
    size = os.fstat(fd).st_size
    raw = os.pread(fd, 8, 0)
    length = struct.unpack("<Q", raw)[0] if len(raw) == 8 else HEADER_LIMIT + 1
    if length > min(HEADER_LIMIT, size):
        raise Corrupt("no header")
    try:
        header = json.loads(os.pread(fd, length, 8))
        entries = [_entry(item, 8 + length, size) for item in header["tensors"]]
        return header["tree"], entries
    except (ValueError, KeyError, TypeError, RecursionError, AttributeError) as error:
        raise Corrupt(f"bad header: {error}") from error


def _entry(item: dict[str, Any], start: int, size: int) -> Entry:
    entry = Entry(
        DTYPES[item["dtype"]],
        tuple(int(n) for n in item["shape"]),
        tuple(int(n) for n in item["stride"]),
        start + int(item["offset"]),
        str(item["kind"])[:80],
    )
    stop = entry.offset + entry.numel * entry.dtype.itemsize
    if any(n < 0 for n in entry.shape) or entry.offset < start or stop > size:
        raise Corrupt("a tensor lies outside its file")
    return entry


def _fill(fd: int, out: torch.Tensor, offset: int) -> None:
    if not out.numel():
        return
    view, done = memoryview(out.view(-1).view(torch.uint8).numpy()), 0  # type: ignore[arg-type]
    while done < len(view):
        got = os.preadv(fd, [view[done : done + PIECE]], offset + done)
        if got <= 0:
            raise Corrupt("the file is shorter than its header says")
        done += got
