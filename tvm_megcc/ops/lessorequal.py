"""LessOrEqual."""

from __future__ import annotations

from tvm import relax

from ._elementwise import Binary


class LessOrEqual(Binary):
    """``less_equal``."""

    name = "LessOrEqual"
    function = staticmethod(relax.op.less_equal)
