"""Sequences and optionals: lists of values whose length is known when the model is compiled.

They are values of the importer, and nothing of them is left in the module. A sequence at a port is
as many tensors as it has elements, ``x[0]``, ``x[1]`` and so on. An optional is its element, or
`ABSENT`; one that is an input of the model is always given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import onnx
from tvm import relax

from ..errors import InputError, UnsupportedError
from ..shapes.sizes import SizeArray
from .values import Array, label


@dataclass(frozen=True, slots=True)
class TensorList:
    """A sequence of as many values as are known when compiling."""

    items: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """A sequence of as many values as the run makes: some first ones, then rows of a tensor."""

    first: tuple[Any, ...]
    rows: Any


@dataclass(frozen=True, slots=True)
class Absent:
    """An optional without an element."""


ABSENT = Absent()

#: A value of the model: a known array, a variable, or a sequence or optional.
Value: TypeAlias = Array | SizeArray | relax.Expr | TensorList | Rows | Absent

#: The number of elements of a sequence, an absent optional, or None for a tensor.
Form = int | Absent | None


# ---- flat lists of values, for what knows tensors only -------------------------------------------


def flat(node: onnx.NodeProto, values: Iterable[Value]) -> tuple[list[Value], list[Form]]:
    """Flatten values to tensors in order, with the form of each value."""
    tensors: list[Value] = []
    forms: list[Form] = []
    for value in values:
        if isinstance(value, TensorList):
            tensors += value.items
            forms.append(len(value.items))
        elif isinstance(value, Absent):
            forms.append(value)
        elif isinstance(value, Rows):
            raise UnsupportedError(
                f"{label(node)}: a sequence whose length only the run shows enters or leaves its"
                " graph; join it with ConcatFromSequence before"
            )
        else:
            tensors.append(value)
            forms.append(None)
    return tensors, forms


def shaped(tensors: Iterable[Value], forms: Iterable[Form]) -> list[Value]:
    """Undo `flat`."""
    left = iter(tensors)
    values: list[Value] = []
    for form in forms:
        if isinstance(form, int):
            values.append(TensorList(tuple(next(left) for _ in range(form))))
        else:
            values.append(next(left) if form is None else form)
    return values


def tensor_count(form: Form) -> int:
    """Number of tensors of a value."""
    if isinstance(form, int):
        return form
    return int(form is None)


def words(form: Form) -> str:
    """A form as a message names it."""
    if isinstance(form, int):
        return f"a sequence of {form}"
    return "a tensor" if form is None else "nothing"


def refuse(node: onnx.NodeProto, values: Iterable[Value | None]) -> None:
    """Raise for a sequence or an absent optional where a node takes tensors."""
    for value, name in zip(values, node.input, strict=False):
        if isinstance(value, TensorList | Rows | Absent):
            what = "an optional without element" if isinstance(value, Absent) else "a sequence"
            raise InputError(f"{label(node)}: '{name}' is {what}; {node.op_type} takes tensors")


# ---- ports ---------------------------------------------------------------------------------------


def element_names(port: str, count: int) -> list[str]:
    """The names of a sequence's elements at a port."""
    return [f"{port}[{k}]" for k in range(count)]


def spread(graph: onnx.GraphProto, shapes: Mapping[str, Any]) -> dict[str, list[str]]:
    """Put tensors in place of the inputs that are sequences or optionals, in the graph.

    ``shapes`` has a row for each element, ``x[0]`` and so on. Returned is, for each input that is a
    sequence, the names of its elements.

    Raises
    ------
    UnsupportedError
        A sequence whose length nothing says, or whose elements are no tensors.
    """
    ports = list(graph.input)
    if all(port.type.WhichOneof("value") in (None, "tensor_type") for port in ports):
        return {}
    del graph.input[:]
    elements: dict[str, list[str]] = {}
    for port in ports:
        kind = port.type
        if kind.WhichOneof("value") == "optional_type":
            kind = kind.optional_type.elem_type
        if kind.WhichOneof("value") != "sequence_type":
            graph.input.add(name=port.name, type=kind)
            continue
        if kind.sequence_type.elem_type.WhichOneof("value") != "tensor_type":
            raise UnsupportedError(
                f"'{port.name}' is a sequence of what is no tensor; cut the model at its tensors"
            )
        elements[port.name] = names = _elements(port.name, shapes)
        for name in names:
            element = graph.input.add(name=name, type=kind.sequence_type.elem_type)
            # A name would say that the elements have one size.
            for dim in element.type.tensor_type.shape.dim:
                dim.ClearField("dim_param")
    return elements


def ports(port: onnx.ValueInfoProto, value: Value) -> list[tuple[str, Value]]:
    """The tensors of a model's output, with their names."""
    if isinstance(value, TensorList):
        names = element_names(port.name, len(value.items))
        return list(zip(names, value.items, strict=True))
    if isinstance(value, Rows):
        raise UnsupportedError(
            f"output '{port.name}' is a sequence and only the run shows how long it is; join it"
            " with ConcatFromSequence"
        )
    if isinstance(value, Absent):
        raise UnsupportedError(
            f"output '{port.name}' is an optional that never has an element; do without it"
        )
    return [(port.name, value)]


def _elements(port: str, shapes: Mapping[str, Any]) -> list[str]:
    given = {name for name in shapes if re.fullmatch(re.escape(port) + r"\[\d+\]", name)}
    names = element_names(port, len(given))
    if not given or given != set(names):
        raise UnsupportedError(
            f"'{port}' is a sequence and its length is not known; give the shape of every element"
            f" with --input-shapes, from '{port}[0]' on, or cut the model at its tensors"
        )
    return names
