"""Greater."""

from __future__ import annotations

from tvm import relax

from ._elementwise import Binary


class Greater(Binary):
    """``greater``."""

    name = "Greater"
    function = staticmethod(relax.op.greater)
