"""qbinary: sums and products of two dequantised tensors that are quantised again.

quantize(add(dequantize(a), dequantize(b)))         a limit may stand before the quantize
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tvm import relax
from tvm.relax.dpl import DFPattern, is_const, is_op, wildcard

from tvm_megcc.dims import product
from tvm_megcc.fuse.epilogue import Tail, activation
from tvm_megcc.fuse.request import Anchor, Parts, Request
from tvm_megcc.fuse.rescale import limits, quantised
from tvm_megcc.kernels.contract import codes
from tvm_megcc.kernels.expression import Fact
from tvm_megcc.relax_tools.exprs import constant, dtype_of

_EIGHT_BITS = ("i8", "u8")
#: Relax's operators -> names of codes in ``op/qbinary.h``.
_FUNCS = {"add": "ADD", "multiply": "MUL"}


def anchors() -> Iterator[Anchor]:
    for name, code in _FUNCS.items():
        parts: dict[str, DFPattern] = {}
        sides: list[DFPattern] = []
        for side in "ab":
            raw, scale, zero = wildcard(), is_const(), is_const()
            parts |= {side: raw, f"{side}_scale": scale, f"{side}_zero": zero}
            sides.append(is_op("relax.dequantize")(raw, scale, zero))
        pattern = is_op(f"relax.{name}")(*sides)
        build = partial(_binary, codes("qbinary")[code])
        yield Anchor(
            f"qbinary.{name}", pattern, parts, build, (activation, quantised), tuple(sides)
        )


def _binary(code: int, parts: Parts, tail: Tail) -> Request | None:
    shape = parts.shape_of(parts["root"])
    held = None if tail.stored is None else limits(tail)
    if shape is None or held is None:
        return None
    step, ends = held
    facts: dict[str, Fact] = {"func": code, "size": product(shape), "y_scale": float(step), **ends}
    for side in "ab":
        scale, zero = (_one(parts[f"{side}_{name}"]) for name in ("scale", "zero"))
        if (
            scale is None
            or zero is None
            or dtype_of(parts[side]) not in _EIGHT_BITS
            or parts.shape_of(parts[side]) != shape
        ):
            return None
        facts |= {f"{side}_scale": float(scale), f"{side}_zero": int(zero)}
    return Request("qbinary", facts, {side: parts[side] for side in "ab"})


def _one(expr: relax.Expr) -> float | None:
    """A constant of one element."""
    known = constant(expr)
    return None if known is None or known.size != 1 else float(known.item())
