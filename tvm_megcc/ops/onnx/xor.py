"""Xor."""

from __future__ import annotations

from tvm import relax

from ..common.arithmetic import equal, truth
from ..common.elementwise import Binary


class Xor(Binary):
    """``logical_xor``."""

    name = "Xor"
    function = staticmethod(relax.op.logical_xor)
    on_sizes = staticmethod(truth(lambda a, b: 1 - equal(a, b)))
