"""What the fusion pass asks of the kernels: rows of patterns, and the request that a match makes.

A `Row` is one form in which an operator can stand in a Relax graph (with or without bias, which
activation, ...). When its pattern matches, ``build`` turns the matched parts into a `Request`: the
operator, its facts, and the operands in kernel order. ``build`` returns None to decline.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
from tvm import relax, tirx
from tvm.ir import GenericConst
from tvm.relax.dpl import DFPattern
from tvm.relax.dpl.pattern import CallPattern, OrPattern

from tvm_megcc.dims import Size, is_static
from tvm_megcc.dtypes import of_numpy
from tvm_megcc.errors import UnsupportedError
from tvm_megcc.kernels.expression import Fact
from tvm_megcc.shape_exprs import sizes_of

Parts = Mapping[str, relax.Expr]


@dataclass(frozen=True, slots=True)
class Request:
    """A kernel call in the making.

    Attributes
    ----------
    op : str
        Kernel operator, a file ``codegen_c/include/op/<op>.h``.
    facts : mapping
        Everything that header lists, attributes and facts alike.
    operands : tuple of Expr
        Inputs in kernel order; a NumPy array is a constant made here.
    """

    op: str
    facts: Mapping[str, Fact]
    operands: tuple[relax.Expr | np.ndarray, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One pattern: its name, the parts to extract, and what becomes of them.

    ``anchors`` are the operators without which the pattern cannot match: a cheap first test.
    ``chain``, when not 0, says that the row takes that many elementwise operators and wants to be
    used only where they are a whole chain (see `tvm_megcc.kernels.elementwise`).
    """

    name: str
    anchors: frozenset[str]
    pattern: DFPattern
    parts: Mapping[str, DFPattern]
    build: Callable[[Parts], Request | None]
    chain: int = 0

    @property
    def root(self) -> str:
        """Name of the operator whose call the pattern ends with."""
        pattern: DFPattern = self.pattern
        while isinstance(pattern, OrPattern):  # alternatives are commuted forms of one operator
            pattern = pattern.left
        assert isinstance(pattern, CallPattern)
        return str(pattern.op.expr.name)

    def request(self, parts: Parts) -> Request | None:
        return self.build({"root": parts["root"], **{k: parts[k] for k in self.parts}})


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


def shape_of(expr: relax.Expr) -> tuple[Size, ...] | None:
    """The shape, symbolic dims included, or None when it is known at run time only."""
    return sizes_of(getattr(expr.ty, "shape", None))


def static_shape(expr: relax.Expr) -> tuple[int, ...] | None:
    """The shape as ints, or None when a dim is symbolic or the rank is unknown."""
    shape = shape_of(expr)
    return shape if shape is not None and is_static(shape) else None  # type: ignore[return-value]


def as_int(value: object) -> int | None:
    if isinstance(value, int):
        return value
    return int(value.value) if isinstance(value, tirx.IntImm) else None


def as_float(value: object) -> float | None:
    """The number behind a primitive value or a one-element constant, else None."""
    if isinstance(value, GenericConst):
        array = value.value.numpy()
        return float(array.reshape(())) if array.size == 1 else None
    if isinstance(value, tirx.IntImm | tirx.FloatImm):
        return float(value.value)
    inner = getattr(value, "value", None)
    return as_float(inner) if isinstance(inner, tirx.IntImm | tirx.FloatImm) else None


def constant(expr: relax.Expr | None) -> np.ndarray | None:
    return expr.value.numpy() if isinstance(expr, GenericConst) else None


def channel_vector(expr: relax.Expr | None, channels: Size) -> np.ndarray | None:
    """A constant that broadcasts along the last axis only, as ``[channels]``; else None."""
    array = constant(expr)
    if array is None or not isinstance(channels, int) or array.dtype != np.float32:
        return None
    if array.size == 1:
        return np.full(channels, array.reshape(-1)[0], np.float32)
    if array.size == channels and array.ndim and array.shape[-1] == channels:
        return np.ascontiguousarray(array.reshape(-1))
    return None


def elements(shape: tuple[Size, ...]) -> Size:
    return prod(shape)


def make_constant(array: np.ndarray) -> relax.Expr:
    """A Relax constant of the array's own dtype (``relax.const`` narrows 64-bit scalars)."""
    return relax.const(array, str(array.dtype))
