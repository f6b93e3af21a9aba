"""Interpolation along one axis as a static table: which input elements, with which weights.

`Axis` says how output positions map to input positions, `taps` makes the table. Coordinates are
computed in f32, as ONNX Runtime does, so that positions halfway between pixels fall on its side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Table = tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]
f32 = np.float32


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis to be resampled: ``size`` elements to ``out``, with the model's ``scale``.

    ``roi`` is the part of the axis that ``tf_crop_and_resize`` maps to the output, as fractions.
    """

    size: int
    out: int
    scale: float
    roi: tuple[float, float] = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Options:
    """ONNX's attributes of Resize that decide on the table."""

    mode: str = "nearest"
    coordinates: str = "half_pixel"
    rounding: str = "round_prefer_floor"
    cubic: float = -0.75
    exclude_outside: bool = False
    antialias: bool = False


def taps(axis: Axis, options: Options) -> Table:
    """Indices and weights, each ``[out, taps]``; weights of an output need not sum to 1 in f32."""
    where = positions(axis, options.coordinates)
    if options.mode == "nearest":
        index = _ROUND[options.rounding](where, axis.scale).astype(np.int64)
        return np.clip(index, 0, axis.size - 1)[:, None], np.ones((axis.out, 1))
    shrink = min(1.0, axis.scale) if options.antialias else 1.0
    if options.mode == "linear":
        if shrink == 1.0 and not options.exclude_outside:
            return _linear(where, axis.size)
        return _filtered(where, axis.size, _triangle, 1, shrink, options.exclude_outside)
    return _filtered(where, axis.size, _keys(options.cubic), 2, shrink, options.exclude_outside)


def positions(axis: Axis, coordinates: str) -> Floats:
    """Where in the input each output element lies."""
    x = np.arange(axis.out, dtype=f32)
    scale = f32(axis.scale)
    return np.asarray(_COORDINATES[coordinates](x, scale, axis), dtype=f32)


def outside(axis: Axis) -> npt.NDArray[np.bool_]:
    """Output elements that ``tf_crop_and_resize`` takes from outside the input."""
    where = positions(axis, "tf_crop_and_resize")
    return np.asarray((where < 0) | (where > axis.size - 1))


def _half_pixel(x: Floats, scale: f32, axis: Axis) -> Floats:
    return (x + f32(0.5)) / scale - f32(0.5)


def _symmetric(x: Floats, scale: f32, axis: Axis) -> Floats:
    adjustment = f32(axis.out) / (scale * f32(axis.size))
    offset = f32(axis.size) / f32(2) * (f32(1) - adjustment)
    # The last steps in f64, as in ONNX Runtime: what is halfway depends on the last bit.
    where = np.float64(offset) + (x.astype(np.float64) + 0.5) / np.float64(scale) - 0.5
    return where.astype(f32)


def _pytorch(x: Floats, scale: f32, axis: Axis) -> Floats:
    return _half_pixel(x, scale, axis) if axis.out > 1 else x * f32(0)


def _align_corners(x: Floats, scale: f32, axis: Axis) -> Floats:
    return x * f32(axis.size - 1) / f32(axis.out - 1) if axis.out > 1 else x * f32(0)


def _crop(x: Floats, scale: f32, axis: Axis) -> Floats:
    # In f64, and of products that it holds exactly: the ends of a region that is within the image
    # must not be rounded to outside of it, where the image has no elements.
    start, end, last, gaps = float(axis.roi[0]), float(axis.roi[1]), axis.size - 1, axis.out - 1
    if axis.out == 1:
        return x * f32(0) + f32((start + end) / 2 * last)
    place = x.astype(np.float64)
    where = (start * (gaps - place) + end * place) * last / gaps
    return np.asarray(where.astype(f32))


_COORDINATES: dict[str, Callable[[Floats, f32, Axis], Floats]] = {
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _symmetric,
    "pytorch_half_pixel": _pytorch,
    "align_corners": _align_corners,
    "asymmetric": lambda x, scale, axis: x / scale,
    "tf_half_pixel_for_nn": lambda x, scale, axis: (x + f32(0.5)) / scale,
    "tf_crop_and_resize": _crop,
}

#: So far from the middle between two elements is the middle, as ONNX Runtime has it: by how the
#: f32 of a scale was rounded, a position would be on one side of it or the other.
NEAR = 1e-6

#: ``simple`` is the rule of Upsample, and of Resize before opset 11.
_ROUND: dict[str, Callable[[Floats, float], Any]] = {
    "round_prefer_floor": lambda x, scale: np.ceil(x - f32(0.5) - f32(NEAR)),
    "round_prefer_ceil": lambda x, scale: np.floor(x + f32(0.5) + f32(NEAR)),
    "floor": lambda x, scale: np.floor(x),
    "ceil": lambda x, scale: np.ceil(x),
    "simple": lambda x, scale: np.ceil(x) if scale < 1 else np.trunc(x),
}

COORDINATES = frozenset(_COORDINATES)
ROUNDINGS = frozenset(_ROUND)


def _linear(where: Floats, size: int) -> Table:
    where = np.clip(where, f32(0), f32(size - 1))
    first = np.minimum(where.astype(np.int64), size - 1)
    second = np.minimum(first + 1, size - 1)
    part = (where - first.astype(f32)).astype(np.float64)
    return np.stack([first, second], 1), np.stack([1 - part, part], 1)


def _filtered(
    where: Floats,
    size: int,
    kernel: Callable[[Any], Any],
    radius: int,
    shrink: float,
    exclude_outside: bool,
) -> Table:
    """Any kernel, widened by ``1 / shrink``; the border elements stand for what lies outside."""
    base = np.floor(where)
    start = int(np.floor(-radius / shrink)) + 1
    offsets = np.arange(start, 1 - start + 1)
    index = base[:, None].astype(np.int64) + offsets
    weights = kernel((index - where[:, None].astype(np.float64)) * shrink)
    if exclude_outside:
        weights = np.where((index < 0) | (index >= size), 0.0, weights)
    if exclude_outside or shrink != 1.0:
        total = weights.sum(1, keepdims=True)
        # Far outside no element has a weight: `outside` lists such positions.
        weights = weights / np.where(total == 0, 1.0, total)
    return np.clip(index, 0, size - 1), weights


def _triangle(x: Any) -> Any:
    return np.clip(1 - np.abs(x), 0, 1)


def _keys(a: float) -> Callable[[Any], Any]:
    """The cubic convolution kernel of Keys (1981)."""

    def kernel(x: Any) -> Any:
        x = np.abs(x)
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return np.where(x <= 1, near, np.where(x < 2, far, 0.0))

    return kernel
