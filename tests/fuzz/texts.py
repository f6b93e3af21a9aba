"""Operators by ONNX's text, where both evaluators do something else, or the reference is no f64.

Each entry computes in the type of its operands, so that the same text serves in f32 and in f64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper

from tests.fuzz.cropped import crop_and_resize
from tests.fuzz.grouped_queries import group_query_attention

Array = np.ndarray
Operands = Sequence[Array | None]


def lrn(given: Mapping[str, Any], operands: Operands) -> list[Array]:
    """Of the channels from ``c - floor((size - 1) / 2)`` to ``c + ceil((size - 1) / 2)``.

    ONNX Runtime (1.30) slides a sum over the channels, in which a NaN or an infinity stays; the
    reference (onnx 1.23) counts the channels up to the batch size.
    """
    (x,) = operands
    assert x is not None
    size = given["size"]
    before, channels = (size - 1) // 2, x.shape[1]
    squares = np.zeros_like(x)
    for c in range(channels):
        first, last = max(0, c - before), min(channels, c + size - before)
        squares[:, c] = (x[:, first:last] ** 2).sum(1)
    # Attributes are f32, also where the operands are f64.
    alpha, beta, bias = (
        x.dtype.type(np.float32(given.get(name, default)))
        for name, default in (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0))
    )
    return [x / (bias + alpha / x.dtype.type(size) * squares) ** beta]


def erf(given: Mapping[str, Any], operands: Operands) -> list[Array]:
    """The reference (onnx 1.23) rounds to f32 also what it computes of f64."""
    (x,) = operands
    assert x is not None
    return [np.vectorize(math.erf, otypes=[np.float64])(x).astype(x.dtype)]


def one_hot(given: Mapping[str, Any], operands: Operands) -> list[Array]:
    """``on`` where an index is the place, else ``off``.

    The reference (onnx 1.23) computes ``0 * (on - off) + off``, which an infinity makes NaN; for
    indices of many types ONNX Runtime has no kernel. Neither of them makes i64 of real indices.
    """
    indices, depth, values = operands
    assert indices is not None and depth is not None and values is not None
    count, axis = int(depth.reshape(-1)[0]), given.get("axis", -1) % (indices.ndim + 1)
    whole = np.expand_dims(indices.astype(np.int64), axis)
    whole = np.where(whole < 0, whole + count, whole)
    places = np.arange(count).reshape([-1, *[1] * (indices.ndim - axis)])
    return [np.where(whole == places, values[1], values[0])]


def unique(given: Mapping[str, Any], operands: Operands) -> list[Array]:
    """The distinct elements or slices, sorted or as they come first; NaN is one element.

    The reference (onnx 1.23) takes those that are not sorted along axis 0; ONNX Runtime (1.30)
    finds a NaN equal to whatever it meets.
    """
    (x,) = operands
    assert x is not None
    axis = given.get("axis")
    found, first, back, counts = np.unique(x, True, True, True, axis=axis)
    order = np.arange(len(first)) if given.get("sorted", 1) else np.argsort(first)
    rank = np.argsort(order)
    taken = found[order] if axis is None else np.take(found, order, axis)
    return [taken, first[order], rank[back.reshape(-1)], counts[order]]


def gather_elements(given: Mapping[str, Any], operands: Operands) -> list[Array]:
    """Elements along an axis; positions that are not there are an error.

    The reference takes positions modulo the length, one length after the other: of -2**63 for ever.
    """
    data, indices = operands
    assert data is not None and indices is not None
    axis = range(data.ndim)[given.get("axis", 0)]
    size = data.shape[axis]
    beside = [slice(None) if k == axis else slice(n) for k, n in enumerate(indices.shape)]
    rows = data[tuple(beside)]
    if np.delete(rows.shape, axis).tolist() != np.delete(indices.shape, axis).tolist():
        raise ValueError("the indices have other dims")
    if ((indices < -size) | (indices >= size)).any():
        raise IndexError("a position is not there")
    return [np.take_along_axis(rows, indices % max(size, 1), axis)]


def power(given: Mapping[str, Any], operands: Operands) -> list[Array]:
    """Of integers to integers: the low bits of what there is, and 0 for fractions.

    ONNX Runtime (1.31) computes in f64, which does not tell large integers apart; the reference
    refuses negative exponents.
    """
    x, y = operands
    assert x is not None and y is not None
    # Integers of 64 bits keep their low ones in products.
    whole = (x.astype(np.uint64) ** np.maximum(y, 0).astype(np.uint64)).astype(x.dtype)
    sign = np.where(y % 2 == 0, np.abs(x), x)
    fraction = np.where(np.abs(x) == 1, sign, 0)
    return [np.where(y < 0, fraction, whole).astype(x.dtype)]


def gemm(given: Mapping[str, Any], operands: Operands) -> list[Array]:
    """Of integers, whose products the reference scales in f64; ONNX Runtime has no kernel."""
    a, b, c = [*operands, None][:3]
    assert a is not None and b is not None
    a, b = (x.T if given.get(n, 0) else x for n, x in (("transA", a), ("transB", b)))
    alpha, beta = (a.dtype.type(given.get(name, 1)) for name in ("alpha", "beta"))
    return [alpha * (a @ b) + (0 if c is None else beta * c)]


def fused_gemm(given: Mapping[str, Any], operands: Operands) -> list[Array]:
    """An activation of a Gemm.

    ONNX Runtime (1.30) has 0 for the sigmoid of -19, by a rational function; the reference does not
    have the operator.
    """
    (product,) = gemm(given, operands)
    return [_activated(given)(product)]


def _activated(given: Mapping[str, Any]) -> Callable[[Array], Array]:
    kind = given["activation"].decode()
    pairs = zip(("alpha", "beta"), PARAMETERS.get(kind, ()), strict=False)
    return _activation(kind, [given.get(f"activation_{name}", value) for name, value in pairs])


# ---- layers with a state -----------------------------------------------------------------------

_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
_STATES = {"LSTM": 2, "GRU": 1, "RNN": 1}
_DEFAULTS = {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh"), "RNN": ("Tanh",)}
#: Activations of ``x``, ``alpha`` and ``beta``, in the type of ``x``.
_FUNCTIONS: dict[str, Callable[[Array, Any, Any], Array]] = {
    "Tanh": lambda x, a, b: np.tanh(x),
    "Sigmoid": lambda x, a, b: 1 / (1 + np.exp(-x)),
    "Relu": lambda x, a, b: np.maximum(x, 0),
    "Softsign": lambda x, a, b: x / (1 + np.abs(x)),
    "Softplus": lambda x, a, b: np.logaddexp(x, 0),
    "HardSigmoid": lambda x, a, b: np.clip(a * x + b, 0, 1),
    "Affine": lambda x, a, b: a * x + b,
    "ScaledTanh": lambda x, a, b: a * np.tanh(b * x),
    "LeakyRelu": lambda x, a, b: np.where(x < 0, a * x, x),
    "Elu": lambda x, a, b: np.where(x < 0, a * np.expm1(x), x),
}
#: Those with parameters; what they are where the node does not say.
PARAMETERS: dict[str, tuple[float, ...]] = {
    "HardSigmoid": (0.2, 0.5), "Affine": (1, 0), "ScaledTanh": (1, 1), "LeakyRelu": (0.01,),
    "Elu": (1,),
}  # fmt: skip


def _activation(name: str, numbers: Sequence[float]) -> Callable[[Array], Array]:
    """An activation with its parameters, which are f32 whatever it computes in."""
    alpha, beta = [*(np.float32(value) for value in numbers), 0, 0][:2]
    return lambda x: _FUNCTIONS[name](x, x.dtype.type(alpha), x.dtype.type(beta))


_Step = Callable[[Array, list[Array]], list[Array]]


def layer(op: str) -> Callable[[Mapping[str, Any], Operands], list[Array]]:
    """LSTM, GRU or RNN.

    The reference (onnx 1.23) knows neither lengths of sequences nor activations, ``clip`` or
    ``input_forget``. After no step the states are what they were before it; ONNX Runtime (1.30) has
    0 then, or what was in its memory, and aborts the process in GRU.
    """

    def run(given: Mapping[str, Any], operands: Operands) -> list[Array]:
        x, w, r, b, lengths, *more = [*operands, *[None] * 8][:8]
        states, peepholes = more[: _STATES[op]], more[2] if op == "LSTM" else None
        assert x is not None and w is not None and r is not None
        if given.get("layout", 0):
            x = x.swapaxes(0, 1)
            states = [None if s is None else s.swapaxes(0, 1) for s in states]
        steps, batch, _ = x.shape
        sides, _, hidden = r.shape
        if b is None:
            b = np.zeros((sides, 2 * _GATES[op] * hidden), x.dtype)
        if peepholes is None:
            peepholes = np.zeros((sides, 3 * hidden), x.dtype)
        states = [np.zeros((sides, batch, hidden), x.dtype) if s is None else s for s in states]
        ends = np.full(batch, steps) if lengths is None else lengths
        whole = np.zeros((steps, sides, batch, hidden), x.dtype)
        finals = [np.array(s) for s in states]
        for d in range(sides):
            step = _STEPS[op](given, w[d], r[d], b[d], peepholes[d], _activations(op, given, d))
            backward = d == 1 or given.get("direction", b"forward") == b"reverse"
            now = [s[d] for s in states]
            for t in range(steps - 1, -1, -1) if backward else range(steps):
                alive = (t < ends)[:, None]
                then = step(x[t], now)
                now = [np.where(alive, new, old) for new, old in zip(then, now, strict=True)]
                whole[t, d] = np.where(alive, then[0], 0)
            for final, state in zip(finals, now, strict=True):
                final[d] = state
        if given.get("layout", 0):
            return [whole.transpose(2, 0, 1, 3), *(f.swapaxes(0, 1) for f in finals)]
        return [whole, *finals]

    return run


def _activations(op: str, given: Mapping[str, Any], d: int) -> list[Callable[[Array], Array]]:
    count, limit = len(_DEFAULTS[op]), given.get("clip")
    names = [n.decode() for n in given["activations"]] if "activations" in given else None
    chosen = names[: (d + 1) * count] if names else _DEFAULTS[op]
    # Each that has parameters takes them from the lists, those of the other direction first.
    lists = [iter(given.get(f"activation_{name}", ())) for name in ("alpha", "beta")]
    functions = []
    for name in chosen:
        pairs = zip(lists, PARAMETERS.get(name, ()), strict=False)
        functions.append(_activation(name, [next(values, default) for values, default in pairs]))

    def limited(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
        if limit is None:
            return function
        return lambda x: function(np.clip(x, -x.dtype.type(limit), x.dtype.type(limit)))

    own = functions[-count:]
    if op == "LSTM":  # its last one is of the cell, which `clip` does not limit
        return [*map(limited, own[:2]), own[2]]
    return [limited(function) for function in own]


def _lstm(
    given: Mapping[str, Any], w: Array, r: Array, b: Array, p: Array,
    act: list[Callable[[Array], Array]],
) -> _Step:  # fmt: skip
    f, g, h = act
    pi, po, pf = np.split(p, 3)

    def step(x: Array, states: list[Array]) -> list[Array]:
        before, cell = states
        i, o, forget, c = np.split(x @ w.T + before @ r.T + sum(np.split(b, 2)), 4, -1)
        i = f(i + pi * cell)
        forget = 1 - i if given.get("input_forget", 0) else f(forget + pf * cell)
        cell = forget * cell + i * g(c)
        return [f(o + po * cell) * h(cell), cell]

    return step


def _gru(
    given: Mapping[str, Any], w: Array, r: Array, b: Array, p: Array,
    act: list[Callable[[Array], Array]],
) -> _Step:  # fmt: skip
    f, g = act
    (wz, wr, wh), (rz, rr, rh) = np.split(w, 3), np.split(r, 3)
    wbz, wbr, wbh, rbz, rbr, rbh = np.split(b, 6)

    def step(x: Array, states: list[Array]) -> list[Array]:
        (before,) = states
        z = f(x @ wz.T + before @ rz.T + wbz + rbz)
        reset = f(x @ wr.T + before @ rr.T + wbr + rbr)
        if given.get("linear_before_reset", 0):
            late = reset * (before @ rh.T + rbh)
        else:
            late = (reset * before) @ rh.T + rbh
        return [(1 - z) * g(x @ wh.T + late + wbh) + z * before]

    return step


def _rnn(
    given: Mapping[str, Any], w: Array, r: Array, b: Array, p: Array,
    act: list[Callable[[Array], Array]],
) -> _Step:  # fmt: skip
    return lambda x, states: [act[0](x @ w.T + states[0] @ r.T + sum(np.split(b, 2)))]


_STEPS = {"LSTM": _lstm, "GRU": _gru, "RNN": _rnn}


def quick_gelu(given: Mapping[str, Any], operands: Operands) -> list[Array]:
    """``x * sigmoid(alpha * x)``, by ONNX Runtime's document: the reference does not have it."""
    (x,) = operands
    assert x is not None
    return [x / (1 + np.exp(-x.dtype.type(given.get("alpha", 1.702)) * x))]


def fast_gelu(given: Mapping[str, Any], operands: Operands) -> list[Array]:
    """``x / 2 (1 + tanh(t))``, which cancels for x << 0; with ``x sigmoid(2 t)`` nothing does.

    The reference does not have it, and ONNX Runtime (1.30) computes the former in f32.
    """
    x, bias = [*operands, None][:2]
    assert x is not None
    x = x if bias is None else x + bias
    t = np.sqrt(2 / np.pi) * (x + 0.044715 * x.astype(np.float64) ** 3)
    return [x / (1 + np.exp(-2 * t))]


def batch_normalised(given: Mapping[str, Any], operands: Operands) -> list[Array]:
    """By the statistics that are given; the reference (onnx 1.23) moves them before opset 14."""
    x, *rest = operands
    assert x is not None
    row = [1, -1, *[1] * (x.ndim - 2)]
    scale, shift, mean, variance = (a.reshape(row) for a in rest if a is not None)
    epsilon = variance.dtype.type(np.float32(given.get("epsilon", 1e-5)))
    return [(x - mean) / np.sqrt(variance + epsilon) * scale + shift]


def normalised(given: Mapping[str, Any], operands: Operands) -> list[Array]:
    """``(x - mean) / (deviation + 1e-9)``: no f16 has that number, so in f64.

    ONNX's function takes the squared mean from the mean square, which is below 0 by rounding where
    the elements are alike, and adds an f32 to the type of its operand, whatever that is.
    """
    (x,) = operands
    assert x is not None
    axes = tuple(given.get("axes", (0, 2, 3)))
    apart = x.astype(np.float64) - x.mean(axes, np.float64, keepdims=True)
    return [apart / (np.sqrt((apart**2).mean(axes, keepdims=True)) + np.float32(1e-9))]


def gelu(given: Mapping[str, Any], operands: Operands) -> list[Array]:
    """com.microsoft's, perhaps of a sum, and ai.onnx's by ``tanh``, which is `fast_gelu`."""
    if given.get("approximate") == b"tanh":
        return fast_gelu(given, operands)
    x, bias = [*operands, None][:2]
    assert x is not None
    x = x if bias is None else x + bias
    half = x.dtype.type(0.5)
    return [half * x * (1 + np.vectorize(math.erf, otypes=[x.dtype])(x * math.sqrt(0.5)))]


def conv_transpose(given: Mapping[str, Any], operands: Operands) -> list[Array]:
    """Each input pixel adds its window; the padding is cut off at the end.

    The reference (onnx 1.23) visits window after window in Python, minutes for a large image, and
    fails for an image without pixels, where the biases stay.
    """
    x, w, bias = [*operands, None][:3]
    assert x is not None and w is not None
    rank, groups = x.ndim - 2, given.get("group", 1)
    ones, kernel = [1] * rank, w.shape[2:]
    strides, dilations = given.get("strides", ones), given.get("dilations", ones)
    pads, more = given.get("pads", [0] * 2 * rank), given.get("output_padding", [0] * rank)
    whole = [
        (size - 1) * step + (k - 1) * apart + 1 + rest
        for size, step, k, apart, rest in zip(
            x.shape[2:], strides, kernel, dilations, more, strict=True
        )
    ]
    parts = []
    for rows, taps in zip(np.split(x, groups, 1), np.split(w, groups), strict=True):
        part = np.zeros([len(x), w.shape[1], *whole], x.dtype)
        for tap in np.ndindex(*kernel) if rows.size else ():
            places = tuple(
                slice(t * apart, t * apart + (size - 1) * step + 1, step)
                for t, apart, size, step in zip(tap, dilations, x.shape[2:], strides, strict=True)
            )
            product = np.einsum("nc...,cm->nm...", rows, taps[(..., *tap)])
            part[(..., *places)] += product
        parts.append(part)
    ends = (size - after for size, after in zip(whole, pads[rank:], strict=True))
    kept = tuple(slice(before, end) for before, end in zip(pads, ends, strict=False))
    found = np.concatenate(parts, 1)[(..., *kept)]
    return [found if bias is None else found + bias.reshape([-1, *ones])]


def log_softmax(given: Mapping[str, Any], operands: Operands) -> list[Array]:
    """Before opset 13 of two axes, the last of which it is taken along (`faults.flattened`).

    The reference has the logarithm of what may have become 0.
    """
    (x,) = operands
    assert x is not None
    axis, x = given.get("axis", -1), x.astype(np.float64)
    apart = x - x.max(axis, keepdims=True, initial=-np.inf)
    return [apart - np.log(np.exp(apart).sum(axis, keepdims=True))]


_TEXTS: dict[str, Callable[[Mapping[str, Any], Operands], list[Array]]] = {
    "LRN": lrn,
    "LogSoftmax": log_softmax,
    "Erf": erf,
    "OneHot": one_hot,
    "Unique": unique,
    "GatherElements": gather_elements,
    "Pow": power,
    "Gemm": gemm,
    "FusedGemm": fused_gemm,
    "QuickGelu": quick_gelu,
    "BiasGelu": gelu,
    "Gelu": gelu,
    "FastGelu": fast_gelu,
    "MeanVarianceNormalization": normalised,
    "BatchNormalization": batch_normalised,
    "ConvTranspose": conv_transpose,
    "GroupQueryAttention": group_query_attention,
    "Resize": crop_and_resize,
    **{op: layer(op) for op in _STEPS},
}


#: The operand of whose type the results are, where it is not the first.
_TYPED_BY = {"OneHot": 2}


def has(node: onnx.NodeProto, arrays: Mapping[str, Array]) -> bool:
    """Whether an operator is evaluated here, for these types."""
    if node.op_type not in _TEXTS:
        return False
    if node.op_type in ("Pow", "Gemm"):
        return all(arrays[name].dtype.kind in "iu" for name in node.input if name)
    if node.op_type in ("GatherElements", "OneHot"):
        return True
    if node.op_type == "Resize":
        mode = b"tf_crop_and_resize"
        return any(
            a.name == "coordinate_transformation_mode" and a.s == mode for a in node.attribute
        )
    if node.op_type == "Gelu" and not node.domain:  # the reference has the other form
        return any(a.name == "approximate" and a.s == b"tanh" for a in node.attribute)
    if node.op_type == "ConvTranspose":  # padded as it says itself
        given = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        sized = "output_shape" in given or b"SAME" in given.get("auto_pad", b"")
        return not sized and _dtype(node, arrays).kind == "f"
    if node.op_type == "BatchNormalization":  # not in training
        trains = any(a.name == "training_mode" and a.i for a in node.attribute)
        return not trains and not any(node.output[1:]) and arrays[node.input[0]].ndim > 1
    return _dtype(node, arrays).kind == "f"


def _dtype(node: onnx.NodeProto, arrays: Mapping[str, Array]) -> np.dtype:
    return arrays[node.input[_TYPED_BY.get(node.op_type, 0)]].dtype


def run(node: onnx.NodeProto, arrays: Mapping[str, Array]) -> list[Array]:
    """The node's outputs, in the type of its data."""
    given = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    with np.errstate(all="ignore"):
        found = _TEXTS[node.op_type](given, [arrays[n] if n else None for n in node.input])
    dtype = _dtype(node, arrays)
    names = [*node.output, *[""] * len(found)]
    return [
        f.astype(dtype if f.dtype.kind == "f" else f.dtype)
        for f, name in zip(found, names, strict=False)
        if name
    ]


# ---- NaN ---------------------------------------------------------------------------------------

Evaluate = Callable[[onnx.NodeProto, Mapping[str, Array]], list[Array]]
_POOLS = ("AveragePool", "GlobalMaxPool", "LpPool", "MaxPool")


def with_nan(
    node: onnx.NodeProto, arrays: Mapping[str, Array], results: list[Array], again: Evaluate
) -> list[Array]:
    """A pool over windows, NaN where a window has one.

    ONNX says nothing of it. ONNX Runtime and the reference keep a maximum's NaN where it comes
    first, or last, by how they go through a window; ReduceMax of both has NaN wherever there is
    one. The reference's padding is NaN, which it leaves out of a mean with all others.
    """
    if node.op_type not in _POOLS or len(results) != 1:
        return results
    name = node.input[0]
    data = arrays[name]
    if data.dtype.kind != "f" or not np.isnan(data).any():
        return results
    (there,) = again(node, {**arrays, name: np.isnan(data).astype(data.dtype)})
    return [np.where(there > 0, data.dtype.type(np.nan), results[0]).astype(data.dtype)]


def without_unread(
    node: onnx.NodeProto, arrays: Mapping[str, Array], results: list[Array], again: Evaluate
) -> list[Array]:
    """A Resize without NaN where infinities and NaN have no weight.

    ONNX's interpolation is a sum of weighted neighbours, and does not say whether one of weight 0
    is among them: the evaluators choose differently where a place is an element's own. So NaN (as
    ONNX Runtime has it) and the other neighbours' value (this) are both right.
    """
    data = arrays[node.input[0]] if node.op_type == "Resize" else np.zeros(0, np.int8)
    if data.dtype.kind != "f" or np.isfinite(data).all():
        return results

    def weighted(array: Array) -> Array:
        (found,) = again(node, {**arrays, node.input[0]: array.astype(data.dtype)})
        return found

    nothing = weighted(np.zeros(data.shape))  # what stands outside may be a constant
    found = weighted(np.where(np.isfinite(data), data, 0))
    with np.errstate(all="ignore"):
        for there, is_it in ((np.inf, np.isposinf), (-np.inf, np.isneginf), (np.nan, np.isnan)):
            weight = weighted(is_it(data)) - nothing
            # A position within the rounding of f32 may be an element's own, too.
            read = np.abs(weight) > 1e-4
            found = np.where(read, found + np.sign(weight) * there, found)
    return [found.astype(results[0].dtype)]
