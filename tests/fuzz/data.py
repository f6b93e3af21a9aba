"""Random numbers for a graph: element types, dims, values with the special ones among them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import TensorProto, helper

Array = np.ndarray

BF16 = helper.tensor_dtype_to_np_dtype(TensorProto.BFLOAT16)

F32, F64, F16 = (np.dtype(t) for t in ("f4", "f8", "f2"))
I8, U8, I16, U16, I32, U32, I64, U64 = (
    np.dtype(t) for t in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")
)
BOOL = np.dtype(bool)

#: The usual type comes often, so that values of nodes meet.
FLOATS = (F32, F32, F32, F32, F32, F32, F64, F16)
INTS = (I64, I64, I32, I32, I8, U8, I16, U16, U32, U64)
NUMBERS = (*FLOATS, *FLOATS, *INTS)
ANY = (*NUMBERS, BOOL)

_SPECIAL = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1.5,
    -2.5,
    np.inf,
    -np.inf,
    np.nan,
    1e-40,
    3e38,
    -3e38,
    1e-30,
)


class Random:
    """A generator of choices; equal seeds give equal choices."""

    def __init__(self, *seed: int) -> None:
        self.bits = np.random.default_rng(seed)

    def chance(self, p: float) -> bool:
        return bool(self.bits.random() < p)

    def below(self, n: int) -> int:
        return int(self.bits.integers(n))

    def between(self, low: int, high: int) -> int:
        """An integer from low to high, both included."""
        return int(self.bits.integers(low, high + 1))

    def one(self, items):
        """One of a sequence."""
        return items[self.below(len(items))]

    def some(self, items: Sequence, low: int = 0) -> list:
        """Some items of a sequence, at least ``low``, in order."""
        count = self.between(low, len(items))
        return [items[k] for k in sorted(self.bits.permutation(len(items))[:count])]

    def shuffled(self, items: Sequence) -> list:
        return [items[k] for k in self.bits.permutation(len(items))]

    # ---- dims --------------------------------------------------------------------------------

    def dim(self, low: int = 0) -> int:
        """A size: mostly 2 to 6, often 1, now and then 0 or something larger."""
        p = self.bits.random()
        if p < 0.02 and low <= 0:
            return 0
        if p < 0.22 and low <= 1:
            return 1
        if p < 0.96:
            return max(low, self.between(2, 6))
        return max(low, self.between(7, 19))

    def shape(self, rank: int | None = None, low: int = 0, most: int = 4096) -> tuple[int, ...]:
        """Dims of a tensor with at most ``most`` elements."""
        if rank is None:
            rank = self.one((0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5))
        dims = [self.dim(low) for _ in range(rank)]
        while np.prod(dims, dtype=float) > most:
            dims[int(np.argmax(dims))] = max(low, 1)
        return tuple(dims)

    # ---- values ------------------------------------------------------------------------------

    def array(self, dtype: np.dtype, shape: Sequence[int], tame: bool = False) -> Array:
        """Values of a tensor; ``tame`` are small, without special floats and extremes."""
        dtype, shape = np.dtype(dtype), tuple(shape)
        if dtype == BOOL:
            return self.bits.random(shape) < 0.5
        if dtype.kind in "iu":
            return self._integers(dtype, shape, tame)
        kind = self.bits.random()
        if kind < 0.2:
            values = self.bits.integers(-4, 5, shape).astype(np.float64)
        elif kind < 0.3:
            values = self.bits.integers(-16, 17, shape) / 4
        elif kind < 0.4 and not tame:
            values = self.bits.normal(size=shape) * 10.0 ** self.bits.integers(-3, 4, shape)
        else:
            values = self.bits.normal(size=shape)
        if not tame and self.chance(0.12):
            mask = self.bits.random(shape) < 0.25
            values = np.where(mask, self.bits.choice(_SPECIAL, shape), values)
        with np.errstate(over="ignore"):
            return np.asarray(values).astype(F32).astype(dtype)

    def _integers(self, dtype: np.dtype, shape: tuple[int, ...], tame: bool) -> Array:
        info = np.iinfo(dtype)
        if tame or self.chance(0.7):
            low, high = max(info.min, -9), min(info.max, 9)
        else:
            low, high = info.min, info.max
        values = self.bits.integers(low, high, shape, dtype=dtype, endpoint=True)
        if not tame and self.chance(0.1):
            values = np.where(
                self.bits.random(shape) < 0.2,
                self.bits.choice(np.array([info.min, info.max, 0, 1], dtype), shape),
                values,
            )
        return np.asarray(values, dtype)
