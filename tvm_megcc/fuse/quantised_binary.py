"""qbinary: sums and products of two dequantised tensors that are quantised again.

quantize(add(dequantize(a), dequantize(b)))         a limit may stand before the quantize
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tvm.relax.dpl import DFPattern, is_const, is_op, wildcard

from tvm_megcc.core.dtypes import EIGHT_BITS
from tvm_megcc.dims import product
from tvm_megcc.fuse.epilogue import Tail, activation
from tvm_megcc.fuse.request import Anchor, Parts, Request
from tvm_megcc.fuse.rescale import limits, quantised
from tvm_megcc.kernels.contract import codes
from tvm_megcc.kernels.expression import Fact
from tvm_megcc.relax_tools.exprs import dtype_of, step_of

#: Relax's operators -> names of codes in ``op/qbinary.h``.
_FUNCS = {"add": "ADD", "multiply": "MUL"}


def anchors() -> Iterator[Anchor]:
    for name, code in _FUNCS.items():
        parts: dict[str, DFPattern] = {}
        sides: list[DFPattern] = []
        for side in "ab":
            raw = wildcard()
            sides.append(is_op("relax.dequantize")(raw, is_const(), is_const()))
            parts |= {side: raw, f"{side}_real": sides[-1]}
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
        found = step_of(parts[f"{side}_real"])
        is_held = dtype_of(parts[side]) in EIGHT_BITS
        if found is None or not is_held or parts.shape_of(parts[side]) != shape:
            return None
        facts |= {f"{side}_scale": float(found[0]), f"{side}_zero": found[1]}
    return Request("qbinary", facts, {side: parts[side] for side in "ab"})
