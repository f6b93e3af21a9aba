"""CumSum."""

from __future__ import annotations

import operator

from ..common.cumulative import Cumulative


class CumSum(Cumulative):
    """The sum of the elements so far."""

    name = "CumSum"
    combine = operator.add
    neutral = 0
