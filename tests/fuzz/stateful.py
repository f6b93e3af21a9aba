"""Random graphs with states: an input and an output that share memory.

Every form is an ONNX graph as it stands; that two of its ports share memory is said beside it
(`Graph.states`). In many of them a kernel that wrote the output where it reads the input, or before
another one has read it, would be wrong.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import numpy as np

from tests.fuzz import operators
from tests.fuzz.data import BOOL, F16, F32, F64, I8, I32, I64, U8, Random
from tests.fuzz.feeds import open_some
from tests.fuzz.operators._common import ints, output
from tests.fuzz.sketch import Graph, Sketch, Unfit

Array = np.ndarray
#: Adds nodes with one or more states to a sketch.
Form = Callable[[Sketch], None]

#: How often a seed draws one of these forms, and how often one that does not gets pairs anyway.
OF_A_FORM, OF_ANY = 0.12, 0.15


def graph(rng: Random, opset: int) -> Graph:
    """A graph of one or two forms, and some nodes of any other kind."""
    while True:
        sketch = Sketch(rng, opset)
        for _ in range(rng.between(1, 2)):
            with contextlib.suppress(Unfit):
                rng.one(FORMS)(sketch)
        if sketch.states:
            break
    for _ in range(rng.below(4)):
        with contextlib.suppress(Unfit):
            rng.one(operators.table())(sketch)
    found = sketch.finish()
    if not found.open_dims and rng.chance(0.25):
        open_some(found, rng)
    return found


def pair_some(graph: Graph, rng: Random) -> None:
    """Let some outputs of a graph share the memory of inputs of the same type and dims."""
    free = [n for n in graph.outputs if n not in graph.weights]
    for port in rng.shuffled(list(graph.inputs)):
        given = graph.inputs[port]
        fits = [
            n for n in free
            if n != port
            and isinstance(found := graph.values[n], Array)
            and (found.shape, found.dtype) == (given.shape, given.dtype)
        ]  # fmt: skip
        if fits and given.size and rng.chance(0.7):
            graph.states[port] = rng.one(fits)
            free.remove(graph.states[port])


# ---- what the forms share ----------------------------------------------------------------------


def _state(s: Sketch, shape: tuple[int, ...], dtype: np.dtype = F32) -> str:
    return s.give(s.rng.array(dtype, shape, tame=True), 1.0)


def _rows(s: Sketch, shape: tuple[int, ...], at_run_time: float = 0.9) -> str:
    return s.give(s.rng.array(F32, shape, tame=True), at_run_time)


def _pair(s: Sketch, port: str, made: str) -> None:
    a, b = s.values[port], s.values[made]
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        raise Unfit
    s.states[port] = made


def _one(s: Sketch, op: str, *inputs: str, **attributes: object) -> str:
    return output(s.node(op, inputs, **attributes))


# ---- one state ---------------------------------------------------------------------------------


def counter(s: Sketch) -> None:
    """``x + 1``, of any type, and maybe the old value or what follows from either."""
    dtype = s.rng.one((F32, I64, I32, U8, I8, F16, F64))
    shape = s.rng.shape(s.rng.one((0, 1, 1, 2)), low=1)
    x = _state(s, shape, dtype)
    one = s.give(s.rng.array(dtype, (), tame=True), 0.3)
    y = _one(s, s.rng.one(("Add", "Add", "Sub")), *s.rng.shuffled([x, one]))
    _pair(s, x, y)
    if s.rng.chance(0.5):
        _one(s, s.rng.one(("Identity", "Neg", "Abs") if dtype != U8 else ("Identity",)), x)
    if s.rng.chance(0.3):
        _one(s, "Sub" if s.opset >= 14 or dtype.itemsize > 2 else "Identity",
             *([y, x] if s.opset >= 14 or dtype.itemsize > 2 else [x]))  # fmt: skip


def elementwise(s: Sketch) -> None:
    """A chain that could work in place, maybe with a reader of what was there before."""
    shape = s.rng.shape(s.rng.between(1, 4), low=1)
    h = y = _state(s, shape)
    for _ in range(s.rng.between(1, 4)):
        if s.rng.chance(0.5):
            y = _one(s, s.rng.one(("Tanh", "Relu", "Sigmoid", "Neg", "Abs", "Erf")), y)
        else:
            x = h if s.rng.chance(0.15) else _rows(s, _smaller(s, shape))
            op = s.rng.one(("Add", "Mul", "Sub", "Max" if s.opset >= 12 else "Add"))
            y = _one(s, op, *s.rng.shuffled([y, x]))
    if y == h:
        raise Unfit
    _pair(s, h, y)
    if s.rng.chance(0.4):
        _one(s, s.rng.one(("Mul", "Sub")), y, h)


def _smaller(s: Sketch, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape, or one that broadcasts to it."""
    return tuple(1 if s.rng.chance(0.2) else d for d in shape)


def average(s: Sketch) -> None:
    """A running mean."""
    shape = s.rng.shape(s.rng.between(1, 3), low=1)
    h, x = _state(s, shape), _rows(s, shape)
    keep = s.rng.one((0.5, 0.9, 0.99))
    weights = [s.give(np.array(w, F32), 0.1) for w in (keep, 1 - keep)]
    y = _one(s, "Add", *(_one(s, "Mul", v, w) for v, w in zip((h, x), weights, strict=True)))
    _pair(s, h, y)


def moved(s: Sketch) -> None:
    """Every element comes of another place of the state: no kernel may work in place."""
    n, rest = s.rng.between(2, 9), s.rng.between(1, 6)
    square = s.rng.chance(0.5)
    h = _state(s, (n, n) if square else (n, rest))
    _pair(s, h, s.rng.one(_SQUARE if square else _MOVED)(s, h))
    if s.rng.chance(0.3):
        _one(s, "Add", h, _rows(s, s.shape_of(h)))


def _reverse(s: Sketch, h: str) -> str:
    if s.opset < 10:
        raise Unfit
    ends = [s.give(ints(v), 0.1) for v in (-1, np.iinfo(np.int64).min, s.rng.below(2), -1)]
    return _one(s, "Slice", h, *ends)


def _roll(s: Sketch, h: str) -> str:
    """A buffer of rows: the oldest ones go, new ones come behind."""
    if s.opset < 10:
        raise Unfit
    rows, width = s.shape_of(h)
    new = s.rng.between(1, rows)
    tail = _one(s, "Slice", h, *(s.give(ints(v), 0) for v in (new, rows, 0)))
    parts = [tail, _rows(s, (new, width))]
    return _one(s, "Concat", *(parts if s.rng.chance(0.8) else parts[::-1]), axis=0)


def _picked(s: Sketch, h: str) -> str:
    rows, _ = s.shape_of(h)
    at = s.rng.bits.permutation(rows) if s.rng.chance(0.5) else s.rng.bits.integers(0, rows, rows)
    return _one(s, "Gather", h, s.give(at.astype(np.int64), 0.5), axis=0)


def _scattered(s: Sketch, h: str) -> str:
    """A row of the state is replaced, at a place that is maybe known when it runs."""
    if s.opset < 11:
        raise Unfit
    rows, width = s.shape_of(h)
    at = s.give(s.rng.bits.integers(0, rows, (1, 1)), 0.7)
    return _one(s, "ScatterND", h, at, _rows(s, (1, width)))


def _summed(s: Sketch, h: str) -> str:
    if s.opset < 11:
        raise Unfit
    axis = s.give(np.array(s.rng.below(2)), 0)
    return _one(s, "CumSum", h, axis, exclusive=s.rng.below(2), reverse=s.rng.below(2))


def _without_mean(s: Sketch, h: str) -> str:
    if s.opset >= 18:
        mean = _one(s, "ReduceMean", h, s.give(ints(s.rng.below(2)), 0), keepdims=1)
    else:
        mean = _one(s, "ReduceMean", h, axes=[s.rng.below(2)], keepdims=1)
    return _one(s, "Sub", h, mean)


def _softmax(s: Sketch, h: str) -> str:
    return _one(s, s.rng.one(("Softmax", "LogSoftmax")), h, axis=s.rng.one((1, -1)))


def _chosen(s: Sketch, h: str) -> str:
    """The old state or a new one, by a condition for each row."""
    rows, width = s.shape_of(h)
    mask = s.give(s.rng.array(BOOL, (rows, 1)), 0.9)
    return _one(s, "Where", mask, *s.rng.shuffled([h, _rows(s, (rows, width))]))


def _transposed(s: Sketch, h: str) -> str:
    y = _one(s, "Transpose", h, perm=[1, 0])
    return _one(s, "Add", y, h) if s.rng.chance(0.3) else y


def _product(s: Sketch, h: str) -> str:
    w = _rows(s, s.shape_of(h), 0.4)
    return _one(s, "MatMul", *s.rng.shuffled([h, w]))


def _of_itself(s: Sketch, h: str) -> str:
    return _one(s, "MatMul", h, h)


_MOVED: tuple[Callable[[Sketch, str], str], ...] = (
    _reverse, _roll, _roll, _picked, _scattered, _summed, _without_mean, _softmax, _chosen,
)  # fmt: skip
_SQUARE = (*_MOVED, _transposed, _transposed, _product, _product, _of_itself)


# ---- several states ----------------------------------------------------------------------------


def delay_line(s: Sketch) -> None:
    """Each state takes the old value of the one before; maybe in a circle."""
    shape = s.rng.shape(s.rng.between(1, 2), low=1)
    lines = [_state(s, shape) for _ in range(s.rng.between(2, 4))]
    first = lines[-1] if s.rng.chance(0.4) else _rows(s, shape)
    for line, given in zip(lines, [first, *lines], strict=False):
        made = given if s.rng.chance(0.1) and given in s.inputs else _one(s, "Identity", given)
        if made in s.states.values():
            raise Unfit
        _pair(s, line, made)
    _one(s, "Sum", *lines)


def crossed(s: Sketch) -> None:
    """Two states, each computed of the other's old value."""
    n = s.rng.between(1, 6)
    a, b, x = _state(s, (n,)), _state(s, (n,)), _rows(s, (n,))
    _pair(s, a, _one(s, s.rng.one(("Add", "Mul")), b, x))
    _pair(s, b, _one(s, s.rng.one(("Sub", "Mul")), a, s.rng.one((x, b))))


# ---- layers ------------------------------------------------------------------------------------


def recurrent_step(s: Sketch) -> None:
    """An LSTM, GRU or RNN of one or some steps, with its hidden and its cell state."""
    op = s.rng.one(("LSTM", "LSTM", "GRU", "GRU", "RNN"))
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    sides = 2 if s.rng.chance(0.2) else 1
    steps, batch = s.rng.one((1, 1, 1, 2, 3, 9)), s.rng.between(1, 2)
    size, hidden = s.rng.between(1, 6), s.rng.between(1, 9)
    operands: list[str | None] = [
        _rows(s, (steps, batch, size)),
        _rows(s, (sides, gates * hidden, size), 0.05),
        _rows(s, (sides, gates * hidden, hidden), 0.05),
        _rows(s, (sides, 2 * gates * hidden), 0.05) if s.rng.chance(0.7) else None,
        None,
    ]
    states = [_state(s, (sides, batch, hidden)) for _ in range(2 if op == "LSTM" else 1)]
    made = s.node(
        op, [*operands, *states], [True] * (1 + len(states)), hidden_size=hidden,
        direction="bidirectional" if sides == 2 else None,
        linear_before_reset=s.rng.one((None, 1)) if op == "GRU" else None,
    )  # fmt: skip
    for state, name in zip(states, (made or [""])[1:], strict=False):
        _pair(s, state, name)


def gated_unit(s: Sketch) -> None:
    """A recurrent cell of products and activations: its state is read twice or more."""
    batch, size, hidden = s.rng.between(1, 3), s.rng.between(1, 6), s.rng.between(1, 9)
    h, x = _state(s, (batch, hidden)), _rows(s, (batch, size))

    def gate(op: str, state: str) -> str:
        parts = [_one(s, "MatMul", v, _rows(s, (s.shape_of(v)[1], hidden), 0.05))
                 for v in (x, state)]  # fmt: skip
        return _one(s, op, _one(s, "Add", *parts))

    z, r = gate("Sigmoid", h), gate("Sigmoid", h)
    new = gate("Tanh", _one(s, "Mul", r, h))
    kept, given = _one(s, "Mul", z, h), _one(s, "Sub", new, _one(s, "Mul", z, new))
    y = _one(s, "Add", kept, given)
    _pair(s, h, y)
    if s.rng.chance(0.4):
        _one(s, "MatMul", y, _rows(s, (hidden, size), 0.05))


def streaming_convolution(s: Sketch) -> None:
    """A convolution over the last frames and the new ones; the last ones of these are kept."""
    if s.opset < 10:
        raise Unfit
    batch, wide = s.rng.between(1, 2), s.rng.one((None, None, 1, 5))
    group = s.rng.one((1, 1, 2, 3))
    channels, results = group * s.rng.between(1, 3), group * s.rng.between(1, 3)
    kernel, dilation, new = s.rng.between(2, 5), s.rng.between(1, 2), s.rng.one((1, 1, 2, 5, 12))
    past = (kernel - 1) * dilation
    tail = () if wide is None else (wide,)
    image = len(tail)
    h, x = _state(s, (batch, channels, past, *tail)), _rows(s, (batch, channels, new, *tail))
    whole = _one(s, "Concat", h, x, axis=2)
    first = -past if s.rng.chance(0.5) else new
    ends = (first, np.iinfo(np.int64).max if s.rng.chance(0.5) else new + past, 2)
    kept = _one(s, "Slice", whole, *(s.give(ints(v), 0) for v in ends))
    reach = s.rng.one((1, 3)) if image else 0
    w = _rows(s, (results, channels // group, kernel, *([reach] * image)), 0.05)
    operands = [whole, w, *([_rows(s, (results,), 0.05)] if s.rng.chance(0.6) else [])]
    pads = [0, *([reach // 2] * image)] * 2
    y = _one(s, "Conv", *operands, group=group, dilations=[dilation, *([1] * image)], pads=pads)
    if s.rng.chance(0.5):
        y = _one(s, s.rng.one(("Relu", "Tanh", "Sigmoid")), y)
    _pair(s, h, kept)
    if s.rng.chance(0.3) and new >= past:  # a second layer, over what the first one gives
        _roll_of(s, y, past)


def _roll_of(s: Sketch, rows: str, past: int) -> None:
    shape = list(s.shape_of(rows))
    shape[2] = past
    h = _state(s, tuple(shape))
    whole = _one(s, "Concat", h, rows, axis=2)
    ends = (-past, np.iinfo(np.int64).max, 2)
    _pair(s, h, _one(s, "Slice", whole, *(s.give(ints(v), 0) for v in ends)))
    _one(s, "MaxPool", whole, kernel_shape=[2] + [1] * (len(shape) - 3))


def cached_attention(s: Sketch) -> None:
    """GroupQueryAttention over caches that stay, for some runs of one or several new rows."""
    dtype = F16 if s.rng.chance(0.15) else F32
    batch, shared, kept = s.rng.one((1, 1, 2, 3)), s.rng.between(1, 4), s.rng.between(1, 2)
    size, room = s.rng.one((8, 16, 16, 24, 32, 64)), s.rng.one((4, 7, 12, 20, 33, 70))
    count = shared * kept
    filled = [_start(s, batch, room)]
    rows = [_new_rows(s, room - int(filled[0].max()))]
    while len(rows) < s.rng.between(2, 5) and filled[-1].max() + rows[-1] < room:
        filled.append(filled[-1] + rows[-1])
        rows.append(_new_rows(s, room - int(filled[-1].max())))
    changes = len(set(rows)) > 1

    def port(arrays: list[Array], dims: list[str | None], at_run_time: float = 1.0) -> str:
        """An operand that is another array in each run."""
        name = s.give(arrays[0], at_run_time)
        if name in s.inputs:
            s.later[name] = arrays[1:]
            if any(dims) and (changes or s.rng.chance(0.5)):
                s.open_dims[name] = dims
        return name

    def tokens(width: int) -> str:
        arrays = [s.rng.array(dtype, (batch, n, width), tame=True) for n in rows]
        return port(arrays, [None, "rows", None])

    packed = s.rng.chance(0.4)
    operands: list[str | None] = (
        [tokens((count + 2 * kept) * size), None, None] if packed
        else [tokens(n * size) for n in (count, kept, kept)]
    )  # fmt: skip
    caches = [_state(s, (batch, kept, room, size), dtype) for _ in range(2)]
    if s.rng.chance(0.2):
        s.open_dims |= {name: [None, None, "room", None] for name in caches}
    steps = list(zip(filled, rows, strict=True))
    operands += caches
    operands.append(port([(f + n - 1).astype(np.int32) for f, n in steps], [None]))
    operands.append(port([np.array((f + n).max(), np.int32) for f, n in steps], []))
    turns = s.rng.chance(0.5)
    if turns:
        longest, half = room + s.rng.below(3), size // 2
        tables = [s.rng.array(dtype, (longest, half), tame=True) for _ in range(2)]
        operands += [s.give(table, 0.1) for table in tables]
        if s.rng.chance(0.3):
            places = [f[:, None] + np.arange(n) for f, n in steps]
            operands.append(port(places, [None, "rows"]))
    # Behind a sequence's end these leave other rows than ONNX Runtime, which takes no such chunks.
    is_known = batch == 1 or max(rows) == 1
    if is_known and s.rng.chance(0.1):
        operands += [None] * (10 - len(operands))
        lead = s.rng.one((1, batch)), s.rng.one((1, count))
        biases = [s.rng.array(dtype, (*lead, n, int((f + n).max())), tame=True) for f, n in steps]
        operands.append(port(biases, [None, None, "rows", "total"]))
    if is_known and s.rng.chance(0.1):
        operands += [None] * (11 - len(operands))
        operands.append(s.give(s.rng.array(dtype, (count,), tame=True), 0.1))
    made = s.node(
        "GroupQueryAttention", operands, 3, domain="com.microsoft", num_heads=count,
        kv_num_heads=kept, do_rotary=int(turns) or None,
        rotary_interleaved=s.rng.one((None, 0, 1)) if turns else None,
        local_window_size=s.rng.one((None, None, -1, 1, 3, 9)), scale=s.rng.one((None, None, 0.3)),
        softcap=s.rng.one((None, None, 2.0)),
        smooth_softmax=1 if is_known and s.rng.chance(0.05) else None,
    )  # fmt: skip
    for cache, name in zip(caches, (made or [])[1:], strict=bool(made)):
        _pair(s, cache, name)
    if made and s.rng.chance(0.4):
        _one(s, "MatMul", made[0], s.give(s.rng.array(dtype, (count * size, 3), tame=True), 0.1))


def _start(s: Sketch, batch: int, room: int) -> Array:
    """How many rows each sequence has before the first run: a prompt, or what was loaded."""
    if s.rng.chance(0.6):
        return np.zeros(batch, np.int64)
    return s.rng.bits.integers(0, room - 1, batch)


def _new_rows(s: Sketch, most: int) -> int:
    return min(most, s.rng.one((1, 1, 1, 2, 3, 5, 9, 17, 40)))


FORMS: tuple[Form, ...] = (
    counter, elementwise, elementwise, average, moved, moved, moved, delay_line, crossed,
    recurrent_step, recurrent_step, gated_unit, streaming_convolution, streaming_convolution,
    *[cached_attention] * 6,
)  # fmt: skip
