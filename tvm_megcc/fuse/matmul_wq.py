"""matmul_wq: ``relax.matmul`` by constant weights that are quantised.

    matmul(x, [permute_dims]([strided_slice]([reshape](dequantize(numbers, scales, zeros)))))

A call of `relax_tools.int8_rows` around ``dequantize`` lets the kernel round `x` to int8.
`weights` finds calls of ``dequantize`` of this form, which stay until kernels have been asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from tvm import relax
from tvm.relax.dpl import is_op, wildcard

from tvm_megcc.dims import Size, fixed_dims, product
from tvm_megcc.fuse.epilogue import Tail, activation, bias, residual
from tvm_megcc.fuse.graph import Graph
from tvm_megcc.fuse.request import Anchor, Parts, Request, channel_vector
from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.exprs import constant, dtype_of
from tvm_megcc.relax_tools.int8_rows import allowed_of
from tvm_megcc.relax_tools.moved_constants import moved
from tvm_megcc.relax_tools.traits import MATMUL, MOVES

Array = np.ndarray

_DEQUANTIZE = "relax.dequantize"
_RESHAPE, _SLICE, _SWAP = "relax.reshape", "relax.strided_slice", "relax.permute_dims"

#: Blocks of rows in int8 are multiples of this, or one is the row; and the longest, whose sums are
#: within 32 bits.
_STEP, _LONGEST = 16, 1 << 16
#: Operators between the numbers and the product, in order; a second transpose is the model's own.
_CHAINS = tuple(
    shape + cut + swaps
    for shape in ((), (_RESHAPE,))
    for cut in ((), (_SLICE,))
    for swaps in ((), (_SWAP,), (_SWAP, _SWAP))
)


def anchors() -> Iterator[Anchor]:
    steps = (bias, residual, activation)
    for chain in _CHAINS:
        lhs, numbers, scale, zero = (wildcard() for _ in range(4))
        quantised = is_op(_DEQUANTIZE)(numbers, scale, zero)
        allowed = is_op("relax.call_pure_packed")(wildcard(), quantised)
        parts = {"lhs": lhs, "quantised": quantised, "allowed": allowed}
        pattern = allowed | quantised
        for number, name in enumerate(chain):
            others = {_RESHAPE: 1, _SLICE: 4, _SWAP: 0}[name]
            pattern = is_op(name)(pattern, *(wildcard() for _ in range(others)))
            parts[f"layout{number}"] = pattern
        name = "_".join(["matmul_wq", *(n.rpartition(".")[2] for n in chain)])
        product_ = is_op(MATMUL)(lhs, pattern)
        yield Anchor(name, product_, parts, partial(_request, len(chain)), steps)


def weights(func: relax.Function) -> dict[relax.Var, tuple[relax.Var, ...]]:
    """Values of ``dequantize`` calls that a single product reads as its weights.

    Each with the values between, which have no other reader.
    """
    calls = quantised(func)
    graph = Graph(func) if calls else None
    found = {var: _between(graph, var) for var, _ in calls if graph is not None}
    return {var: between for var, between in found.items() if between is not None}


def quantised(func: relax.Function) -> list[tuple[relax.Var, relax.Call]]:
    """Calls of ``dequantize`` with constant operands only, each behind its variable."""
    values = relax.analysis.get_var2val(func).items()
    calls = [(var, value) for var, value in values if op_name(value) == _DEQUANTIZE]
    return [row for row in calls if all(constant(arg) is not None for arg in row[1].args)]


def _between(graph: Graph, var: relax.Var) -> tuple[relax.Var, ...] | None:
    """Values between a ``dequantize`` and its only product; None if there is no such product."""
    between: list[relax.Var] = []
    while True:
        users = graph.users_of(var)
        if len(users) != 1:
            return None
        call = graph.values[users[0]]
        if op_name(call) == MATMUL:
            calls = [graph.values[v] for v in between]
            chain = tuple(op_name(c) for c in calls if allowed_of(c) is None)
            lhs, rhs = call.args
            is_weights = chain in _CHAINS and rhs.same_as(var) and not lhs.same_as(var)
            return tuple(between) if is_weights else None
        if op_name(call) not in MOVES and (between or allowed_of(call) is None):
            return None
        (var,) = users
        between.append(var)


def _request(steps: int, parts: Parts, tail: Tail) -> Request | None:
    lhs, call, root = parts["lhs"], parts["quantised"], parts["root"]
    if "allowed" in parts and allowed_of(parts["allowed"]) is None:
        return None
    numbers, scale, zero = (constant(arg) for arg in call.args)
    shapes = [parts.shape_of(e) for e in (lhs, root)]
    if numbers is None or scale is None or zero is None or None in shapes:
        return None
    if {dtype_of(e) for e in (lhs, call, root)} not in ({"f32"}, {"f16"}):
        return None
    layout = [parts[f"layout{number}"] for number in range(steps)]
    found = _columns(numbers, scale, zero, int(call.attrs.axis), layout, parts)
    lhs_shape = shapes[0] or ()
    if found is None or len(lhs_shape) < 2:
        return None
    rows, scales, zeros, block = found
    n, k = rows.shape
    m: Size = product(lhs_shape[:-1])
    held = centred(rows, zeros)
    if held is None or not rows.size:
        return None
    bits, rows, zeros = held
    operands = {"lhs": lhs, "rhs": rows, "scale": scales}
    if zeros.any():
        operands["zero"] = zeros
    if tail.bias is not None:
        vector = channel_vector(tail.bias, n)
        if vector is None:
            return None
        operands["bias"] = vector
    whole = (block % _STEP == 0 or block == k) and block <= _LONGEST
    int8 = "allowed" in parts and whole and not parts.preference.exact
    facts = {
        "m": m, "n": n, "k": k, "block": block, "bits": bits, "bias": int("bias" in operands),
        "zero": int("zero" in operands), "channel_scales": int(scales.size > 1),
        "int8": int(int8), **tail.facts,
    }  # fmt: skip
    return Request("matmul_wq", facts, {**operands, **tail.operands})


def _columns(
    numbers: Array, scale: Array, zero: Array, axis: int, layout: list[relax.Call], parts: Parts
) -> tuple[Array, Array, Array, int] | None:
    """Weights as ``[N, K]``, scale and zero point of each block, elements of a block.

    Scales and zero points are ``[N * blocks]``, or one for all.
    """
    count = max(scale.size, zero.size)
    at = [1] * numbers.ndim
    at[axis if count > 1 else 0] = count
    which = np.broadcast_to(np.arange(count, dtype=np.int32).reshape(at), numbers.shape)
    for call in layout:
        shape = fixed_dims(parts.shape_of(call) or ())
        numbers, which = (moved(call, array, shape) for array in (numbers, which))
    if numbers.ndim != 2 or not numbers.size:
        return None
    rows, which = numbers.T, which.T
    changes = np.flatnonzero((which[:, 1:] != which[:, :-1]).any(axis=0)) + 1
    block = int(changes[0]) if changes.size else rows.shape[1]
    if (changes % block).any():
        return None
    firsts = which[:, ::block].reshape(-1) if count > 1 else [0]
    scales, zeros = (np.broadcast_to(a.reshape(-1), (count,))[firsts] for a in (scale, zero))
    return rows, scales, zeros, block


def centred(rows: Array, zeros: Array) -> tuple[int, Array, Array] | None:
    """Bits (4 if all numbers fit, else 8), numbers and zero points as i8; None for others."""
    wide = rows.astype(np.int16), zeros.astype(np.int16)
    middles = {"uint8": (8, 128), "int8": (0, 0)}.get(str(rows.dtype), ())
    for bits, middle in zip((4, 8), middles, strict=False):
        numbers, points = (a - middle for a in wide)
        limit = 1 << (bits - 1)
        if all(-limit <= a.min() and a.max() < limit for a in (numbers, points)):
            return bits, numbers.astype(np.int8), points.astype(np.int8)
    return None
