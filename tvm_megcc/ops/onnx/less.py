"""Less."""

from __future__ import annotations

from tvm import relax

from ..common.arithmetic import less, truth
from ..common.elementwise import Binary


class Less(Binary):
    """``less``."""

    name = "Less"
    function = staticmethod(relax.op.less)
    on_sizes = staticmethod(truth(less))
