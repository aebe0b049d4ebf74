"""ATen's elementwise operators as scalar expressions; one entry per operator, keyed by its name without `aten.`"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch

from sketch.expr import cast
from sketch.ir import Call, Const, DType, Expr

DTYPE_OF: dict[torch.dtype, DType] = {
    torch.float32: "f32", torch.float64: "f64", torch.bfloat16: "bf16", torch.float16: "f16", torch.int64: "i64",
    torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8", torch.bool: "b1",
}  # fmt: skip
SIMPLE_UNARY = {
    "abs": "abs", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log1p": "log1p", "log2": "log2", "log10": "log10",
    "sqrt": "sqrt", "rsqrt": "rsqrt", "reciprocal": "recip", "sin": "sin", "cos": "cos", "tan": "tan", "tanh": "tanh",
    "sigmoid": "sigmoid", "erf": "erf", "erfc": "erfc", "floor": "floor", "ceil": "ceil", "round": "round", "trunc": "trunc",
    "asin": "asin", "acos": "acos", "atan": "atan", "sinh": "sinh", "cosh": "cosh", "asinh": "asinh", "acosh": "acosh",
    "atanh": "atanh", "neg": "neg", "sign": "sign", "lgamma": "lgamma",
}  # fmt: skip
SIMPLE_BINARY = {
    "maximum": "max", "minimum": "min", "div": "div", "mul": "mul", "atan2": "atan2", "remainder": "mod",
}  # fmt: skip
COMPARE = {"eq", "ne", "lt", "le", "gt", "ge"}
LOGIC = {
    "logical_and": "and",
    "logical_or": "or",
    "logical_xor": "xor",
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
}


def call(fn: str, *args: Expr) -> Expr:
    """A function whose arguments share one type, which is also its result's (comparisons give b1)."""
    dtype: DType = "b1" if fn in COMPARE or fn in ("and", "or", "xor", "not", "isnan", "isinf") else args[-1].dtype
    return Call(fn, args, dtype)


def const(value: float, like: Expr) -> Const:
    folded = cast(Const(value, "f32"), like.dtype)
    assert isinstance(folded, Const)
    return folded


def where(condition: Expr, yes: Expr, no: Expr) -> Expr:
    return Call("where", (cast(condition, "b1"), yes, no), yes.dtype)


def clamp(x: Expr, low: float | Expr | None, high: float | Expr | None) -> Expr:
    for bound, fn in ((low, "max"), (high, "min")):
        if bound is not None:
            x = call(fn, x, const(bound, x) if isinstance(bound, int | float) else cast(bound, x.dtype))
    return x


def power(x: Expr, exponent: float | Expr) -> Expr:
    """x ** exponent; small whole and half exponents become products and roots, as torch computes them."""
    if isinstance(exponent, Const):
        exponent = float(exponent.value)
    if not isinstance(exponent, int | float):
        return call("pow", x, cast(exponent, x.dtype))
    known: dict[float, Callable[[], Expr]] = {
        0.0: lambda: const(1.0, x),
        1.0: lambda: x,
        2.0: lambda: call("mul", x, x),
        3.0: lambda: call("mul", call("mul", x, x), x),
        0.5: lambda: call("sqrt", x),
        -0.5: lambda: call("rsqrt", x),
        -1.0: lambda: call("recip", x),
        -2.0: lambda: call("recip", call("mul", x, x)),
    }
    return known[exponent]() if exponent in known else call("pow", x, const(exponent, x))


def gelu(x: Expr, approximate: str = "none") -> Expr:
    half = call("mul", const(0.5, x), x)
    if approximate == "none":
        return call("mul", half, call("add", const(1.0, x), call("erf", call("mul", x, const(math.sqrt(0.5), x)))))
    cube = call("mul", call("mul", call("mul", x, x), x), const(0.044715, x))
    inner = call("mul", const(math.sqrt(2 / math.pi), x), call("add", x, cube))
    return call("mul", half, call("add", const(1.0, x), call("tanh", inner)))


def elu(x: Expr, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Expr:
    negative = call("mul", const(alpha * scale, x), call("expm1", call("mul", x, const(input_scale, x))))
    return where(call("gt", x, const(0.0, x)), call("mul", x, const(scale, x)), negative)


def softplus(x: Expr, beta: float = 1.0, threshold: float = 20.0) -> Expr:
    scaled = call("mul", x, const(beta, x))
    soft = call("div", call("log1p", call("exp", scaled)), const(beta, x))
    return where(call("gt", scaled, const(threshold, x)), x, soft)


def leaky_relu(x: Expr, slope: float = 0.01) -> Expr:
    return where(call("gt", x, const(0.0, x)), x, call("mul", x, const(slope, x)))


def relu(x: Expr) -> Expr:
    return call("max", x, const(0.0, x))


def hardtanh(x: Expr, low: float = -1.0, high: float = 1.0) -> Expr:
    return clamp(x, low, high)


def silu(x: Expr) -> Expr:
    return call("mul", x, call("sigmoid", x))


def mish(x: Expr) -> Expr:
    return call("mul", x, call("tanh", softplus(x)))


def hardsigmoid(x: Expr) -> Expr:
    return call("div", clamp(call("add", x, const(3.0, x)), 0.0, 6.0), const(6.0, x))


def hardswish(x: Expr) -> Expr:
    return call("mul", x, hardsigmoid(x))


def log_sigmoid(x: Expr) -> Expr:
    zero = const(0.0, x)
    return call("sub", call("min", x, zero), call("log1p", call("exp", call("neg", call("abs", x)))))


def _scaled(fn: str, x: Expr, y: Expr, alpha: float) -> Expr:
    if alpha != 1:
        y = call("mul", y, const(alpha, y))
    return call(fn, x, y)


def _rounded_div(x: Expr, y: Expr, mode: str | None) -> Expr:
    if mode == "floor":
        return call("floordiv", x, y)
    quotient = call("div", x, y)
    return call("trunc", quotient) if mode == "trunc" else quotient


def _logic(fn: str, x: Expr, y: Expr) -> Expr:
    return call(fn, cast(x, "b1"), cast(y, "b1"))


# operators with scalar parameters: (expression, *positional args, **keyword args) -> expression
PARAMETRIC: dict[str, Callable[..., Expr]] = {
    "clamp": lambda x, min=None, max=None: clamp(x, min, max),
    "clamp_min": lambda x, low: clamp(x, low, None),
    "clamp_max": lambda x, high: clamp(x, None, high),
    "pow": power,
    "gelu": gelu,
    "elu": elu,
    "softplus": softplus,
    "leaky_relu": leaky_relu,
    "relu": relu,
    "relu6": lambda x: clamp(x, 0.0, 6.0),
    "hardtanh": hardtanh,
    "silu": silu,
    "mish": mish,
    "hardsigmoid": hardsigmoid,
    "hardswish": hardswish,
    "log_sigmoid_forward": log_sigmoid,
    "square": lambda x: call("mul", x, x),
    "isnan": lambda x: call("isnan", x),
    "isinf": lambda x: call("isinf", x),
    "logical_not": lambda x: call("not", cast(x, "b1")),
    "bitwise_not": lambda x: call("not", cast(x, "b1")),
    "add": lambda x, y, alpha=1: _scaled("add", x, y, alpha),
    "sub": lambda x, y, alpha=1: _scaled("sub", x, y, alpha),
    "rsub": lambda x, y, alpha=1: _scaled("sub", y, x, alpha),
    "div": lambda x, y, rounding_mode=None: _rounded_div(x, y, rounding_mode),
    "where": where,
    **{name: partial(call, fn) for name, fn in (SIMPLE_UNARY | SIMPLE_BINARY).items() if name != "div"},
    **{name: partial(call, name) for name in COMPARE},
    **{name: partial(_logic, fn) for name, fn in LOGIC.items()},
}
