"""Describe errors of TVM and Python for a message."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm import relax

from tvm_megcc.relax_tools.exprs import shape_of
from tvm_megcc.relax_tools.shape_exprs import Symbols

from ..ops.common.context import expr_dtype
from ..shapes.sizes import SizeArray

#: Texts of errors that only tell something to those who know TVM or Python.
_OF_TVM = re.compile(
    r"relax|\bR\.|\bir\.|tirx?\b|prim\.|Check failed|Mismatched type|Type of|TVM|'"
    r"|\bzip\(|index out of range|out of bounds for axis|to unpack|cannot reshape array"
    r"|broadcast together|Cannot broadcast|PermuteDims|\bndim\b|axis remapping"
)


def reason(error: Exception, operands: Sequence[Any], symbols: Symbols) -> str:
    """The error's own words, or the operands' types where those words are about TVM's internals."""
    words = " ".join(str(error).split())
    if words and not _OF_TVM.search(words):
        return words[:300]
    types = " and ".join(_described(value, symbols) for value in operands)
    return f"its operands are {types or 'none'}"


def _described(value: Any, symbols: Symbols) -> str:
    """The type of an operand, for a message."""
    if value is None:
        return "nothing"
    if isinstance(value, np.ndarray | SizeArray):
        return f"{value.dtype}{list(value.shape)}"
    if not isinstance(value, relax.Expr) or not isinstance(value.ty, relax.TensorType):
        return "no tensor"
    dims = shape_of(value, symbols)
    return f"{expr_dtype(value)}[{'?' if dims is None else ', '.join(map(str, dims))}]"
