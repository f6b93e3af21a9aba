"""Equal."""

from __future__ import annotations

from tvm import relax

from ._arithmetic import equal, truth
from ._elementwise import Binary


class Equal(Binary):
    """``equal``."""

    name = "Equal"
    function = staticmethod(relax.op.equal)
    on_sizes = staticmethod(truth(equal))
