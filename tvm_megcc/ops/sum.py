"""Sum."""

from __future__ import annotations

from tvm import relax

from ._elementwise import Variadic


class Sum(Variadic):
    """``add``."""

    name = "Sum"
    function = staticmethod(relax.op.add)
