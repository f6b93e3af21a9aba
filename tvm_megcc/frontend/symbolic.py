"""Shape arithmetic on symbolic dims: nodes whose operands are arrays of sizes are evaluated here.

Enters: a node and its operands, known arrays and at least one `SizeArray`. Leaves: its results, or
None where the node computes something that no size can express. What ``Shape`` of a tensor gives
thus reaches Reshape, Expand, ... as dims of a Relax shape, and no tensor is computed for it.

Operators that only move elements are evaluated by onnx's reference implementation on the elements'
numbers; the rest is arithmetic on single elements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from .. import dims
from ..dims import Dim, Size
from ..ops._sizes import Item, NotShapes, Real, SizeArray, size_array, truncdiv
from . import fold
from .dtypes import tvm_dtype

Array = npt.NDArray[Any]
Known = Array | SizeArray
Attrs = dict[str, Any]


def dims_array(sizes: Sequence[Size]) -> Known:
    """Dims as a vector, as ``Shape`` gives it."""
    return size_array(sizes, (len(sizes),), "int64")


def evaluate(
    node: onnx.NodeProto,
    operands: Sequence[Known | None],
    attrs: Attrs,
    opsets: Mapping[str, int],
) -> list[Known] | None:
    """The results of a node with a symbolic operand, None where it is no shape arithmetic."""
    if node.domain:
        return None
    try:
        if node.op_type in _MOVED:
            return _moved(node, operands, opsets)
        if node.op_type in _ELEMENTWISE:
            return [_elementwise(_ELEMENTWISE[node.op_type], operands)]
        rule = _RULES.get(node.op_type)
        return None if rule is None else [rule(operands, attrs)]
    except NotShapes:
        return None


# ---- elements ----------------------------------------------------------------------------------


def _items(operand: Known) -> Array:
    """The elements as an array of objects: sizes, or quotients where they are floats."""
    if isinstance(operand, SizeArray):
        return operand.items
    if operand.dtype.kind not in "biuf":
        raise NotShapes
    make: Callable[[Any], Item] = Real.of if operand.dtype.kind == "f" else int
    return _objects([make(v) for v in operand.reshape(-1).tolist()], operand.shape)


def _objects(items: Sequence[Item], shape: Sequence[int]) -> Array:
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array.reshape(tuple(shape))


def _known(items: Array, dtype: str) -> Known:
    return size_array(items.reshape(-1), items.shape, dtype)


def _dtype(operand: Known) -> str:
    return str(operand.dtype)


def _size(item: Item) -> Size:
    """An integer or boolean element."""
    if isinstance(item, Real):
        raise NotShapes
    return item


def _equal(a: Item, b: Item) -> Size:
    return Real.of(a).equal(Real.of(b))


def _less(a: Item, b: Item) -> Size:
    return Real.of(a).less(Real.of(b))


def _either(a: Size, b: Size) -> Size:
    return a + b - a * b


def _divided(a: Item, b: Item) -> Item:
    if isinstance(a, Real) and isinstance(b, Real):
        return a / b
    return truncdiv(_size(a), _size(b))


def _minimum(a: Item, b: Item) -> Item:
    if isinstance(a, Real) or isinstance(b, Real):
        return _chosen(_less(b, a), b, a)
    return dims.minimum(a, b)


def _maximum(a: Item, b: Item) -> Item:
    if isinstance(a, Real) or isinstance(b, Real):
        return _chosen(_less(a, b), b, a)
    return dims.maximum(a, b)


def _chosen(condition: Item, then: Item, other: Item) -> Item:
    found = _size(condition)
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


def _absolute(a: Item) -> Item:
    return _maximum(a, -a)


def _sign(a: Item) -> Item:
    zero: Item = Real(0) if isinstance(a, Real) else 0
    sign = _less(zero, a) - _less(a, zero)
    return Real(sign) if isinstance(a, Real) else sign


def _clipped(a: Item, low: Item | None, high: Item | None) -> Item:
    a = a if low is None else _maximum(a, low)
    return a if high is None else _minimum(a, high)


def _rounded(how: Callable[[Real], Size]) -> Callable[[Item], Item]:
    return lambda a: Real(how(Real.of(a))) if isinstance(a, Real) else a


class _Rule:
    """Arithmetic on single elements; ``like`` is the operand whose dtype the result has."""

    def __init__(self, function: Callable[..., Item], like: int | None = 0) -> None:
        self.function = function
        self.like = like


def _truth(function: Callable[..., Item]) -> _Rule:
    return _Rule(function, None)


def _folded(function: Callable[[Any, Any], Any]) -> _Rule:
    return _Rule(lambda *items: reduce(function, items))


_ELEMENTWISE: dict[str, _Rule] = {
    "Add": _Rule(lambda a, b: a + b),
    "Sub": _Rule(lambda a, b: a - b),
    "Mul": _Rule(lambda a, b: a * b),
    "Div": _Rule(_divided),
    "Neg": _Rule(lambda a: -a),
    "Abs": _Rule(_absolute),
    "Sign": _Rule(_sign),
    "Floor": _Rule(_rounded(Real.floor)),
    "Ceil": _Rule(_rounded(Real.ceil)),
    "Round": _Rule(_rounded(Real.round)),
    "Reciprocal": _Rule(lambda a: Real(1) / Real.of(a)),
    "Min": _folded(_minimum),
    "Max": _folded(_maximum),
    "Sum": _folded(lambda a, b: a + b),
    "Equal": _truth(_equal),
    "Less": _truth(_less),
    "Greater": _truth(lambda a, b: _less(b, a)),
    "LessOrEqual": _truth(lambda a, b: 1 - _less(b, a)),
    "GreaterOrEqual": _truth(lambda a, b: 1 - _less(a, b)),
    "Not": _truth(lambda a: 1 - _size(a)),
    "And": _truth(lambda a, b: _size(a) * _size(b)),
    "Or": _truth(lambda a, b: _either(_size(a), _size(b))),
    "Xor": _truth(lambda a, b: 1 - _equal(a, b)),
    "Where": _Rule(_chosen, 1),
}


def _elementwise(rule: _Rule, operands: Sequence[Known | None]) -> Known:
    given = [o for o in operands if o is not None]
    arrays = np.broadcast_arrays(*[_items(o) for o in given])
    rows = zip(*(a.reshape(-1) for a in arrays), strict=True)
    dtype = "bool" if rule.like is None else _dtype(given[rule.like])
    return size_array([rule.function(*row) for row in rows], arrays[0].shape, dtype)


# ---- operators with attributes -----------------------------------------------------------------


def _mapped(operand: Known, function: Callable[[Item], Item], dtype: str) -> Known:
    items = _items(operand)
    return size_array([function(i) for i in items.reshape(-1)], items.shape, dtype)


def _cast(operands: Sequence[Any], attrs: Attrs) -> Known:
    dtype = tvm_dtype(attrs["to"])
    if dtype is None:
        raise NotShapes
    if dtype == "bool":
        return _mapped(operands[0], lambda a: 1 - _equal(a, 0), dtype)
    if "float" in dtype:
        # Half precision is computed in f32, see the importer.
        wide = "float32" if dtype in ("float16", "bfloat16") else dtype
        return _mapped(operands[0], Real.of, wide)
    if "int" not in dtype:
        raise NotShapes
    return _mapped(operands[0], lambda a: a.truncated() if isinstance(a, Real) else a, dtype)


def _mod(operands: Sequence[Any], attrs: Attrs) -> Known:
    def remainder(a: Item, b: Item) -> Item:
        a, b = _size(a), _size(b)
        if attrs.get("fmod", 0):
            return a - b * truncdiv(a, b)
        if dims.bounds(b)[0] < 0 or b == 0:
            raise NotShapes
        return dims.floormod(a, b)

    return _elementwise(_Rule(remainder), operands)


def _pow(operands: Sequence[Any], attrs: Attrs) -> Known:
    def power(a: Item, b: Item) -> Item:
        exponent = b.number() if isinstance(b, Real) else b
        if isinstance(exponent, Dim) or exponent not in (1, 2, 3):
            raise NotShapes
        return reduce(lambda x, y: x * y, [a] * int(exponent))

    return _elementwise(_Rule(power), operands)


def _clip(operands: Sequence[Any], attrs: Attrs) -> Known:
    bounds = [_single(o) for o in (*operands[1:3], None, None)[:2]]
    for k, name in enumerate(("min", "max")):
        if name in attrs:
            bounds[k] = Real.of(attrs[name])
    return _mapped(operands[0], lambda a: _clipped(a, *bounds), _dtype(operands[0]))


def _single(operand: Known | None) -> Item | None:
    return None if operand is None else _items(operand).reshape(-1)[0]


def _range(operands: Sequence[Any], attrs: Attrs) -> Known:
    start, limit, delta = (Real.of(_items(o).reshape(-1)[0]) for o in operands)
    count = dims.maximum(((limit - start) / delta).ceil(), 0)
    if not isinstance(count, int) or count > fold.MAX_GENERATED:
        raise NotShapes  # the importer makes a tensor of symbolic length of it
    dtype = _dtype(operands[0])
    items = [start + delta * Real.of(k) for k in range(count)]
    whole: list[Item] = [*items] if "float" in dtype else [i.truncated() for i in items]
    return size_array(whole, (count,), dtype)


def _mean(items: Sequence[Item]) -> Item:
    total = reduce(lambda a, b: a + b, items)
    return total / Real(len(items)) if isinstance(total, Real) else truncdiv(total, len(items))


_REDUCTIONS: dict[str, Callable[[Sequence[Item]], Item]] = {
    "ReduceProd": lambda items: reduce(lambda a, b: a * b, items),
    "ReduceSum": lambda items: reduce(lambda a, b: a + b, items),
    "ReduceMin": lambda items: reduce(_minimum, items),
    "ReduceMax": lambda items: reduce(_maximum, items),
    "ReduceMean": _mean,
}


def _reduction(
    function: Callable[[Sequence[Item]], Item],
) -> Callable[[Sequence[Any], Attrs], Known]:
    def rule(operands: Sequence[Any], attrs: Attrs) -> Known:
        items, rank = _items(operands[0]), operands[0].items.ndim
        axes = attrs.get("axes", [])
        if len(operands) > 1 and operands[1] is not None:
            axes = [int(_size(a)) for a in _items(operands[1]).reshape(-1)]
        if not axes and attrs.get("noop_with_empty_axes", 0):
            return operands[0]
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
        return size_array(results, tuple(shape), _dtype(operands[0]))

    return rule


_RULES: dict[str, Callable[[Sequence[Any], Attrs], Known]] = {
    "Cast": _cast,
    "CastLike": lambda operands, attrs: _cast(
        operands, {"to": onnx.helper.np_dtype_to_tensor_dtype(np.dtype(_dtype(operands[1])))}
    ),
    "Mod": _mod,
    "Pow": _pow,
    "Clip": _clip,
    "Range": _range,
    **{name: _reduction(function) for name, function in _REDUCTIONS.items()},
}


# ---- operators that move elements --------------------------------------------------------------

#: Operator -> the operands whose elements it moves; the others say where to.
_MOVED: dict[str, tuple[int, ...]] = {
    "Compress": (0,),
    "Concat": tuple(range(64)),
    "Expand": (0,),
    "Flatten": (0,),
    "Gather": (0,),
    "GatherElements": (0,),
    "GatherND": (0,),
    "Identity": (0,),
    "Pad": (0, 2),
    "Reshape": (0,),
    "ScatterElements": (0, 2),
    "ScatterND": (0, 2),
    "Slice": (0,),
    "Split": (0,),
    "Squeeze": (0,),
    "Tile": (0,),
    "Transpose": (0,),
    "Unsqueeze": (0,),
}


def _moved(
    node: onnx.NodeProto, operands: Sequence[Known | None], opsets: Mapping[str, int]
) -> list[Known] | None:
    data = _MOVED[node.op_type]
    # An old Pad's fill value, or a Scatter that adds: these compute with the elements.
    if any(a.name == "value" or (a.name == "reduction" and a.s != b"none") for a in node.attribute):
        return None
    elements: list[Item] = [0]  # what Pad fills in by default
    numbered: list[Array | None] = []
    for position, operand in enumerate(operands):
        if position not in data or operand is None:
            if isinstance(operand, SizeArray):
                return None
            numbered.append(operand)
            continue
        items = _items(operand)
        numbers = np.arange(items.size, dtype=np.int64).reshape(items.shape) + len(elements)
        elements += list(items.reshape(-1))
        numbered.append(numbers)
    dtype = next(_dtype(operands[k]) for k in data if k < len(operands) and operands[k] is not None)
    if "float" in dtype:
        elements[0] = Real(0)
    moved = fold.fold(node, numbered, opsets)
    if moved is None:
        return None
    return [_known(_objects([elements[k] for k in a.reshape(-1)], a.shape), dtype) for a in moved]
