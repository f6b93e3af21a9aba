"""Shape arithmetic on symbolic dims: arrays of ``object`` whose items are ints and TVM expressions.

What `Shape` of a tensor with symbolic dims gives stays such an array through the operators below,
and reaches `Reshape`, `Expand`, ... as dims of a Relax shape instead of a tensor computed at run
time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tvm
from onnx import TensorProto

Array = npt.NDArray[Any]
Attrs = dict[str, Any]


def dims_array(dims: Sequence[Any]) -> Array:
    """Dims as an int64 array where all are static, else as an array of objects."""
    items = [int(d) if isinstance(d, (int, np.integer, tvm.tirx.IntImm)) else d for d in dims]
    if all(isinstance(item, int) for item in items):
        return np.array(items, dtype=np.int64)
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def evaluate(op: str, operands: Sequence[Array | None], attrs: Attrs) -> Array | None:
    """The result of a node with a symbolic operand, None where it is not shape arithmetic."""
    rule = _RULES.get(op)
    if rule is None or any(a is not None and a.dtype.kind not in "Oiu" for a in operands):
        return None
    result = rule(operands, attrs)
    if result is None:
        return None
    return dims_array(result.reshape(-1)).reshape(result.shape)


def _axes(operands: Sequence[Array | None], attrs: Attrs) -> list[int] | None:
    if len(operands) > 1 and operands[1] is not None:
        return [int(v) for v in operands[1].reshape(-1)]
    return attrs.get("axes")


def _gather(operands: Sequence[Any], attrs: Attrs) -> Array | None:
    data, indices = operands
    if indices.dtype == object:
        return None
    return np.asarray(np.take(data, indices, axis=attrs.get("axis", 0)), dtype=object)


def _slice(operands: Sequence[Any], attrs: Attrs) -> Array | None:
    data, *rest = operands
    if not rest:
        starts, ends = attrs["starts"], attrs["ends"]
        axes, steps = attrs.get("axes"), None
    else:
        if any(a is not None and a.dtype == object for a in rest):
            return None
        starts, ends, axes, steps = (*rest, None, None)[:4]
    starts, ends = list(map(int, starts)), list(map(int, ends))
    axes = list(map(int, axes)) if axes is not None else list(range(len(starts)))
    steps = list(map(int, steps)) if steps is not None else [1] * len(starts)
    index = [slice(None)] * data.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        # A reverse slice "to the beginning" is written with an end far below -n.
        stop = None if step < 0 and end < -data.shape[axis] else end
        index[axis] = slice(start, stop, step)
    return data[tuple(index)]


def _squeeze(operands: Sequence[Any], attrs: Attrs) -> Array:
    axes = _axes(operands, attrs)
    return np.squeeze(operands[0], axis=tuple(axes) if axes is not None else None)


def _unsqueeze(operands: Sequence[Any], attrs: Attrs) -> Array:
    return np.expand_dims(operands[0], tuple(_axes(operands, attrs) or ()))


def _reshape(operands: Sequence[Any], attrs: Attrs) -> Array | None:
    data, shape = operands
    if shape.dtype == object or attrs.get("allowzero"):
        return None
    return data.reshape([data.shape[i] if d == 0 else int(d) for i, d in enumerate(shape)])


def _cast(operands: Sequence[Any], attrs: Attrs) -> Array | None:
    return operands[0] if attrs["to"] in (TensorProto.INT64, TensorProto.INT32) else None


def _reduce_prod(operands: Sequence[Any], attrs: Attrs) -> Array | None:
    if operands[0].ndim != 1 or attrs.get("axes", [0]) not in ([0], [-1]):
        return None
    product: Any = 1
    for item in operands[0]:
        product = item * product
    result = np.empty((1,) if attrs.get("keepdims", 1) else (), dtype=object)
    result[...] = product
    return result


def _binary(function: Callable[[Any, Any], Any]) -> Callable[[Sequence[Any], Attrs], Array]:
    def rule(operands: Sequence[Any], attrs: Attrs) -> Array:
        pair = (np.asarray(a, dtype=object) for a in operands)
        return np.asarray(np.frompyfunc(function, 2, 1)(*pair), dtype=object)

    return rule


# Dims are not negative, so ONNX's truncating division is the floor.
_RULES: dict[str, Callable[[Sequence[Any], Attrs], Array | None]] = {
    "Identity": lambda operands, attrs: operands[0],
    "Cast": _cast,
    "Gather": _gather,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Reshape": _reshape,
    "Concat": lambda operands, attrs: np.concatenate(operands, axis=attrs["axis"]),
    "ReduceProd": _reduce_prod,
    "Add": _binary(lambda a, b: a + b),
    "Sub": _binary(lambda a, b: a - b),
    "Mul": _binary(lambda a, b: a * b),
    "Div": _binary(lambda a, b: a // b),
}
