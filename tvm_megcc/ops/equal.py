"""Equal."""

from __future__ import annotations

from tvm import relax

from ._elementwise import Binary


class Equal(Binary):
    """``equal``."""

    name = "Equal"
    function = staticmethod(relax.op.equal)
