"""And."""

from __future__ import annotations

from tvm import relax

from ..common.arithmetic import size, truth
from ..common.elementwise import Binary


class And(Binary):
    """``logical_and``."""

    name = "And"
    function = staticmethod(relax.op.logical_and)
    on_sizes = staticmethod(truth(lambda a, b: size(a) * size(b)))
