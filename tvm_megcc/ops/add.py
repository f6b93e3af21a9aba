"""Add."""

from __future__ import annotations

from tvm import relax

from ._elementwise import Binary


class Add(Binary):
    """``add``."""

    name = "Add"
    function = staticmethod(relax.op.add)
