"""Mul."""

from __future__ import annotations

from tvm import relax

from ._elementwise import Binary


class Mul(Binary):
    """``multiply``."""

    name = "Mul"
    function = staticmethod(relax.op.multiply)
