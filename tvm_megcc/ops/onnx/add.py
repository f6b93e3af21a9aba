"""Add."""

from __future__ import annotations

from operator import add

from tvm import relax

from ..common.arithmetic import elementwise
from ..common.elementwise import Binary


class Add(Binary):
    """``add``."""

    name = "Add"
    function = staticmethod(relax.op.add)
    on_sizes = staticmethod(elementwise(add))
