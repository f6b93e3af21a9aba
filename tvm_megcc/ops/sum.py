"""Sum."""

from __future__ import annotations

from operator import add

from tvm import relax

from ._arithmetic import variadic
from ._elementwise import Variadic


class Sum(Variadic):
    """``add``."""

    name = "Sum"
    function = staticmethod(relax.op.add)
    on_sizes = staticmethod(variadic(add))
