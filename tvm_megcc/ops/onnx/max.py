"""Max."""

from __future__ import annotations

from tvm import relax

from ..common.arithmetic import maximum, variadic
from ..common.elementwise import Variadic


class Max(Variadic):
    """``maximum``."""

    name = "Max"
    function = staticmethod(relax.op.maximum)
    on_sizes = staticmethod(variadic(maximum))
