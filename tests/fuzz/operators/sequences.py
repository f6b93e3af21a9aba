"""Sequences and optionals: they live and die in a branch, as only tensors pass between nodes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
from onnx import helper

from tests.fuzz import evaluate
from tests.fuzz.data import F32, I32, I64, U8
from tests.fuzz.operators._common import condition, often
from tests.fuzz.sketch import Sketch, Unfit


class _Branch:
    """Nodes of a branch, and the tensors that the latest sequence has."""

    def __init__(self, s: Sketch) -> None:
        self.s = s
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.rows: list[np.ndarray] = []
        self.latest = ""
        self.is_late = False  # a place is given at run time

    def node(self, op: str, *operands: str, **attrs: object) -> str:
        name = self.s.fresh("q")
        given = {k: v for k, v in attrs.items() if v is not None}
        self.nodes.append(helper.make_node(op, operands, [name], name=self.s.fresh("n"), **given))
        return name

    def weight(self, array: np.ndarray) -> str:
        name = self.s.fresh("w")
        self.weights.append(evaluate.tensor(name, array))
        return name

    def place(self, count: int) -> tuple[int, list[str]]:
        """A place among so many, and the operand that says so, which the last one needs not."""
        rng = self.s.rng
        place = rng.below(count + 1)
        # The reference, which evaluates bytes, puts what is to be last first where it is told so.
        if rng.chance(0.25) or place == count and any(r.dtype == U8 for r in self.rows):
            return count, []
        said = np.array(place - count if place < count and rng.chance(0.4) else place)
        said = said.astype(rng.one((I64, I32)))
        if rng.chance(0.7):
            return place, [self.weight(said)]
        self.is_late = True
        return place, [self.s.give(said, 0.5)]


def _begin(b: _Branch) -> np.dtype:
    """A first sequence; the type of its tensors."""
    rng, s = b.s.rng, b.s
    dtype = rng.one((F32, F32, I64, U8))
    kind = rng.below(3)
    if kind == 0:
        rank = rng.between(0, 3)
        first = rng.shape(rank)
        names = [_row(b, dtype, first) for _ in range(rng.between(1, 4))]
        b.rows = [s.values[n] for n in names]
        b.latest = b.node("SequenceConstruct", *names)
    elif kind == 1:
        whole = s.data((dtype,), fits=lambda a: 1 <= a.ndim and 0 < a.size < 60, tame=True,
                       shape=lambda: rng.shape(rng.between(1, 3), 1))  # fmt: skip
        _split(b, whole)
    else:
        element = evaluate.element(np.zeros(0, dtype))
        b.latest = b.node("SequenceEmpty", dtype=None if dtype == F32 else element)
        for _ in range(rng.between(1, 3)):
            _insert(b, dtype)
    return dtype


def _split(b: _Branch, whole: str) -> None:
    rng, array = b.s.rng, b.s.values[whole]
    axis = rng.below(array.ndim)
    said = axis - array.ndim if rng.chance(0.3) else axis
    length = array.shape[axis]
    if rng.chance(0.4):
        kept = rng.one((None, 0, 1))
        rows = np.split(array, length, axis)
        b.rows = [np.squeeze(r, axis) for r in rows] if kept == 0 else rows
        b.latest = b.node("SplitToSequence", whole, axis=said, keepdims=kept)
        return
    if rng.chance(0.5):
        step = rng.between(1, length)
        b.rows = np.split(array, range(step, length, step), axis)
        sizes = np.array(step)
    else:
        cuts = sorted(rng.below(length + 1) for _ in range(rng.below(3)))
        b.rows = np.split(array, cuts, axis)
        sizes = np.diff([0, *cuts, length])
    sizes = b.weight(sizes.astype(rng.one((I64, I32))))
    b.latest = b.node("SplitToSequence", whole, sizes, axis=said)


def _row(b: _Branch, dtype: np.dtype, like: tuple[int, ...]) -> str:
    """A tensor for the sequence: of these dims, or of others."""
    shape = like if b.s.rng.chance(0.8) else b.s.rng.shape(len(like))
    return b.s.data((dtype,), fits=lambda a: a.shape == shape, shape=lambda: shape, tame=True)


def _insert(b: _Branch, dtype: np.dtype) -> None:
    like = b.rows[0].shape if b.rows else b.s.rng.shape(b.s.rng.between(0, 3))
    row = _row(b, dtype, like)
    place, operand = b.place(len(b.rows))
    b.rows = [*b.rows[:place], b.s.values[row], *b.rows[place:]]
    b.latest = b.node("SequenceInsert", b.latest, row, *operand)


def _erase(b: _Branch, dtype: np.dtype) -> None:
    if len(b.rows) < 2:
        return
    place, operand = b.place(len(b.rows) - 1)
    b.rows = [*b.rows[:place], *b.rows[place + 1 :]]
    b.latest = b.node("SequenceErase", b.latest, *operand)


def _fill(b: _Branch, dtype: np.dtype) -> None:
    """A Loop that puts its number, or a tensor from outside, behind the sequence."""
    s = b.s
    names = {key: s.fresh("p") for key in ("number", "going", "rows")}
    flag, after = s.fresh("q"), s.fresh("q")
    row = s.data((dtype,), fits=lambda a: a.size < 60, tame=True)
    nodes = [helper.make_node("Identity", [names["going"]], [flag])]
    count = s.rng.below(4)
    made = [s.values[row]] * count
    if dtype == I64 and s.rng.chance(0.6):
        added = s.fresh("q")
        nodes.append(helper.make_node("Add", [row, names["number"]], [added]))
        made = [s.values[row] + k for k in range(count)]
        row = added
    nodes.append(helper.make_node("SequenceInsert", [names["rows"], row], [after]))
    element = evaluate.element(np.zeros(0, dtype))
    ports = [
        helper.make_tensor_value_info(names["number"], onnx.TensorProto.INT64, []),
        helper.make_tensor_value_info(names["going"], onnx.TensorProto.BOOL, []),
        helper.make_tensor_sequence_value_info(names["rows"], element, None),
    ]
    results = [
        helper.make_tensor_value_info(flag, onnx.TensorProto.BOOL, []),
        helper.make_tensor_sequence_value_info(after, element, None),
    ]
    body = helper.make_graph(nodes, "body", ports, results)
    trips, going = b.weight(np.array(count)), b.weight(np.array(True))
    b.rows = [*b.rows, *made]
    b.latest = b.node("Loop", trips, going, b.latest, body=body)


def _joined(b: _Branch) -> str | None:
    rng, shapes = b.s.rng, {r.shape for r in b.rows}
    rank = b.rows[0].ndim if b.rows else 0
    if any(len(shape) != rank for shape in shapes):
        return None
    if len(shapes) == 1 and (rank == 0 or rng.chance(0.5)):
        return b.node("ConcatFromSequence", b.latest, axis=rng.between(-rank - 1, rank), new_axis=1)
    axes = [k for k in range(rank) if len({s[:k] + s[k + 1 :] for s in shapes}) == 1]
    if not axes:
        return None
    axis = rng.one(axes)
    return b.node("ConcatFromSequence", b.latest, axis=axis - rank if rng.chance(0.3) else axis)


def _taken(b: _Branch) -> str | None:
    place = b.s.rng.below(len(b.rows)) if b.rows else 0
    said = np.array(place - len(b.rows) if b.s.rng.chance(0.4) else place)
    operand = b.s.give(said, 0.6) if b.s.rng.chance(0.4) else b.weight(said)
    return b.node("SequenceAt", b.latest, operand) if b.rows else None


def _counted(b: _Branch) -> str | None:
    # A wrong place would be an error of a node of which no element of the answer comes.
    return None if b.is_late else b.node("SequenceLength", b.latest)


_STEPS: tuple[Callable[[_Branch, np.dtype], None], ...] = (_insert, _insert, _erase, _fill)
_ENDS: tuple[Callable[[_Branch], str | None], ...] = (_joined, _joined, _taken, _taken, _counted)


def _other(s: Sketch, branch: onnx.GraphProto, holds: str) -> onnx.GraphProto:
    """A branch whose result is of the same type and dims: a value that is there, or a constant."""
    node = helper.make_node("If", [holds], ["q"], then_branch=branch, else_branch=branch)
    try:
        (want,) = evaluate.either(node, s.opsets, s.values)
    except evaluate.Refused:
        raise Unfit from None
    alike = [
        n for n in s.made if s.values[n].dtype == want.dtype and s.values[n].shape == want.shape
    ]
    name = s.fresh("q")
    if alike:
        node = helper.make_node("Identity", [s.rng.one(alike)], [name])
    else:
        node = helper.make_node("Constant", [], [name], value=evaluate.tensor("", want))
    return helper.make_graph([node], "other", [], [helper.make_empty_tensor_value_info(name)])


def _finish(b: _Branch, result: str) -> None:
    """An If of which one branch has the nodes."""
    s = b.s
    port = helper.make_empty_tensor_value_info(result)
    branch = helper.make_graph(b.nodes, "branch", [], [port], b.weights)
    holds = condition(s, holds=0.7, at_run_time=0.5)
    other = branch if s.rng.chance(0.4) else _other(s, branch, holds)
    s.node("If", [holds], then_branch=branch, else_branch=other)


@often(3)
def sequence(s: Sketch) -> None:
    if s.opset < 11:
        return
    b = _Branch(s)
    dtype = _begin(b)
    for _ in range(s.rng.below(4)):
        s.rng.one(_STEPS)(b, dtype)
    result = s.rng.one(_ENDS)(b)
    if result is not None:
        _finish(b, result)


def optional(s: Sketch) -> None:
    if s.opset < 16:
        return
    b = _Branch(s)
    x = s.data((F32, I64), tame=True)
    held = b.node("Optional", x)
    kind = s.rng.one(("OptionalHasElement", "OptionalGetElement", "OptionalGetElement"))
    _finish(b, b.node(kind, held))
