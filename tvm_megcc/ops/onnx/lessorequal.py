"""LessOrEqual."""

from __future__ import annotations

from tvm import relax

from ..common.arithmetic import less, truth
from ..common.elementwise import Binary


class LessOrEqual(Binary):
    """``less_equal``."""

    name = "LessOrEqual"
    function = staticmethod(relax.op.less_equal)
    on_sizes = staticmethod(truth(lambda a, b: 1 - less(b, a)))
