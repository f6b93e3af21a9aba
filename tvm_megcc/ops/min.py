"""Min."""

from __future__ import annotations

from tvm import relax

from ._arithmetic import minimum, variadic
from ._elementwise import Variadic


class Min(Variadic):
    """``minimum``."""

    name = "Min"
    function = staticmethod(relax.op.minimum)
    on_sizes = staticmethod(variadic(minimum))
