"""Or."""

from __future__ import annotations

from tvm import relax

from ..common.arithmetic import size, truth
from ..common.elementwise import Binary


class Or(Binary):
    """``logical_or``."""

    name = "Or"
    function = staticmethod(relax.op.logical_or)
    on_sizes = staticmethod(truth(lambda a, b: size(a) + size(b) - size(a) * size(b)))
