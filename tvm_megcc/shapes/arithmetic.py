"""Shape arithmetic: operators on arrays of sizes, element by element.

Enters: known operands, arrays or `SizeArray`s. Leaves: the result, or `NotShapes` where no size can
express it. The functions at the top are on single elements; `elementwise`, `mapped` and `reduced`
make an operator's `OnnxOp.on_sizes` of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tvm_megcc import dims
from tvm_megcc.dims import Size

from .sizes import Item, NotShapes, Real, SizeArray, size_array, truncdiv

Array = npt.NDArray[Any]
Known = Array | SizeArray
Attrs = dict[str, Any]


class OnSizes(Protocol):
    """The operands, None where absent, and the attributes -> the result."""

    def __call__(self, operands: Sequence[Any], attrs: Attrs) -> Known: ...


#: Elements that a folded result may have when it can be larger than its operands.
MAX_GENERATED = 1 << 20

_INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]


def dims_array(sizes: Sequence[Size]) -> Known:
    """Dims as a vector, as ``Shape`` gives it."""
    return size_array(sizes, (len(sizes),), "int64")


# ---- arrays ------------------------------------------------------------------------------------


def items_of(operand: Known) -> Array:
    """The elements as an array of objects: sizes, or quotients where they are floats."""
    if isinstance(operand, SizeArray):
        return operand.items
    if operand.dtype.kind not in "biuf":
        raise NotShapes
    make: Callable[[Any], Item] = Real.of if operand.dtype.kind == "f" else int
    return objects([make(v) for v in operand.reshape(-1).tolist()], operand.shape)


def objects(items: Sequence[Item], shape: Sequence[int]) -> Array:
    """Elements as an array of objects."""
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array.reshape(tuple(shape))


def dtype_of(operand: Known) -> str:
    """The elements' type in ONNX."""
    return str(operand.dtype)


def single(operand: Known | None) -> Item | None:
    """The first element of an operand that may be absent."""
    return None if operand is None else items_of(operand).reshape(-1)[0]


# ---- elements ----------------------------------------------------------------------------------


def size(item: Item) -> Size:
    """An integer or boolean element."""
    if isinstance(item, Real):
        raise NotShapes
    return item


def equal(a: Item, b: Item) -> Size:
    return Real.of(a).equal(Real.of(b))


def less(a: Item, b: Item) -> Size:
    return Real.of(a).less(Real.of(b))


def divided(a: Item, b: Item) -> Item:
    if isinstance(a, Real) and isinstance(b, Real):
        return a / b
    return truncdiv(size(a), size(b))


def minimum(a: Item, b: Item) -> Item:
    if isinstance(a, Real) or isinstance(b, Real):
        return chosen(less(b, a), b, a)
    return dims.minimum(a, b)


def maximum(a: Item, b: Item) -> Item:
    if isinstance(a, Real) or isinstance(b, Real):
        return chosen(less(a, b), b, a)
    return dims.maximum(a, b)


def chosen(condition: Item, then: Item, other: Item) -> Item:
    """``then`` where the condition is 1, else ``other``."""
    found = size(condition)
    if isinstance(found, int):
        return then if found else other
    if then == other:
        return then
    if isinstance(then, Real) or isinstance(other, Real):
        a, b = Real.of(then), Real.of(other)
        if a.bottom == b.bottom:
            return Real(dims.select(found, a.top, b.top), a.bottom)
        top = dims.select(found, a.top * b.bottom, b.top * a.bottom)
        return Real(top, a.bottom * b.bottom)
    return dims.select(found, then, other)


def sign(a: Item) -> Item:
    zero: Item = Real(0) if isinstance(a, Real) else 0
    result = less(zero, a) - less(a, zero)
    return Real(result) if isinstance(a, Real) else result


def rounded(how: Callable[[Real], Size]) -> Callable[[Item], Item]:
    """A rounding of quotients; integers are unchanged."""
    return lambda a: Real(how(Real.of(a))) if isinstance(a, Real) else a


def converted(operand: Known, dtype: str | None) -> Known:
    """The elements cast to another type, by ONNX's rules for Cast."""
    if dtype is None:
        raise NotShapes
    if dtype == "bool":
        return mapped(operand, lambda a: 1 - equal(a, 0), dtype)
    if dtype in ("float16", "bfloat16"):
        dtype = "float32"  # half precision is computed in f32, see the importer
    if dtype in ("float32", "float64"):
        return mapped(operand, Real.of, dtype)
    if dtype not in _INTEGERS:
        raise NotShapes
    return mapped(operand, lambda a: a.truncated() if isinstance(a, Real) else a, dtype)


# ---- rules of operators ------------------------------------------------------------------------


def broadcast(function: Callable[..., Item], operands: Sequence[Known | None], dtype: str) -> Known:
    """A function of one element of each operand, after NumPy's broadcasting."""
    arrays = np.broadcast_arrays(*[items_of(o) for o in operands if o is not None])
    rows = zip(*(a.reshape(-1) for a in arrays), strict=True)
    return size_array([function(*row) for row in rows], arrays[0].shape, dtype)


def elementwise(function: Callable[..., Item], like: int = 0) -> OnSizes:
    """Arithmetic on single elements; ``like`` is the operand whose dtype the result has."""

    def rule(operands: Sequence[Any], attrs: Attrs) -> Known:
        given = [o for o in operands if o is not None]
        return broadcast(function, given, dtype_of(given[like]))

    return rule


def truth(function: Callable[..., Size]) -> OnSizes:
    """As `elementwise`, with a result of booleans."""
    return lambda operands, attrs: broadcast(function, operands, "bool")


def variadic(function: Callable[[Any, Any], Any]) -> OnSizes:
    """As `elementwise`, of any number of operands from the left."""
    return elementwise(lambda *items: reduce(function, items))


def mapped(operand: Known, function: Callable[[Item], Item], dtype: str) -> Known:
    """A function of each element."""
    items = items_of(operand)
    return size_array([function(i) for i in items.reshape(-1)], items.shape, dtype)


def reduced(function: Callable[[Sequence[Item]], Item]) -> OnSizes:
    """A reduction: axes as attribute or operand, ``keepdims``, ``noop_with_empty_axes``."""

    def rule(operands: Sequence[Any], attrs: Attrs) -> Known:
        data: Known = operands[0]
        items = items_of(data)
        rank = items.ndim
        axes = attrs.get("axes", [])
        if len(operands) > 1 and operands[1] is not None:
            axes = [dims.fixed(size(a)) for a in items_of(operands[1]).reshape(-1)]
        if not axes and attrs.get("noop_with_empty_axes", 0):
            return data
        if any(not -rank <= a < rank for a in axes):
            raise NotShapes  # the converter says that there is no such axis
        gone = {a % rank for a in axes} if axes else set(range(rank))
        kept = [a for a in range(rank) if a not in gone]
        rows = items.transpose([*kept, *sorted(gone)])
        shape = [rows.shape[k] for k in range(len(kept))]
        rows = rows.reshape(int(np.prod(shape)), -1)
        if not rows.shape[1]:
            raise NotShapes
        if attrs.get("keepdims", 1):
            shape = [1 if a in gone else items.shape[a] for a in range(rank)]
        results = [function(list(row)) for row in rows]
        return size_array(results, tuple(shape), dtype_of(data))

    return rule
