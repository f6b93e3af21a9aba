"""Sum."""

from __future__ import annotations

from operator import add

from tvm import relax

from ..common.arithmetic import variadic
from ..common.elementwise import Variadic


class Sum(Variadic):
    """``add``."""

    name = "Sum"
    function = staticmethod(relax.op.add)
    on_sizes = staticmethod(variadic(add))
