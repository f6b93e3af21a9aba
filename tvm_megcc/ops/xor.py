"""Xor."""

from __future__ import annotations

from tvm import relax

from ._elementwise import Binary


class Xor(Binary):
    """``logical_xor``."""

    name = "Xor"
    function = staticmethod(relax.op.logical_xor)
