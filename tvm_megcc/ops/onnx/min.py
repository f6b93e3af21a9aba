"""Min."""

from __future__ import annotations

from tvm import relax

from ..common.arithmetic import minimum, variadic
from ..common.elementwise import Variadic


class Min(Variadic):
    """``minimum``."""

    name = "Min"
    function = staticmethod(relax.op.minimum)
    on_sizes = staticmethod(variadic(minimum))
