"""qconv2d, qmatmul: i32 convolutions and products of 8-bit integers minus their zero points.

    conv2d(astype(x, i32) - zero, w) [+ bias]  and rescaling of the sums (`rescale.py`)

This is the arithmetic of ONNX's quantised operators, from `tvm_megcc.ops`, and of operators between
DequantizeLinear and QuantizeLinear, from `tvm_megcc.passes.integer_form`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax.dpl import DFPattern, is_const, is_op, wildcard

from tvm_megcc.core.dtypes import EIGHT_BITS, numpy_dtype
from tvm_megcc.dims import fixed
from tvm_megcc.fuse import conv2d, matmul
from tvm_megcc.fuse.epilogue import Tail
from tvm_megcc.fuse.request import Anchor, Parts, Request, channel_vector
from tvm_megcc.fuse.rescale import STEPS, rescaling
from tvm_megcc.kernels.packing import byte_zero
from tvm_megcc.relax_tools.exprs import constant, dtype_of


@dataclass(frozen=True, slots=True)
class Centred:
    """Patterns of an 8-bit tensor minus its zero point, as i32.

    `swap` is the transpose of the 8 bits, if any (`tvm_megcc.passes.narrow_moves`).
    """

    name: str
    pattern: DFPattern
    raw: DFPattern
    swap: DFPattern
    zero: DFPattern | None
    calls: tuple[DFPattern, ...]


def centred(is_swapped: bool = False) -> Iterator[Centred]:
    """All forms: without zero point, with a constant one, with one at run time."""
    for name in ("", "_less", "_less_given"):
        raw, zero = wildcard(), None
        swap = is_op("relax.permute_dims")(raw) if is_swapped else raw
        calls = [is_op("relax.astype")(swap)]
        if name == "_less":
            zero = is_const()
            calls.append(is_op("relax.subtract")(calls[0], zero))
        elif name == "_less_given":
            zero = wildcard()
            point = is_op("relax.astype")(zero)
            calls += [point, is_op("relax.subtract")(calls[0], point)]
        yield Centred(name, calls[-1], raw, swap, zero, tuple(calls))


def dequantised() -> tuple[DFPattern, DFPattern]:
    """A tensor of 8 bits, and its ``dequantize`` by constants."""
    raw = wildcard()
    return raw, is_op("relax.dequantize")(raw, is_const(), is_const())


def anchors() -> Iterator[Anchor]:
    for x in centred():
        w = is_const()
        parts = {"x": x.raw, "w": w} | ({"zero": x.zero} if x.zero is not None else {})
        pattern = is_op("relax.nn.conv2d")(x.pattern, w)
        yield Anchor(f"qconv2d{x.name}", pattern, parts, _convolution, STEPS, x.calls)
    for lhs in centred():
        yield _product(lhs, None)
        for is_swapped in (True, False):
            for rhs in centred(is_swapped):
                yield _product(lhs, rhs, is_swapped)


def _product(lhs: Centred, rhs: Centred | None, trans_b: bool = False) -> Anchor:
    """Anchor of a matrix product; without `rhs`, by a constant."""
    right = is_const() if rhs is None else rhs.pattern
    parts = {"lhs": lhs.raw, "rhs": right if rhs is None else rhs.raw}
    name, calls = f"qmatmul{lhs.name}", lhs.calls
    if rhs is not None:
        name, calls = f"{name}_by{rhs.name}", (*calls, *rhs.calls)
    if rhs is not None and trans_b:
        name = f"{name}_bt"
        parts["swap"] = rhs.swap
        calls = (*calls, rhs.swap)
    if lhs.zero is not None:
        parts["zero"] = lhs.zero
    if rhs is not None and rhs.zero is not None:
        parts["rhs_zero"] = rhs.zero
    pattern = is_op("relax.matmul")(lhs.pattern, right)
    return Anchor(name, pattern, parts, partial(_matrices, trans_b), STEPS, calls)


def _convolution(parts: Parts, tail: Tail) -> Request | None:
    facts = conv2d.geometry(parts)
    weights = _weights(parts["w"])
    if facts is None or weights is None or dtype_of(parts["root"]) != "i32":
        return None
    oc = facts["oc"]
    bias = np.zeros(fixed(oc), np.int32) if tail.bias is None else channel_vector(tail.bias, oc)
    zero, scaled = _zero(parts, "x", "zero"), rescaling(tail, oc)
    if bias is None or zero is None or scaled is None:
        return None
    known: dict[str, Any] = {**facts, **scaled.facts, "x_zero": zero.number, **zero.facts}
    known |= {"w_zero": weights.zero, "narrow": weights.narrow}
    given = {"x": parts["x"], "w": weights.values, "bias": bias}
    operands = {**given, **scaled.operands, **zero.operands}
    return Request("qconv2d", known, operands)


def _matrices(trans_b: bool, parts: Parts, tail: Tail) -> Request | None:
    facts = matmul.geometry(trans_b, parts)
    scaled = None if facts is None else rescaling(tail, facts["n"])
    zero = _zero(parts, "lhs", "zero")
    if facts is None or scaled is None or zero is None or dtype_of(parts["root"]) != "i32":
        return None
    operands: dict[str, Any] = {"lhs": parts["lhs"], "rhs": parts["rhs"]}
    known: dict[str, Any] = {**facts, **scaled.facts, "lhs_zero": zero.number, **zero.facts}
    known |= {"dst_zero": known.pop("y_zero"), "rhs_zero": 0, "narrow": 0, "bias": 0}
    bias = None if tail.bias is None else channel_vector(tail.bias, facts["n"])
    if tail.bias is not None and bias is None:
        return None
    if known["rhs_const"]:
        weights = _weights(parts["rhs"])
        if weights is None:
            return None
        operands["rhs"] = weights.values
        known |= {"rhs_zero": weights.zero, "narrow": weights.narrow}
        bias = np.zeros(fixed(facts["n"]), np.int32) if bias is None else bias
    else:
        right = _zero(parts, "rhs", "rhs_zero")
        if right is None or right.operands or zero.operands:
            return None
        known["rhs_zero"] = right.number
    if bias is not None:
        known["bias"], operands["bias"] = 1, bias
    return Request("qmatmul", known, {**operands, **scaled.operands, **zero.operands})


@dataclass(frozen=True, slots=True)
class _Weights:
    """Weights as signed bytes and their zero point."""

    values: np.ndarray
    zero: int

    @property
    def narrow(self) -> int:
        """1 if the sum of two products with other bytes fits into 16 bits, else 0."""
        return int(self.zero == 0 and self.values.min(initial=0) > -128)


def _weights(expr: relax.Expr) -> _Weights | None:
    array = constant(expr)
    if array is None or array.dtype != np.int32:
        return None
    zero = byte_zero(array)
    return None if zero is None else _Weights((array + zero).astype(np.int8), zero)


def holds(dtype: str, number: int) -> bool:
    """Whether a number is in the range of an integer type."""
    info = np.iinfo(numpy_dtype(dtype))
    return bool(info.min <= number <= info.max)


@dataclass(frozen=True, slots=True)
class _Zero:
    """A zero point: a number, or an operand."""

    number: int
    operands: dict[str, relax.Expr]

    @property
    def facts(self) -> dict[str, int]:
        return {"zero_operand": len(self.operands)}


def _zero(parts: Parts, data: str, name: str) -> _Zero | None:
    """Zero point of an 8-bit part; None if it is not one number of the part's type."""
    dtype = dtype_of(parts[data])
    if dtype not in EIGHT_BITS:
        return None
    if name not in parts:
        return _Zero(0, {})
    known = constant(parts[name])
    if known is None:
        one = parts.shape_of(parts[name]) in ((), (1,))
        return _Zero(0, {"zero": parts[name]}) if one and dtype_of(parts[name]) == dtype else None
    if known.size != 1 or not holds(dtype, known.item()):
        return None
    return _Zero(int(known.item()), {})
