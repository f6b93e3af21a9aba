"""Calls whose result is of all pixels: the kernel that adds a band of rows to what it has so far.

Enters: a call of a program that pools a whole image. Leaves: the call's `Sums`, or None. Both
kernels add up in the same order, so results are equal to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from tvm_megcc.core.program import Call, Kernel, Patch, Program
from tvm_megcc.kernels import registry
from tvm_megcc.kernels.contract import Tensor, contract
from tvm_megcc.kernels.expression import Fact


@dataclass(frozen=True, slots=True)
class Sums:
    """The call of a band, in place of the call of a whole image.

    Its operands are the band, the sums so far as input and as output, and the result.

    Attributes
    ----------
    kernel : Kernel
    attrs : tuple of int
    dtype, shape
        Of the sums so far.
    patches : tuple of Patch
    """

    kernel: Kernel
    attrs: tuple[int, ...]
    dtype: str
    shape: tuple[int, ...]
    patches: tuple[Patch, ...]


def _pixels(facts: Mapping[str, int]) -> int | None:
    return facts["hw"] if facts["n"] == 1 else None


def _pixels_of_window(facts: Mapping[str, int]) -> int | None:
    """Pixels of an image that is one window; None for other windows."""
    one = ("n", "oh", "ow", "dh", "dw")
    none = ("pt", "pl", "pb", "pr")
    is_whole = all(facts[k] == 1 for k in one) and not any(facts[k] for k in none)
    is_whole = is_whole and (facts["kh"], facts["kw"]) == (facts["h"], facts["w"])
    return facts["h"] * facts["w"] if is_whole else None


#: Operator -> the operator of a band, and the pixels of an image that a call pools whole.
_OPERATORS: dict[str, tuple[str, Callable[[Mapping[str, int]], int | None]]] = {
    "global_pool": ("global_pool_band", _pixels),
    "qpool2d": ("qglobal_pool_band", _pixels_of_window),
}


def sums_of(
    program: Program, call: Call, op: str, facts: Mapping[str, int], height: int
) -> Sums | None:
    """How a call of operator `op` with these facts adds up the bands of an image of `height` rows.

    None where it does not pool all of one image, or a row has no whole number of pixels.
    """
    banded, pixels_of = _OPERATORS[op]
    pixels = pixels_of(facts)
    if pixels is None or pixels % height:
        return None
    operator = contract(banded)
    known: dict[str, Fact] = {k: v for k, v in facts.items() if k in operator.facts}
    known |= {"hw": pixels, "first": 0, "total": pixels}
    before = operator.operand("before")
    shape = tuple(cast(int, size(known)) for size in before.shape or ())
    state = Tensor(before.dtype, shape)
    x, y = (program.tensors[t] for t in (call.operands[0], call.operands[-1]))
    tensors = {"x": Tensor(x.dtype), "before": state, "after": state, "y": Tensor(y.dtype)}
    completed = operator.completed(known, tensors)
    kernel = registry.find(banded, program.arch, completed)
    if kernel is None:
        return None
    names = operator.attributes
    row = pixels // height
    patches = Patch(names.index("hw"), "out", row), Patch(names.index("first"), "first", row)
    attrs = cast(tuple[int, ...], kernel.attrs(completed))
    return Sums(kernel.instance(completed), attrs, before.dtype, shape, patches)
