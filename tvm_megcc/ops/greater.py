"""Greater."""

from __future__ import annotations

from tvm import relax

from ._arithmetic import less, truth
from ._elementwise import Binary


class Greater(Binary):
    """``greater``."""

    name = "Greater"
    function = staticmethod(relax.op.greater)
    on_sizes = staticmethod(truth(lambda a, b: less(b, a)))
