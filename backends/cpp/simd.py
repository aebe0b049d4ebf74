"""The pieces of C++ in simd/: which function of the sketch stands where, and a source that holds only what it needs."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(__file__).with_name("simd")
END = "// ---- the kernel"

# sketch function -> (piece, C++ template). `poly` is branch-free and vectorises; `libm` calls the C library on every lane.
_COMMON: dict[str, tuple[str, str]] = {
    **{fn: ("basic", f"m_{fn}") for fn in ("add", "sub", "mul", "div", "neg", "abs", "recip", "sign", "isnan", "isinf")},
    **{fn: ("core", fn) for fn in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{fn: ("core", f"l{fn}") for fn in ("and", "or", "xor", "not")},
    **{fn: ("reduce", f"v{fn}") for fn in ("max", "min")},
    **{fn: ("round", f"m_{fn}") for fn in ("floor", "ceil", "round", "trunc")},
    **{fn: ("sqrt", f"m_{fn}") for fn in ("sqrt", "rsqrt")},
    "where": ("core", "select"),
    "cast": ("core", "cvt"),
}
_LIBM = (
    "exp", "expm1", "exp2", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
    "tanh", "asinh", "acosh", "atanh", "sigmoid", "erf", "erfc", "lgamma", "pow", "mod", "floordiv", "atan2",
)  # fmt: skip
_POLY = ("exp", "expm1", "exp2", "log", "log1p", "log2", "tanh", "sigmoid", "erf", "sin", "cos", "pow")

LIBM: dict[str, tuple[str, str]] = {**_COMMON, **{fn: ("libm", f"l_{fn}") for fn in _LIBM}}
POLY: dict[str, tuple[str, str]] = {**LIBM, **{fn: ("sincos" if fn in ("sin", "cos") else fn, f"m_{fn}") for fn in _POLY}}
FUNCTIONS: dict[str, dict[str, tuple[str, str]]] = {"poly": POLY, "libm": LIBM}


@functools.cache
def piece(name: str) -> tuple[tuple[str, ...], str]:
    """(pieces that it needs, its text)."""
    first, _, rest = (FOLDER / f"{name}.h").read_text().partition("\n")
    return tuple(filter(None, first.removeprefix("// needs:").replace(" ", "").split(","))), rest


def pieces() -> list[str]:
    """Every piece's name."""
    return sorted(p.stem for p in FOLDER.glob("*.h"))


def order(names: Iterable[str]) -> list[str]:
    """The pieces with all that they need, each after its needs."""
    out: list[str] = []

    def visit(name: str) -> None:
        for need in piece(name)[0]:
            visit(need)
        if name not in out:
            out.append(name)

    for name in names:
        visit(name)
    return out


def text(names: Iterable[str]) -> str:
    """One C++ text of the pieces and of what they need, ready to stand before a kernel."""
    return "\n".join([*(f"// ---- {name}\n{piece(name)[1].strip()}\n" for name in order(names)), END, ""])
