"""Facts of a Relax expression: dims, type, and the value of a constant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from mmap import mmap

import numpy as np
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import GenericConst

from tvm_megcc.core.dtypes import of_numpy
from tvm_megcc.dims import Size, fixed_dims, is_static
from tvm_megcc.errors import UnsupportedError
from tvm_megcc.relax_tools.shape_exprs import Symbols, sizes_of


def dtype_name(dtype: object) -> str:
    """Our name of a TVM dtype: ``float32`` -> ``f32``."""
    row = of_numpy(str(dtype))
    if row is None or row.is_storage:
        raise UnsupportedError(
            f"a tensor in the model is {dtype}, which no kernel can hold; cast it to another type"
        )
    return row.name


def dtype_of(expr: relax.Expr) -> str:
    return dtype_name(expr.ty.dtype)


def shape_of(expr: relax.Expr, symbols: Symbols) -> tuple[Size, ...] | None:
    """The shape, symbolic dims included, or None when it is known at run time only."""
    return sizes_of(getattr(expr.ty, "shape", None), symbols)


def expressions(func: relax.Function) -> list[relax.Expr]:
    """Every expression in a function, operands before their calls.

    A list, as TVM replaces an error that is raised during a visit by another one.
    """
    found: list[relax.Expr] = []
    relax.analysis.post_order_visit(func, found.append)
    return found


def use_counts(func: relax.Function) -> Counter[relax.Var]:
    """Number of times that each variable is an operand or the function's result."""
    counts: Counter[relax.Var] = Counter()
    for expr in expressions(func):
        if isinstance(expr, relax.Call):
            counts.update(_variables(expr.args))
        elif isinstance(expr, relax.Tuple):
            counts.update(_variables(expr.fields))
        elif isinstance(expr, relax.TupleGetItem):
            counts.update(_variables([expr.tuple_value]))
        elif isinstance(expr, relax.SeqExpr):
            counts.update(_variables([expr.body]))
    return counts


def _variables(exprs: Iterable[relax.Expr]) -> list[relax.Var]:
    return [e for e in exprs if isinstance(e, relax.Var)]


def known_shape(expr: relax.Expr, name: str, symbols: Symbols) -> tuple[Size, ...]:
    """The shape, symbolic dims included.

    Raises
    ------
    UnsupportedError
        When it is known at run time only; the message names the value `name`.
    """
    shape = shape_of(expr, symbols)
    if shape is None:
        raise UnsupportedError(
            f"{name!r} has a shape that is known at run time only ({expr.ty}); give sizes with"
            " --input-shapes or cut the model before it"
        )
    return shape


def static_shape(expr: relax.Expr, symbols: Symbols) -> tuple[int, ...] | None:
    """The shape as ints, or None when a dim is symbolic or the rank is unknown."""
    shape = shape_of(expr, symbols)
    return fixed_dims(shape) if shape is not None and is_static(shape) else None


def as_int(value: object) -> int | None:
    if isinstance(value, int):
        return value
    return int(value.value) if isinstance(value, tirx.IntImm) else None


def as_float(value: object) -> float | None:
    """Number of a primitive value or a one-element constant, else None."""
    if isinstance(value, GenericConst):
        array = value.value.numpy()
        return float(array.reshape(())) if array.size == 1 else None
    if isinstance(value, tirx.IntImm | tirx.FloatImm):
        return float(value.value)
    inner = getattr(value, "value", None)
    return as_float(inner) if isinstance(inner, tirx.IntImm | tirx.FloatImm) else None


def constant(expr: relax.Expr | None) -> np.ndarray | None:
    """Read-only value of a constant, a view where NumPy has the type; else None."""
    return array_of(expr) if isinstance(expr, GenericConst) else None


def array_of(expr: GenericConst) -> np.ndarray:
    """Read-only value of a constant."""
    row = of_numpy(str(expr.value.dtype))
    if row is None or not row.is_numpys_own:  # NumPy has no such type by itself
        copied: np.ndarray = expr.value.numpy()
        return copied
    array = np.from_dlpack(expr.value)
    array.flags.writeable = False
    return array


def of_channels(array: np.ndarray | None, channels: int) -> np.ndarray | None:
    """A constant that varies at most by channel of NCHW, as a vector of doubles; else None."""
    if array is None or array.ndim > 4 or array.dtype.kind != "f":
        return None
    padded = (1,) * (4 - array.ndim) + array.shape
    if (padded[0], *padded[2:]) != (1, 1, 1) or padded[1] not in (1, channels):
        return None
    return np.broadcast_to(array.reshape(-1).astype(np.float64), (channels,))


#: Scales for which 8-bit numbers times a scale, products of two of these, and their sums are finite
#: and, except 0, normal in f32, in any order of the steps.
STEPS = (2.0**-60, 2.0**40)


def step_of(call: relax.Call) -> tuple[np.float32, int] | None:
    """Scale and zero point of a ``quantize`` or ``dequantize`` by one constant step for all.

    None for a scale outside of `STEPS`, with which rewritten steps could give other results.
    """
    scale, zero = (constant(arg) for arg in call.args[1:])
    if scale is None or zero is None or scale.size != 1 or zero.size != 1:
        return None
    if not STEPS[0] <= abs(scale.item()) <= STEPS[1]:  # a NaN is not
        return None
    return np.float32(scale.item()), int(zero.item())


#: Alignment in bytes of tensors that TVM's code computes with.
_ALIGNMENT = 64

#: Alignment in bytes of mapped weights that are used in place.
_alignment = ContextVar("alignment", default=_ALIGNMENT)


@contextmanager
def unaligned_constants() -> Iterator[None]:
    """Use weights that are mapped from a file in place, however they are aligned.

    Only for modules that our passes alone read, with NumPy: TVM's code needs aligned tensors.
    """
    token = _alignment.set(1)
    try:
        yield
    finally:
        _alignment.reset(token)


def make_constant(array: np.ndarray) -> relax.Expr:
    """A Relax constant of the array's own dtype (``relax.const`` narrows 64-bit scalars).

    Weights that are mapped from a file stay mapped if aligned to 64 bytes, or within
    `unaligned_constants`.
    """
    array = np.require(array, requirements="C")
    row = of_numpy(str(array.dtype))
    if (
        isinstance(array.base, mmap)
        and array.flags.writeable  # TVM takes no others
        and array.ctypes.data % _alignment.get() == 0
        and row is not None
        and row.is_numpys_own
    ):
        return relax.const(tvm_ffi.from_dlpack(array, require_alignment=0))
    return relax.const(array, str(array.dtype))
