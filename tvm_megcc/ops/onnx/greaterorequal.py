"""GreaterOrEqual."""

from __future__ import annotations

from tvm import relax

from ..common.arithmetic import less, truth
from ..common.elementwise import Binary


class GreaterOrEqual(Binary):
    """``greater_equal``."""

    name = "GreaterOrEqual"
    function = staticmethod(relax.op.greater_equal)
    on_sizes = staticmethod(truth(lambda a, b: 1 - less(a, b)))
