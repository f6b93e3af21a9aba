"""Round."""

from __future__ import annotations

from ._arithmetic import elementwise, rounded
from ._sizes import Real
from ._stock import StockOp


class Round(StockOp):
    """``round``, halves to even."""

    name = "Round"
    on_sizes = staticmethod(elementwise(rounded(Real.round)))
