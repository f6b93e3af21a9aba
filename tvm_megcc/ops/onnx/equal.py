"""Equal."""

from __future__ import annotations

from tvm import relax

from ..common.arithmetic import equal, truth
from ..common.elementwise import Binary


class Equal(Binary):
    """``equal``."""

    name = "Equal"
    function = staticmethod(relax.op.equal)
    on_sizes = staticmethod(truth(equal))
