"""Sub."""

from __future__ import annotations

from operator import sub

from tvm import relax

from ._arithmetic import elementwise
from ._elementwise import Binary


class Sub(Binary):
    """``subtract``."""

    name = "Sub"
    function = staticmethod(relax.op.subtract)
    on_sizes = staticmethod(elementwise(sub))
