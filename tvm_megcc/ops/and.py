"""And."""

from __future__ import annotations

from tvm import relax

from ._elementwise import Binary


class And(Binary):
    """``logical_and``."""

    name = "And"
    function = staticmethod(relax.op.logical_and)
