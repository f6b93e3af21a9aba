"""The operators of sequences and optionals.

Enters: a node that makes, changes or reads a sequence, and its operands. Leaves: its results. What
depends on a position that only the run shows is computed from all elements, or refused.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import onnx
from onnx import helper

from ..dims import is_static
from ..errors import InputError, UnsupportedError
from ..ops import Context
from ..ops.common.context import IllTypedError
from ..shapes.axes import normal_axis
from .function_nodes import Body
from .sequences import ABSENT, Absent, Rows, TensorList, Value, refuse
from .state import Importer, Scope
from .values import attributes, dtype_of, label

#: The opset of the nodes that computations on elements are made of.
OPSET = 18

#: Elements that one node may make of a tensor: each is a value of its own in the package.
MOST_PIECES = 1 << 12


def _construct(importer: Importer, node: onnx.NodeProto, values: list[Value]) -> Value:
    return TensorList(tuple(values))


def _empty(importer: Importer, node: onnx.NodeProto, values: list[Value]) -> Value:
    return TensorList(())


def _length(importer: Importer, node: onnx.NodeProto, values: list[Value]) -> Value:
    if isinstance(values[0], Rows):
        count = np.array(len(values[0].first), np.int64)
        nodes = [
            helper.make_node("Shape", ["a"], ["shape"], start=0, end=1),
            helper.make_node("Squeeze", ["shape"], ["made"]),
            helper.make_node("Add", ["made", "b"], ["length"]),
        ]
        return _run(importer, node, nodes, [values[0].rows, count], ["length"])[0]
    return np.array(len(_items(node, values[0])), np.int64)


def _at(importer: Importer, node: onnx.NodeProto, values: list[Value]) -> Value:
    items = _items(node, values[0])
    place = _known_place(node, values[1], len(items))
    if place is not None:
        return items[place]
    _refuse_none(node, items)
    at = _wrapped(importer, node, values[1], len(items))
    if len({_kind(importer, node, item) for item in items}) > 1:
        choices = [("Equal", k, item) for k, item in enumerate(items[:-1])]
        return _chosen(importer, node, at, choices, items[-1])
    nodes = [helper.make_node("Gather", ["a", "b"], ["picked"], axis=0)]
    stacked = joined(importer, node, items, 0, True)
    return _run(importer, node, nodes, [stacked, at], ["picked"])[0]


def _insert(importer: Importer, node: onnx.NodeProto, values: list[Value]) -> Value:
    items, new = _items(node, values[0]), values[1]
    if len(values) < 3 or values[2] is None:
        return TensorList((*items, new))
    place = _known_place(node, values[2], len(items), end=1)
    if place is not None:
        return TensorList((*items[:place], new, *items[place:]))
    at = _wrapped(importer, node, values[2], len(items), end=1)
    made = []
    for k in range(len(items) + 1):
        # Before the new one elements keep their places, after it they are one further.
        choices = [("Less", k, item) for item in items[k : k + 1]]
        # Of none there is one place, which is asked for as well: another ends the run.
        choices += [("Equal", k, new)] if k > 0 or not items else []
        made.append(_chosen(importer, node, at, choices, items[k - 1] if k > 0 else new))
    return TensorList(tuple(made))


def _erase(importer: Importer, node: onnx.NodeProto, values: list[Value]) -> Value:
    items = _items(node, values[0])
    if len(values) < 2 or values[1] is None:
        place: int | None = _known_place(node, np.array(-1), len(items))
    else:
        place = _known_place(node, values[1], len(items))
    if place is not None:
        return TensorList((*items[:place], *items[place + 1 :]))
    _refuse_none(node, items)
    at = _wrapped(importer, node, values[1], len(items))
    rows = zip(items, items[1:], strict=False)
    return TensorList(
        tuple(
            _chosen(importer, node, at, [("Less", k, stays)], follows)
            for k, (stays, follows) in enumerate(rows)
        )
    )


def _split(importer: Importer, node: onnx.NodeProto, values: list[Value]) -> Value:
    ctx = importer.context(node)
    attrs = attributes(node)
    whole, split = (*values, None)[:2]
    shape = _shape(ctx, whole)
    axis = normal_axis(attrs.get("axis", 0), len(shape))
    lengths = _lengths(ctx, shape[axis], split)
    (count,) = _shape(ctx, lengths)
    _refuse_many(ctx, count)
    if count == 0:
        return TensorList(())
    names = [f"p{k}" for k in range(count)]
    nodes = [helper.make_node("Split", ["a", "b"], names, axis=axis)]
    operands = [whole, lengths]
    if split is None and not attrs.get("keepdims", 1):
        nodes += [helper.make_node("Squeeze", [n, "c"], [f"{n}_flat"]) for n in names]
        names = [f"{n}_flat" for n in names]
        operands.append(np.array([axis], np.int64))
    return TensorList(tuple(_run(importer, node, nodes, operands, names)))


def _lengths(ctx: Context, size: Any, split: Value | None) -> Value:
    """Lengths of the pieces into which SplitToSequence divides a dim; 1 each without `split`."""
    if split is None:
        (total,) = ctx.static([size])
        _refuse_many(ctx, total)
        return np.ones(total, np.int64)
    if isinstance(split, np.ndarray) and split.ndim == 0:
        total, step = ctx.static([size])[0], int(split)
        if step < 1:
            raise InputError(f"{ctx.label}: splits into pieces of {step}; give at least 1")
        _refuse_many(ctx, total // step)
        return np.array([min(step, total - k) for k in range(0, total, step)], np.int64)
    dims = _shape(ctx, split)
    if len(dims) != 1 or not isinstance(dims[0], int):
        raise ctx.unsupported(
            "how many pieces it makes is known only at run time",
            "make its split a constant, or a vector of fixed length",
        )
    return split


def _refuse_many(ctx: Context, count: int) -> None:
    if count > MOST_PIECES:
        raise ctx.unsupported(
            f"makes {count} tensors of one, and {MOST_PIECES} are the most", "make larger pieces"
        )


def _refuse_none(node: onnx.NodeProto, items: Sequence[Value]) -> None:
    if not items:
        raise IllTypedError(
            f"{label(node)}: takes an element of a sequence without elements; give it some"
        )


def _concat(importer: Importer, node: onnx.NodeProto, values: list[Value]) -> Value:
    attrs = attributes(node)
    if isinstance(values[0], Rows):
        return _joined_rows(importer, node, values[0], attrs["axis"], attrs.get("new_axis", 0))
    items = _items(node, values[0])
    if not items:
        raise IllTypedError(f"{label(node)}: joins a sequence without elements; give it some")
    new = bool(attrs.get("new_axis", 0))
    return joined(importer, node, items, attrs["axis"], new)


def _optional(importer: Importer, node: onnx.NodeProto, values: list[Value]) -> Value:
    return values[0] if values and values[0] is not None else ABSENT


def _has_element(importer: Importer, node: onnx.NodeProto, values: list[Value]) -> Value:
    return np.array(bool(values) and values[0] is not None and not isinstance(values[0], Absent))


def _get_element(importer: Importer, node: onnx.NodeProto, values: list[Value]) -> Value:
    if isinstance(values[0], Absent):
        raise IllTypedError(
            f"{label(node)}: takes the element of an optional that has none; give it one"
        )
    return values[0]


def convert_map(
    importer: Importer, node: onnx.NodeProto, values: Sequence[Value | None], scope: Scope
) -> list[Value]:
    """Convert a SequenceMap: the body for each element in turn; tensors go to every element."""
    body: onnx.GraphProto = attributes(node)["body"]
    first = _items(node, values[0])
    for value in values[1:]:
        if isinstance(value, Rows):
            _items(node, value)
        if isinstance(value, TensorList) and len(value.items) != len(first):
            raise InputError(
                f"{label(node)}: maps sequences of {len(first)} and {len(value.items)} elements;"
                " give sequences of one length"
            )
    rows = []
    for k in range(len(first)):
        given = [v.items[k] if isinstance(v, TensorList) else v for v in values]
        known = {p.name: v for p, v in zip(body.input, given, strict=True) if v is not None}
        rows.append(importer.branch(body, ChainMap(known, scope)))
        if any(isinstance(v, TensorList | Rows | Absent) for v in rows[-1]):
            raise InputError(f"{label(node)}: its body gives a sequence; let it give tensors")
    if importer.missing:
        return []
    return [TensorList(tuple(row[k] for row in rows)) for k in range(len(body.output))]


_SIMPLE = {
    "SequenceConstruct": _construct,
    "SequenceEmpty": _empty,
    "SequenceLength": _length,
    "SequenceAt": _at,
    "SequenceInsert": _insert,
    "SequenceErase": _erase,
    "SplitToSequence": _split,
    "ConcatFromSequence": _concat,
    "Optional": _optional,
    "OptionalHasElement": _has_element,
    "OptionalGetElement": _get_element,
}
#: The operands of these operators that are no tensors; those of optionals are anything.
_SEQUENCES = {
    **dict.fromkeys(_SIMPLE, {0}),
    **dict.fromkeys(("SequenceConstruct", "SequenceEmpty", "SplitToSequence"), set()),
}
#: Operators of this file.
NAMES = frozenset({*_SIMPLE, "SequenceMap"})


def convert(
    importer: Importer, node: onnx.NodeProto, values: list[Any], scope: Scope
) -> list[Value]:
    """The results of a node of `NAMES`."""
    if node.op_type == "SequenceMap":
        return convert_map(importer, node, values, scope)
    taken = _SEQUENCES[node.op_type]
    refuse(node, [None if k in taken else value for k, value in enumerate(values)])
    return [_SIMPLE[node.op_type](importer, node, values)]


# ---- computing with elements ---------------------------------------------------------------------


def _joined_rows(
    importer: Importer, node: onnx.NodeProto, value: Rows, axis: int, new: bool
) -> Value:
    """As `joined`, for elements that are rows of a tensor; the run ends where there is none."""
    ctx = importer.context(node)
    whole = value.rows
    if not value.first:
        whole = ctx.at_least(importer.expr(whole), 0, 1)
    elif new:
        first = joined(importer, node, value.first, 0, True)
        concat = helper.make_node("Concat", ["a", "b"], ["whole"], axis=0)
        whole = _run(importer, node, [concat], [first, whole], ["whole"])[0]
    rank = len(_shape(ctx, whole)) - 1
    axis = normal_axis(axis, rank + bool(new))
    # The rows are counted by axis 0; that goes to where the elements are joined.
    order = [*range(1, axis + 1), 0, *range(axis + 1, rank + 1)]
    moved = _run(
        importer, node, [helper.make_node("Transpose", ["a"], ["b"], perm=order)], [whole], ["b"]
    )[0]
    if new:
        return moved
    shape = list(_shape(ctx, moved))
    shape[axis : axis + 2] = [shape[axis] * shape[axis + 1]]
    together = ctx.reshape(importer.expr(moved), shape)
    if not value.first:
        return together
    return joined(importer, node, [*value.first, together], axis, False)


def _items(node: onnx.NodeProto, value: Value | None) -> tuple[Value, ...]:
    if isinstance(value, Rows):
        raise UnsupportedError(
            f"{label(node)}: only the run shows how long its sequence is; join that with"
            " ConcatFromSequence"
        )
    if not isinstance(value, TensorList):
        raise InputError(f"{label(node)}: '{node.input[0]}' is no sequence; give it one")
    return value.items


def _known_place(node: onnx.NodeProto, value: Value, count: int, end: int = 0) -> int | None:
    """A position from the front, None where only the run shows it.

    Negative ones count from the back of `count` elements; `end` is 1 where the one after the last
    is a position, too.
    """
    if not isinstance(value, np.ndarray):
        return None
    _refuse_several(node, value.shape)
    place = int(value.reshape(-1)[0])
    if not -count <= place < count + end:
        raise IllTypedError(
            f"{label(node)}: position {place} in a sequence of {count}; give one that it has"
        )
    return place + count if place < 0 else place


def _refuse_several(node: onnx.NodeProto, dims: Sequence[Any]) -> None:
    """Raise for a position that is not one number."""
    if is_static(dims) and prod(dims) != 1:
        raise InputError(
            f"{label(node)}: its position has {prod(dims)} elements; give it one of a sequence"
        )


def _kind(importer: Importer, node: onnx.NodeProto, value: Value) -> tuple[Any, ...]:
    return dtype_of(value), _shape(importer.context(node), value)


def joined(
    importer: Importer, node: onnx.NodeProto, items: Sequence[Value], axis: int, new: bool
) -> Value:
    """The elements along an axis, which is a new one where `new` says so."""
    names = [f"e{k}" for k in range(len(items))]
    nodes, parts, operands = [], names, list(items)
    if new:
        rank = len(_shape(importer.context(node), items[0]))
        parts = [f"{n}_row" for n in names]
        nodes = [helper.make_node("Unsqueeze", [n, "ax"], [f"{n}_row"]) for n in names]
        operands.append(np.array([normal_axis(axis, rank + 1)], np.int64))
    nodes.append(helper.make_node("Concat", parts, ["joined"], axis=axis))
    given = [*names, "ax"] if new else names
    return _run(importer, node, nodes, operands, ["joined"], given)[0]


def _wrapped(
    importer: Importer, node: onnx.NodeProto, value: Value, count: int, end: int = 0
) -> Value:
    """As `_known_place`, for a computed position; a run with one outside of the sequence ends."""
    _refuse_several(node, _shape(importer.context(node), value))
    dtype = dtype_of(value)
    numbers = [np.array(n, dtype) for n in (0, count, -count, count + end)]
    nodes = [
        helper.make_node("Squeeze", ["a"], ["at"]),
        helper.make_node("Less", ["at", "b"], ["back"]),
        helper.make_node("Add", ["at", "c"], ["front"]),
        helper.make_node("Where", ["back", "front", "at"], ["place"]),
        helper.make_node("GreaterOrEqual", ["at", "d"], ["not_before"]),
        helper.make_node("Less", ["at", "e"], ["not_behind"]),
        helper.make_node("And", ["not_before", "not_behind"], ["holds"]),
    ]
    place, holds = _run(importer, node, nodes, [value, *numbers], ["place", "holds"])
    return importer.context(node).checked(importer.expr(place), importer.expr(holds))


def _chosen(
    importer: Importer,
    node: onnx.NodeProto,
    place: Value,
    choices: Sequence[tuple[str, int, Value]],
    last: Value,
) -> Value:
    """The first value whose comparison, of its number with `place`, holds; else the last value."""
    for op, number, value in reversed(choices):
        flag = helper.make_node(op, ["a", "b"], ["flag"])
        operands = [np.array(number, dtype_of(place)), place, value, last]
        if _kind(importer, node, value) == _kind(importer, node, last):
            choice = helper.make_node("Where", ["flag", "c", "d"], ["chosen"])
        else:
            branches = {"then_branch": _same("c"), "else_branch": _same("d")}
            choice = helper.make_node("If", ["flag"], ["chosen"], **branches)
        (last,) = _run(importer, node, [flag, choice], operands, ["chosen"])
    return last


def _same(name: str) -> onnx.GraphProto:
    """A branch that gives a value of the graph around it."""
    nodes = [helper.make_node("Identity", [name], ["same"])]
    return helper.make_graph(nodes, "same", [], [onnx.ValueInfoProto(name="same")])


def _run(
    importer: Importer,
    node: onnx.NodeProto,
    nodes: Sequence[onnx.NodeProto],
    operands: Sequence[Value],
    results: Sequence[str],
    names: Sequence[str] = "abcde",
) -> list[Value]:
    """Convert some nodes in place of one; they call the operands by ``names``."""
    graph = onnx.GraphProto(name=node.op_type)
    for inner in nodes:
        inner.name = f"{node.name or next(filter(None, node.output))}/{inner.op_type}"
        graph.node.append(inner)
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in results)
    body = Body(graph, tuple(names[: len(operands)]), {"": OPSET})
    found = importer.expanded(body, operands)
    return [found[name] for name in results]


def _shape(ctx: Context, value: Value) -> tuple[Any, ...]:
    shape = getattr(value, "shape", None) if not hasattr(value, "ty") else ctx.shape_or_none(value)
    if shape is None:
        raise ctx.unsupported(
            "the shape of an element is known only at run time",
            "fix the model's dims with --input-shapes",
        )
    return tuple(shape)
