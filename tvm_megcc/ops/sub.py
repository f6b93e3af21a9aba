"""Sub."""

from __future__ import annotations

from tvm import relax

from ._elementwise import Binary


class Sub(Binary):
    """``subtract``."""

    name = "Sub"
    function = staticmethod(relax.op.subtract)
