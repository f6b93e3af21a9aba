"""`Inputs`: a node's operands as expressions, known numbers, or sizes that are known or read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from tvm import relax

from ...dims import Size, is_static
from ...shapes.known_elements import elements, picked
from ...shapes.read_from_data import sizes_from
from ...shapes.sizes import Real, SizeArray
from .context import Context, Known, expr_dtype

_ARRAYS = (np.ndarray, SizeArray)

#: Most sizes that an operand may give at run time: more than any tensor has dims.
MOST_READ = 64


class Inputs(Sequence[Any]):
    """A node's operands. ``inputs[i]`` is the Relax expression, None where absent or past the end.

    A known operand (a weight, folded shape arithmetic) is turned into an expression only when asked
    for, so a converter that asks for its value with `known` or `ints` leaves no trace of it.
    """

    def __init__(
        self,
        ctx: Context,
        values: Sequence[relax.Expr | Known | SizeArray | None],
        materialise: Callable[[int], relax.Expr],
    ) -> None:
        self._ctx = ctx
        self._values = values
        self._materialise = materialise
        #: (operand, least) -> its elements, which are read once.
        self._read: dict[tuple[int, int], list[Any]] = {}

    @staticmethod
    def of(ctx: Context, values: Sequence[relax.Expr | None]) -> Inputs:
        """Operands for another operator's conversion."""
        return Inputs(ctx, values, lambda i: values[i])

    def inside(self, ctx: Context, params: Mapping[int, relax.Expr]) -> Inputs:
        """The operands as a function sees them that gets them as parameters, by their index.

        Known operands are known there, too.
        """
        values = [params.get(i, v) if isinstance(v, relax.Expr) else v
                  for i, v in enumerate(self._values)]  # fmt: skip
        return Inputs(ctx, values, lambda i: params[i])

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not self.has(index):
            return None
        value = self._values[index]
        return self._materialise(index) if isinstance(value, _ARRAYS) else value

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def replaced(self, index: int, value: relax.Expr) -> Inputs:
        """The operands with operand `index` replaced."""
        values = [value if k == index else v for k, v in enumerate(self._values)]
        return Inputs(self._ctx, values, self._materialise)

    def has(self, index: int) -> bool:
        """Whether the operand is there."""
        return index < len(self._values) and self._values[index] is not None

    def known(self, index: int) -> Known | None:
        """The operand's value where it is a compile-time constant of numbers."""
        value = self._values[index] if index < len(self._values) else None
        return value if isinstance(value, np.ndarray) else None

    def need(self, index: int, what: str) -> Known:
        """As `known`, or an `UnsupportedError` that calls the operand ``what``."""
        value = self.known(index)
        if value is None:
            raise self._ctx.unsupported(
                f"{what} is computed at run time", "make it a constant of the model"
            )
        return value

    def ints(self, index: int) -> list[Any] | None:
        """The operand as a list of sizes; None if absent or not known."""
        value = self._values[index] if index < len(self._values) else None
        if isinstance(value, SizeArray):
            return value.flat() if "int" in value.dtype else None
        return None if not isinstance(value, np.ndarray) else [int(v) for v in value.reshape(-1)]

    def reals(self, index: int) -> list[float | Real] | None:
        """The operand as a list of numbers and quotients of sizes; None if absent or not known."""
        value = self._values[index] if index < len(self._values) else None
        if isinstance(value, SizeArray):
            items = [Real.of(item) for item in value.flat()]
            return [item if (n := item.number()) is None else n for item in items]
        return None if not isinstance(value, np.ndarray) else [float(v) for v in value.reshape(-1)]

    def need_ints(self, index: int, what: str, low: int | None = None) -> list[Any]:
        """As `ints`, or an `UnsupportedError` that calls the operand ``what``.

        With ``low`` an operand that is computed at run time is read then: each element, at least
        ``low``, is a size that depends on data.
        """
        values = self.ints(index)
        if low is not None and self.is_read(index):
            if (index, low) not in self._read:
                self._read[index, low] = self._read_unknown(index, low)
            return list(self._read[index, low])
        if values is None:
            self.need(index, what)
        assert values is not None
        return values

    def is_read(self, index: int) -> bool:
        """Whether an operand is a few integers that can be read when they are computed."""
        if not self.has(index) or self.ints(index) is not None:
            return False
        shape = self._ctx.shape_or_none(self[index])
        short = shape is not None and len(shape) <= 1 and is_static(shape)
        return short and self.dtype(index) in ("int32", "int64")

    def is_computed(self, index: int) -> bool:
        """Whether an operand is present and no constant: it depends on data or on the shapes."""
        return self.has(index) and self.known(index) is None

    def need_few(self, index: int) -> None:
        """Refuse a computed operand of more elements than a tensor has dims (`MOST_READ`)."""
        (count,) = self._ctx.static(self.shape(index)) or (1,)
        if count > MOST_READ:
            raise self._ctx.unsupported(
                f"its operand {index} has {count} elements that are computed at run time, and"
                f" {MOST_READ} are the most",
                "make it a constant of the model",
            )

    def _read_unknown(self, index: int, low: int) -> list[Any]:
        """The elements of a short vector; unknown ones are read at run time."""
        self.need_few(index)
        known: list[Any] = list(elements(self._ctx, self[index]))
        open_ones = [k for k, value in enumerate(known) if value is None]
        if len(open_ones) == len(known):
            return self.read(self[index], index, low)
        if open_ones:
            values = self.read(picked(self._ctx, self[index], open_ones), index, low)
            for k, value in zip(open_ones, values, strict=True):
                known[k] = value
        return known

    def read(self, values: relax.Expr, index: int, low: int = 0) -> list[Size]:
        """The elements of a few integers as sizes that depend on data.

        ``index`` is the operand that they come from, for their names; they are at least ``low``.
        """
        ctx = self._ctx
        (count,) = ctx.static_shape(values) or (1,)
        if count == 0:
            return []
        wide = ctx.emit(relax.op.reshape(ctx.emit(relax.op.astype(values, "int64")), [count]))
        names = [f"in{index}_{k}" for k in range(count)]
        return sizes_from(ctx, wide, names, [None] * count, low)

    def shape(self, index: int) -> tuple[Size, ...]:
        """Dims of an operand."""
        value = self._values[index]
        return value.shape if isinstance(value, _ARRAYS) else self._ctx.shape(value)

    def shape_or_none(self, index: int) -> tuple[Size, ...] | None:
        """Dims of an operand, None where they are known at run time only."""
        value = self._values[index]
        return value.shape if isinstance(value, _ARRAYS) else self._ctx.shape_or_none(value)

    def static_shape(self, index: int) -> tuple[int, ...]:
        """Dims of an operand, all ints, else an `UnsupportedError`."""
        return self._ctx.static(self.shape(index))

    def rank(self, index: int) -> int:
        """Number of dims of an operand."""
        return len(self.shape(index))

    def dtype(self, index: int) -> str:
        """TVM dtype of an operand; of a storage type, not of the bytes that hold it."""
        value = self._values[index]
        if isinstance(value, _ARRAYS):
            return str(value.dtype)
        return self._ctx.stored.get(value) or expr_dtype(value)
