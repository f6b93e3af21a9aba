"""Multiply-adds of a model by element type.

Written where kernels are chosen (`tvm_megcc.fuse.multiply_adds`), shown by ``tvmc inspect``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Work:
    """Work of one program, for usual sizes where dims are dynamic.

    Attributes
    ----------
    multiply_adds : mapping
        Element type -> multiply-adds of convolutions and matrix products of such operands.
    in_float : mapping
        Name of a quantised operator that is computed in float -> why.
    widened : mapping
        Name of quantised weights that are floats in the package -> why.
    tied : mapping
        Name of what is gathered of a table that is also the weights of a product -> its bytes, and
        whether they are stored once.
    """

    multiply_adds: Mapping[str, int] = field(default_factory=dict)
    in_float: Mapping[str, str] = field(default_factory=dict)
    widened: Mapping[str, str] = field(default_factory=dict)
    tied: Mapping[str, str] = field(default_factory=dict)
