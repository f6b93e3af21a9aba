"""Greater."""

from __future__ import annotations

from tvm import relax

from ..common.arithmetic import less, truth
from ..common.elementwise import Binary


class Greater(Binary):
    """``greater``."""

    name = "Greater"
    function = staticmethod(relax.op.greater)
    on_sizes = staticmethod(truth(lambda a, b: less(b, a)))
