"""qbinary: sums and products of two dequantised tensors that are quantised again.

quantize(add(dequantize(a), dequantize(b)))         a limit may stand before the quantize

One of them may be one number for each channel, or one for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from tvm.relax.dpl import DFPattern, is_op

from tvm_megcc.core.dtypes import EIGHT_BITS
from tvm_megcc.dims import Size, product
from tvm_megcc.fuse.epilogue import Tail
from tvm_megcc.fuse.quantised import dequantised
from tvm_megcc.fuse.request import Anchor, Parts, Request
from tvm_megcc.fuse.rescale import NUMBER_STEPS, number_stored
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
            raw, real = dequantised()
            sides.append(real)
            parts |= {side: raw, f"{side}_real": real}
        pattern = is_op(f"relax.{name}")(*sides)
        build = partial(_binary, codes("qbinary")[code])
        yield Anchor(f"qbinary.{name}", pattern, parts, build, NUMBER_STEPS, tuple(sides))


def _binary(code: int, parts: Parts, tail: Tail) -> Request | None:
    shape, held = parts.shape_of(parts["root"]), number_stored(tail)
    if shape is None or held is None:
        return None
    order = "ab"
    runs = _runs(shape, parts.shape_of(parts["b"]))
    if parts.shape_of(parts["a"]) != shape:
        order, runs = "ba", _runs(shape, parts.shape_of(parts["a"]))
    if runs is None or parts.shape_of(parts[order[0]]) != shape:
        return None
    facts: dict[str, Fact] = {"func": code, "size": product(shape), **runs, **held.facts}
    facts |= {"y_scale": float(held.step), "offset": float(held.offset)}
    for name, side in zip("ab", order, strict=True):
        found = step_of(parts[f"{side}_real"])
        if found is None or dtype_of(parts[side]) not in EIGHT_BITS:
            return None
        facts |= {f"{name}_scale": float(found[0]), f"{name}_zero": found[1]}
    operands = {name: parts[side] for name, side in zip("ab", order, strict=True)}
    return Request("qbinary", facts, operands)


def _runs(shape: tuple[Size, ...], other: tuple[Size, ...] | None) -> dict[str, Size] | None:
    """How an operand broadcasts: its last dims are those of the shape, then come ones, then the
    shape's again (`op/qbinary.h`). None where it does so in another way."""
    if other is None or len(other) > len(shape):
        return None
    pairs = list(zip(shape, (1,) * (len(shape) - len(other)) + other, strict=True))
    period, inner = _taken(pairs, lambda s, o: s == o), _taken(pairs, lambda s, o: o == 1)
    if not all(s == o for s, o in pairs):
        return None
    return (
        {"inner": 1, "period": product(shape)} if inner == 1 else {"inner": inner, "period": period}
    )


def _taken(pairs: list[tuple[Size, Size]], test: Callable[[Size, Size], bool]) -> Size:
    """Remove the last pairs that pass from the list; return the product of their sizes."""
    sizes: list[Size] = []
    while pairs and test(*pairs[-1]):
        sizes.append(pairs.pop()[0])
    return product(sizes)
