"""Maximum and minimum of floats in TE, which are NaN if any element is; for ops and passes.

TVM's own lose a NaN that does not come first. They begin with the lowest finite number, and return
it where there are only infinities.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tvm import te, tirx


def extreme(value: Any, axes: Sequence[Any], largest: bool) -> Any:
    """Maximum or minimum along axes of a reduction; of no elements an infinity."""

    def better(a: Any, b: Any) -> Any:
        first = tirx.any(a > b if largest else a < b, tirx.isnan(a))
        return tirx.Select(first, a, b)

    reducer = te.comm_reducer(better, lambda dtype: none(dtype, largest), name="extreme")
    return reducer(value, axis=list(axes))


def none(dtype: str, largest: bool) -> Any:
    """Neutral element of the maximum or minimum: an infinity."""
    return tirx.const(-math.inf if largest else math.inf, dtype)
