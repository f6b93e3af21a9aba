"""Lower bound of an arena: the largest value that it must hold, with any kernels.

Enters: a function as the frontend makes it. Leaves: the largest such value, or None.

A convolution or product reads its data from memory, and cannot compute it on the way. So of the
values on a path from one of them to the next, at least one is in the arena, unless the path leads
through an output, which is in the caller's memory. The smallest value of the path counts, in its
narrowest form, as a pass may move what is between two of them to either side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from tvm import relax

from tvm_megcc.core.dtypes import of_numpy
from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.exprs import static_shape
from tvm_megcc.relax_tools.traits import MATMUL, PLAIN_CONVOLUTIONS

#: Operators that read a tensor in memory, and write one that is no part of it.
#: Transposed convolutions are not counted: `PlainConvolutions` replaces them.
_HEAVY = PLAIN_CONVOLUTIONS | {MATMUL}


@dataclass(frozen=True, slots=True)
class Needed:
    """Least bytes of a value, and its name."""

    bytes: int
    name: str


def largest_needed(
    func: relax.Function, narrowest: int = 4, *, images: bool = True
) -> Needed | None:
    """Largest value that must be in the arena; None where none must.

    Parameters
    ----------
    func : relax.Function
        Of fixed shapes, before any pass.
    narrowest : int
        Bytes of a float where a pass may narrow them: 2 where f16 may be computed with.
    images : bool
        Whether an image that a convolution reads is in memory whole: not where it may be read in
        bands of rows.
    """
    values = {
        binding.var: binding.value for block in func.body.blocks for binding in block.bindings
    }
    outputs = _of_outputs(func.body.body, values)
    widths = _widths(values, narrowest)
    found = [
        Needed(min(elements * widths[elements] for elements in path), name)
        for var, value in values.items()
        if op_name(value) in _HEAVY and (images or not _reads_an_image(value))
        for name, path in _paths(value, values, outputs)
    ]
    return max(found, key=lambda needed: needed.bytes, default=None)


def _reads_an_image(call: relax.Call) -> bool:
    """Whether a call is a convolution of one image."""
    shape = static_shape(call.args[0], {})
    one = shape is not None and len(shape) == 4 and shape[0] == 1
    return one and op_name(call) in PLAIN_CONVOLUTIONS


def _paths(
    call: relax.Call, values: dict[relax.Var, relax.Expr], outputs: set[relax.Expr]
) -> Iterator[tuple[str, list[int]]]:
    """Element counts of the values from a heavy call back to the one before it."""
    var, path = call.args[0], []
    while isinstance(var, relax.Var) and var in values and var not in outputs:
        elements = _elements(var)
        if elements is None:
            return
        path.append(elements)
        value = values[var]
        if op_name(value) in _HEAVY:
            yield call.args[0].name, path
            return
        if isinstance(value, relax.Var):
            var = value
        elif isinstance(value, relax.Call) and op_name(value) and value.args:
            var = value.args[0]
        else:
            return


def _of_outputs(returned: relax.Expr, values: dict[relax.Var, relax.Expr]) -> set[relax.Expr]:
    """Outputs, and values that light calls alone turn into outputs: these may share memory."""
    found: set[relax.Expr] = set()
    waiting = [*returned.fields] if isinstance(returned, relax.Tuple) else [returned]
    while waiting:
        var = waiting.pop()
        if not isinstance(var, relax.Var) or var in found:
            continue
        found.add(var)
        value = values.get(var)
        if isinstance(value, relax.Var):
            waiting.append(value)
        elif isinstance(value, relax.Tuple):
            waiting.extend(value.fields)
        elif isinstance(value, relax.TupleGetItem):
            waiting.append(value.tuple_value)
        elif isinstance(value, relax.Call) and op_name(value) not in _HEAVY:
            waiting.extend(value.args)
    return found


def _elements(var: relax.Var) -> int | None:
    shape = static_shape(var, {}) if isinstance(var.ty, relax.TensorType) else None
    return None if shape is None else prod(shape)


def _widths(values: dict[relax.Var, relax.Expr], narrowest: int) -> dict[int, int]:
    """Element count -> bytes of an element of the narrowest value with that count."""
    widths: dict[int, int] = {}
    for var in values:
        elements = _elements(var)
        if elements is not None:
            row = of_numpy(str(var.ty.dtype))
            width = 1 if row is None else min(max(row.bits // 8, 1), narrowest)
            widths[elements] = min(width, widths.get(elements, width))
    return widths
