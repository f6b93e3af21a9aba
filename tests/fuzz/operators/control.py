"""If, Loop and Scan, whose graphs are small sketches of their own."""

from __future__ import annotations

import contextlib

import numpy as np
import onnx
from onnx import helper

from tests.fuzz import evaluate
from tests.fuzz.data import F32, I32, I64
from tests.fuzz.operators._common import condition, often, output
from tests.fuzz.sketch import Sketch, Unfit

#: How many bodies stand in one another.
_DEEPEST = 2


def _inner(s: Sketch, given: dict[str, np.ndarray], nodes: int) -> Sketch:
    """A sketch of a graph in a node: it sees the values outside, and its own parameters."""
    from tests.fuzz import operators

    inner = Sketch(s.rng, s.opset)
    inner.number = s.number + 1000
    inner.opsets = dict(s.opsets)
    inner.depth = s.depth + 1
    inner.values = {**s.values, **given}
    inner.made = [*given, *s.rng.some([n for n in s.made if s.values[n].size < 100])[:2]]
    known = [g for g in operators.table() if g.__name__ != "dropout"]
    simple = [g for g in known if g.__module__.endswith(("elementwise", "movement", "reduction"))]
    flat = [g for g in known if g.__module__ != __name__]
    attempts = 0
    while len(inner.nodes) < nodes and attempts < 5 * nodes:
        attempts += 1
        family = simple if s.rng.chance(0.8) else flat
        if inner.depth < _DEEPEST and s.rng.chance(0.12):
            family = [if_, loop, scan]
        with contextlib.suppress(Unfit):
            s.rng.one(family)(inner)
    # What the inner nodes ask to be given is an initialiser of the inner graph.
    inner.weights.update(inner.inputs)
    s.number = inner.number + 1000
    s.opsets = inner.opsets
    return inner


def _graph(
    inner: Sketch, name: str, inputs: dict[str, np.ndarray], outputs: list[str]
) -> onnx.GraphProto:
    read = {n for node in inner.nodes for n in evaluate.reads(node)} | set(outputs)
    ports = [
        helper.make_tensor_value_info(n, evaluate.element(a), list(a.shape))
        for n, a in inputs.items()
    ]
    results = [
        helper.make_tensor_value_info(n, evaluate.element(inner.values[n]), None) for n in outputs
    ]
    weights = [evaluate.tensor(n, a) for n, a in inner.weights.items() if n in read]
    return helper.make_graph(inner.nodes, name, ports, results, weights)


def _identity(inner: Sketch, name: str) -> str:
    return output(inner.node("Identity", [name]))


@often(3)
def if_(s: Sketch) -> None:
    if s.opset < 11:
        return
    then, other = (_inner(s, {}, s.rng.between(1, 3)) for _ in range(2))
    mine = [n for n in then.made if n in {o for node in then.nodes for o in node.output}]
    if not mine:
        return
    name = s.rng.one(mine)
    want = then.values[name]
    same = [
        n
        for n in other.made
        if other.values[n].dtype == want.dtype and other.values[n].shape == want.shape
    ]
    if same and s.rng.chance(0.6):
        result = _identity(other, s.rng.one(same))
    else:
        shape = want.shape if s.rng.chance(0.8) else s.rng.shape(want.ndim)
        constant = other.fresh("w")
        other.weights[constant] = other.values[constant] = s.rng.array(want.dtype, shape)
        result = _identity(other, constant)
    graphs = {
        "then_branch": _graph(then, "then", {}, [_identity(then, name)]),
        "else_branch": _graph(other, "else", {}, [result]),
    }
    s.node("If", [condition(s, holds=0.5, at_run_time=0.8)], **graphs)


@often(3)
def loop(s: Sketch) -> None:
    if s.opset < 11:
        return
    count = s.rng.one((0, 1, 2, 3, 5))
    state = s.data(
        (F32, F32, I32, I64),
        fits=lambda a: a.size < 50,
        tame=True,
        shape=lambda: s.rng.shape(s.rng.below(3)),
    )
    value = s.values[state]
    names = {k: s.fresh("p") for k in ("number", "going", "state")}
    given = {names["number"]: np.array(1), names["going"]: np.array(True), names["state"]: value}
    inner = _inner(s, given, s.rng.between(1, 3))
    made = {o for node in inner.nodes for o in node.output}
    fits = [
        n
        for n in inner.made
        if n in made
        and inner.values[n].shape == value.shape
        and inner.values[n].dtype == value.dtype
    ]
    after = s.rng.one(fits) if fits else _identity(inner, names["state"])
    if s.rng.chance(0.3):
        # Ends by itself: the condition is of the iteration's number.
        limit = inner.fresh("w")
        inner.weights[limit] = inner.values[limit] = np.array(s.rng.between(0, 3))
        flag = output(inner.node("Less", [names["number"], limit]))
    else:
        flag = _identity(inner, names["going"])
    rows = [n for n in inner.made if n in made and inner.values[n].size < 60]
    scanned = [_identity(inner, s.rng.one(rows))] if rows and s.rng.chance(0.6) else []
    ports = {n: given[n] for n in names.values()}
    body = _graph(inner, "body", ports, [flag, after, *scanned])
    trips = s.give(np.array(count), 0.5)
    going = s.give(np.array(True), 0.3) if s.rng.chance(0.5) else None
    s.node("Loop", [trips, going, state], 1 + len(scanned), body=body)


@often(2)
def counted(s: Sketch) -> None:
    """A Loop that a counter of its own ends, perhaps near the ends of its type."""
    if s.opset < 11:
        return
    dtype = s.rng.one((I64, I64, I32))
    top = int(np.iinfo(dtype).max)
    step, count = s.rng.one((1, 1, 2, 3, -1, -2)), s.rng.between(0, 4)
    first = s.rng.one((0, 0, 1, -3, 1 << 24, top // 2, top - 20, -top + 20))
    last = first + step * count + s.rng.one((0, 0, 1, -1))
    compare = s.rng.one(("Less", "LessOrEqual") if step > 0 else ("Greater", "GreaterOrEqual"))
    if s.opset < 12 and compare.endswith("Equal"):
        return
    value = s.rng.array(F32, s.rng.shape(s.rng.below(3)), tame=True)
    names = {k: s.fresh("p") for k in ("number", "going", "counter", "state")}
    given = dict(zip(names.values(), (np.array(0), np.array(True), np.array(first, dtype), value),
                     strict=True))  # fmt: skip
    inner = _inner(s, given, s.rng.between(1, 2))
    limit = inner.fresh("w")
    inner.weights[limit] = inner.values[limit] = np.array(last, dtype)
    by = inner.fresh("w")
    inner.weights[by] = inner.values[by] = np.array(step, dtype)
    # Where another run may have other numbers, a trip count ends it.
    given_late = 0.5 if s.rng.chance(0.5) else 0
    ends = s.give(np.array(last, dtype), given_late) if s.rng.chance(0.5) else limit
    inner.values[ends] = np.array(last, dtype)
    after = inner.node("Add", s.rng.shuffled([names["counter"], by]))
    going = after and inner.node(compare, [s.rng.one((after[0], names["counter"])), ends])
    state = inner.node(s.rng.one(("Neg", "Relu", "Sigmoid")), [names["state"]])
    if not going or not state:
        return
    start = s.give(np.array(first, dtype), given_late)
    asks = ends in s.values and s.rng.chance(0.5)
    outside = s.node(compare, [start, ends]) if asks else None
    scanned = [_identity(inner, s.rng.one((after[0], state[0])))] if s.rng.chance(0.6) else []
    outputs = [_identity(inner, v) for v in (going[0], after[0], state[0])]
    body = _graph(inner, "body", given, [*outputs, *scanned])
    most = s.rng.one((10, 3) if given_late else (2**63 - 1, 10, 3))
    trips = s.give(np.array(most), 0) if given_late or s.rng.chance(0.7) else None
    flag = outside[0] if outside else s.give(np.array(True), 0.2)
    s.node("Loop", [trips, flag, start, s.give(value)], 2 + len(scanned), body=body)


@often(2)
def scans(s: Sketch) -> None:
    """A Scan with several states, and several tensors that go by row."""
    if s.opset < 11:
        return
    rows = s.rng.between(1, 4)
    dims = s.rng.shape(s.rng.below(3), 1)
    axes = [s.rng.between(0, len(dims)) for _ in range(s.rng.between(1, 3))]
    wholes = [s.rng.array(F32, (*dims[:a], rows, *dims[a:]), tame=True) for a in axes]
    states = [s.rng.array(F32, dims, tame=True) for _ in range(s.rng.below(3))]
    slices = [whole.take(0, axis) for whole, axis in zip(wholes, axes, strict=True)]
    given = {s.fresh("p"): array for array in (*states, *slices)}
    inner = _inner(s, given, s.rng.between(1, 3))
    after = []
    for _ in states:
        op = s.rng.one(("Add", "Mul", "Sub", "Max"))
        merged = inner.node(op, [s.rng.one(list(given)) for _ in range(2)])
        if merged is None or inner.shape_of(merged[0]) != dims:
            return
        after.append(merged[0])
    made = {o for node in inner.nodes for o in node.output}
    fits = [n for n in inner.made if n in made and inner.values[n].size < 60]
    found = [s.rng.one(fits or list(given)) for _ in range(s.rng.between(0 if states else 1, 2))]
    body = _graph(inner, "body", given, [_identity(inner, n) for n in (*after, *found)])
    attrs: dict[str, object] = {"num_scan_inputs": len(axes), "body": body}
    if any(axes) or s.rng.chance(0.3):
        ranked = [a - len(dims) - 1 if s.rng.chance(0.3) else a for a in axes]
        attrs["scan_input_axes"] = ranked
    if s.rng.chance(0.3):
        attrs["scan_input_directions"] = [s.rng.below(2) for _ in axes]
    if found and s.rng.chance(0.3):
        attrs["scan_output_directions"] = [s.rng.below(2) for _ in found]
    if found and s.rng.chance(0.3):
        attrs["scan_output_axes"] = [s.rng.between(0, inner.values[n].ndim) for n in found]
    operands = [s.give(a) for a in (*states, *wholes)]
    s.node("Scan", operands, len(states) + len(found), **attrs)


@often(2)
def scan(s: Sketch) -> None:
    if s.opset < 11:
        return
    whole = s.data((F32, F32, I64), fits=lambda a: 1 <= a.ndim <= 3 and 0 not in a.shape, tame=True,
                   shape=lambda: s.rng.shape(s.rng.between(1, 3), 1))  # fmt: skip
    axis = s.rng.below(s.values[whole].ndim)
    row = np.take(s.values[whole], 0, axis)
    state = s.give(s.rng.array(row.dtype, row.shape, tame=True))
    names = {k: s.fresh("p") for k in ("state", "row")}
    given = {names["state"]: s.values[state], names["row"]: row}
    inner = _inner(s, given, s.rng.between(1, 3))
    merged = inner.node(s.rng.one(("Add", "Mul", "Sub")), [names["state"], names["row"]])
    if merged is None:
        return
    made = {o for node in inner.nodes for o in node.output}
    rows = [n for n in inner.made if n in made and inner.values[n].size < 60]
    scanned = [_identity(inner, s.rng.one(rows or merged))]
    body = _graph(inner, "body", given, [_identity(inner, merged[0]), *scanned])
    attrs: dict[str, object] = {"num_scan_inputs": 1, "body": body}
    if axis or s.rng.chance(0.3):
        attrs["scan_input_axes"] = [axis]
    if s.rng.chance(0.3):
        attrs["scan_input_directions"] = [1]
    if s.rng.chance(0.3):
        attrs["scan_output_directions"] = [1]
    if inner.values[scanned[0]].ndim and s.rng.chance(0.3):
        attrs["scan_output_axes"] = [1]
    s.node("Scan", [state, whole], 2, **attrs)
