"""Or."""

from __future__ import annotations

from tvm import relax

from ._elementwise import Binary


class Or(Binary):
    """``logical_or``."""

    name = "Or"
    function = staticmethod(relax.op.logical_or)
