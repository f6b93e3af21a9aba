"""The largest and the smallest of floats, in TE: a NaN anywhere is the result; for ops and passes.

TVM's own lose a NaN that does not come first, and begin with the lowest finite number, which they
leave where there are only infinities.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tvm import te, tirx


def extreme(value: Any, axes: Sequence[Any], largest: bool) -> Any:
    """The extreme along some axes of a reduction; of nothing it is an infinity."""

    def better(a: Any, b: Any) -> Any:
        first = tirx.any(a > b if largest else a < b, tirx.isnan(a))
        return tirx.Select(first, a, b)

    reducer = te.comm_reducer(better, lambda dtype: none(dtype, largest), name="extreme")
    return reducer(value, axis=list(axes))


def none(dtype: str, largest: bool) -> Any:
    """The infinity that every number exceeds, or that exceeds them."""
    return tirx.const(-math.inf if largest else math.inf, dtype)
