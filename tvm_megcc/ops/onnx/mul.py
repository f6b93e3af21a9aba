"""Mul."""

from __future__ import annotations

from operator import mul

from tvm import relax

from ..common.arithmetic import elementwise
from ..common.elementwise import Binary


class Mul(Binary):
    """``multiply``."""

    name = "Mul"
    function = staticmethod(relax.op.multiply)
    on_sizes = staticmethod(elementwise(mul))
