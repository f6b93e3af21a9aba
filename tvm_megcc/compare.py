"""Differences between the outputs of a package and ONNX's: `Difference`s.

A call leaves a value in the layout that its kernel likes: dims in another order, dims of 1 more or
fewer. It is compared in the order of dims in which it is nearest to the reference.

Example
-------
>>> difference("y", np.float32([1, 2]), np.float32([1, 2.5]), Tolerance(1e-3, 0)).largest
0.5
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

import numpy as np

#: Orders of dims are tried up to this rank, dims of 1 left out: 120 of them.
MAX_RANK = 5


@dataclass(frozen=True, slots=True)
class Tolerance:
    """A difference is accepted up to ``atol + rtol * (largest magnitude of the reference)``."""

    rtol: float
    atol: float


@dataclass(frozen=True, slots=True)
class Difference:
    """The largest difference of an array from its reference."""

    name: str
    largest: float  # the largest difference of two elements
    magnitude: float  # the largest magnitude of the reference
    problem: str  # why the difference cannot be measured, or ""
    ok: bool  # whether it is within the tolerance

    @property
    def relative(self) -> float:
        return self.largest / self.magnitude if self.magnitude else self.largest

    def __str__(self) -> str:
        if self.problem:
            return self.problem
        return (
            f"largest difference {self.largest:.3g}, {self.relative:.1e} of the largest magnitude"
        )


def difference(
    name: str, got: np.ndarray, want: np.ndarray, tolerance: Tolerance, *, ordered: bool = True
) -> Difference:
    """Compare an array with its reference.

    With `ordered`, the dims must be those of the reference; else their order, and dims of 1, may
    differ.
    """
    if ordered and got.shape != want.shape:
        return _problem(name, f"has shape {list(got.shape)}, not {list(want.shape)}")
    nearest: Difference | None = None
    for form in [want] if ordered else _forms(want, got.shape):
        found = _measured(name, got, form.reshape(got.shape), tolerance)
        if nearest is None or (bool(found.problem), found.largest) < (
            bool(nearest.problem), nearest.largest,
        ):  # fmt: skip
            nearest = found
        if found.ok:
            break
    if nearest is None:
        return _problem(name, f"has dims {list(got.shape)}, not those of {list(want.shape)}")
    return nearest


def _problem(name: str, problem: str) -> Difference:
    return Difference(name, 0.0, 0.0, problem, ok=False)


def _forms(want: np.ndarray, shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    """The reference in every order of its dims that has this shape, but for dims of 1."""
    dims = tuple(size for size in shape if size != 1)
    plain = want.reshape([size for size in want.shape if size != 1])
    if plain.shape == dims:
        yield plain
    if plain.ndim <= MAX_RANK:
        for order in list(permutations(range(plain.ndim)))[1:]:
            if tuple(plain.shape[k] for k in order) == dims:
                yield plain.transpose(order)


def _measured(name: str, got: np.ndarray, want: np.ndarray, tolerance: Tolerance) -> Difference:
    a, b = got.astype(np.float64), want.astype(np.float64)
    finite = np.isfinite(b)
    with np.errstate(invalid="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
    if not np.array_equal(np.isfinite(a), finite) or not same[~finite].all():
        return _problem(name, "has NaN or infinity in other places")
    largest = float(np.abs(a[finite] - b[finite]).max(initial=0.0))
    magnitude = float(np.abs(b[finite]).max(initial=0.0))
    ok = largest <= tolerance.atol + tolerance.rtol * magnitude
    return Difference(name, largest, magnitude, "", ok)
