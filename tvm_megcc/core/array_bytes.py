"""The bytes of an array without a copy; apart from `contents`, as it needs NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np


class _Owner(np.ndarray[Any, Any]):
    """An array whose views have a hash: that of their bytes, for which Python asks the owner."""

    __hash__ = object.__hash__  # type: ignore[assignment]


def bytes_of(array: np.ndarray[Any, Any]) -> memoryview:
    """The bytes of an array as a view that can be a key, as bytes can.

    >>> {bytes_of(np.array([1], np.uint8)): "one"}[b"\\x01"]
    'one'
    """
    flat = np.require(array, requirements="C").reshape(-1).view(np.uint8)
    return memoryview(flat.view(_Owner)).toreadonly()  # type: ignore[arg-type]
