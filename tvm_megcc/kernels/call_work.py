"""Multiply-adds of a call of an operator's kernel: a number, or a size where dims are dynamic.

Example
-------
>>> multiply_adds("matmul", {"b": 1, "m": 2, "n": 3, "k": 4})
24
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from tvm_megcc.codegen_c.sources import kernel_operator
from tvm_megcc.core.program import Kernel
from tvm_megcc.dims import Size, product
from tvm_megcc.kernels.contract import contract

_CONVOLUTION = ("n", "oh", "ow", "oc", "kh", "kw", "ic")

#: Operator -> the attributes whose product, by the one that follows, is its multiply-adds.
_PRODUCTS: dict[str, tuple[tuple[str, ...], str]] = {
    "conv2d": (_CONVOLUTION, "g"),
    "conv2d_computed": (_CONVOLUTION, "g"),
    "qconv2d": (_CONVOLUTION, "g"),
    "matmul": (("b", "m", "n", "k"), ""),
    "qmatmul": (("b", "m", "n", "k"), ""),
    "matmul_wq": (("m", "n", "k"), ""),
}
_ATTENTION = ("b", "h", "m", "n")


def multiply_adds(op: str, facts: Mapping[str, object]) -> Size:
    """Multiply-adds of a call; 0 of an operator that is neither convolution nor product."""
    if op == "attention":
        d, e = (cast(int, facts[name]) for name in "de")
        return product([cast(Size, facts[name]) for name in _ATTENTION]) * (d + e)
    if op not in _PRODUCTS:
        return 0
    names, groups = _PRODUCTS[op]
    found = product([cast(Size, facts[name]) for name in names])
    return found // cast(int, facts[groups]) if groups else found


def of_call(kernel: Kernel, attrs: Sequence[Size]) -> Size:
    """Multiply-adds of a program's call; 0 of a generated kernel, of which nothing is known."""
    if not kernel.template:
        return 0
    op = kernel_operator(kernel.template)
    return multiply_adds(op, dict(zip(contract(op).attributes, attrs, strict=True)))
