"""CumProd."""

from __future__ import annotations

import operator

from ..common.cumulative import Cumulative


class CumProd(Cumulative):
    """The product of the elements so far."""

    name = "CumProd"
    combine = operator.mul
    neutral = 1
