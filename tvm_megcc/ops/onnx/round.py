"""Round."""

from __future__ import annotations

from ..common.arithmetic import elementwise, rounded
from ..common.sizes import Real
from ..common.stock import StockOp


class Round(StockOp):
    """``round``, halves to even."""

    name = "Round"
    on_sizes = staticmethod(elementwise(rounded(Real.round)))
