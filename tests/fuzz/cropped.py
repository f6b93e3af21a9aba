"""Resize with ``tf_crop_and_resize`` by ONNX's text, which no evaluator follows in all cases.

ONNX Runtime (1.32) leaves an axis of scale 1 as it is, whatever its region. The reference (onnx
1.23) spreads a region over `scale * dim` elements, also where that is no integer, and transposes
the image by `axes`. Both compute a position in several rounded steps, which may move the end of a
region that is within the image out of it.

Example
-------
>>> x = np.arange(4.0)
>>> crop_and_resize({"extrapolation_value": 9.0}, [x, np.array([0.5, 1.5]), None, np.array([3])])
[array([1., 3., 9.])]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Array = np.ndarray


def crop_and_resize(given: Mapping[str, Any], operands: Sequence[Array | None]) -> list[Array]:
    """The output of a Resize with these attributes and operands."""
    x, roi, scales, sizes = (*operands, None, None)[:4]
    assert x is not None and roi is not None
    axes = [a % x.ndim for a in given.get("axes", range(x.ndim))]
    outs, factors = _lengths(given, [x.shape[a] for a in axes], scales, sizes)
    result = x.astype(np.float64) if x.dtype.kind in "iu" else x
    hidden = np.zeros([1] * x.ndim, bool)
    for k, axis in enumerate(axes):
        start, end, size = float(roi[k]), float(roi[k + len(axes)]), x.shape[axis]
        where = [_place(p, start, end, size, outs[k]) for p in range(outs[k])]
        rows = [_row(given, place, size, factors[k]) for place in where]
        result = _weighted(result, axis, rows)
        far = np.array([place < 0 or place > size - 1 for place in where], bool)
        hidden = hidden | far.reshape([-1 if a == axis else 1 for a in range(x.ndim)])
    fill = np.float32(given.get("extrapolation_value", 0.0))
    return [np.where(hidden, result.dtype.type(fill), result).astype(x.dtype)]


def _lengths(
    given: Mapping[str, Any], dims: list[int], scales: Array | None, sizes: Array | None
) -> tuple[list[int], list[float]]:
    """Of each axis the output's elements, and the scale that widens an antialiasing filter."""
    if scales is not None and scales.size:
        factors = [np.float32(v) for v in scales]
        outs = [int(np.floor(np.float32(d) * f)) for d, f in zip(dims, factors, strict=True)]
        return outs, [float(f) for f in factors]
    assert sizes is not None
    policy = given.get("keep_aspect_ratio_policy", b"stretch")
    policy = policy.decode() if isinstance(policy, bytes) else policy
    ratios = [np.float32(n) / np.float32(d) for n, d in zip(sizes, dims, strict=True)]
    if policy == "stretch":
        return [int(n) for n in sizes], [float(r) for r in ratios]
    one = min(ratios) if policy == "not_larger" else max(ratios)
    return [int(np.floor(one * np.float32(d) + np.float32(0.5))) for d in dims], [
        float(one) for _ in dims
    ]


def _place(p: int, start: float, end: float, size: int, out: int) -> float:
    """``x_original`` of ONNX's text; its terms are sorted so that both ends are exact."""
    if out == 1:
        return (start + end) / 2 * (size - 1)
    where = (start * (out - 1 - p) + end * p) * (size - 1) / (out - 1)
    return float(np.float32(where))


def _row(
    given: Mapping[str, Any], where: float, size: int, scale: float
) -> list[tuple[int, float]]:
    """Elements of an axis with their weights."""
    mode = _word(given, "mode", "nearest")
    if mode == "nearest":
        # As both runtimes: what is within 1e-6 of the middle between two elements is the middle.
        nearest = {
            "round_prefer_floor": np.ceil(where - 0.5 - 1e-6),
            "round_prefer_ceil": np.floor(where + 0.5 + 1e-6),
            "floor": np.floor(where),
            "ceil": np.ceil(where),
        }[_word(given, "nearest_mode", "round_prefer_floor")]
        return [(int(np.clip(nearest, 0, size - 1)), 1.0)]
    wide = max(1.0, 1 / scale) if given.get("antialias", 0) else 1.0
    reach = (1 if mode == "linear" else 2) * wide
    found = []
    for index in range(int(np.floor(where - reach)), int(np.ceil(where + reach)) + 1):
        distance = abs(index - where) / wide
        weight = max(0.0, 1 - distance) if mode == "linear" else _keys(given, distance)
        if not (given.get("exclude_outside", 0) and not 0 <= index < size):
            found.append((int(np.clip(index, 0, size - 1)), weight))
    total = sum(weight for _, weight in found)
    normal = total if (wide > 1 or given.get("exclude_outside", 0)) and total else 1.0
    return [(index, weight / normal) for index, weight in found]


def _keys(given: Mapping[str, Any], distance: float) -> float:
    """The cubic convolution kernel of Keys (1981), equation 4."""
    a, x = given.get("cubic_coeff_a", -0.75), distance
    if x <= 1:
        return float((a + 2) * x**3 - (a + 3) * x**2 + 1)
    return float(a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a) if x < 2 else 0.0


def _weighted(x: Array, axis: int, rows: list[list[tuple[int, float]]]) -> Array:
    """For each row the sum of elements by their weights; one without a weight is not read."""
    parts = np.moveaxis(x, axis, 0)
    result = np.zeros((len(rows), *parts.shape[1:]), x.dtype)
    for k, row in enumerate(rows):
        for index, weight in row:
            if weight:
                result[k] += parts[index] * x.dtype.type(weight)
    return np.moveaxis(result, 0, axis)


def _word(given: Mapping[str, Any], name: str, default: str) -> str:
    value = given.get(name, default)
    return value.decode() if isinstance(value, bytes) else str(value)
