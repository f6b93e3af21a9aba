"""Sub."""

from __future__ import annotations

from operator import sub

from tvm import relax

from ..common.arithmetic import elementwise
from ..common.elementwise import Binary


class Sub(Binary):
    """``subtract``."""

    name = "Sub"
    function = staticmethod(relax.op.subtract)
    on_sizes = staticmethod(elementwise(sub))
