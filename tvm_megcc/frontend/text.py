"""Refuse names that are not UTF-8: protobuf gives bytes for them, which nothing reads.

Enters: a ``ModelProto`` as it was read. Leaves: nothing, or an `InputError` for the first string
that is none. Strings that the importer never reads, such as documentation, may be anything.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import onnx

from tvm_megcc.core.model_file import REMEDY

from ..errors import InputError

__all__ = ["REMEDY", "check"]

_UNREAD = {
    "doc_string", "producer_name", "producer_version", "metadata_props", "denotation",
    "training_info", "quantization_annotation", "configuration", "device_configurations",
}  # fmt: skip
#: What messages call the parts of a model whose names in ONNX's format are other words.
_WORDS = {
    "op_type": "operator",
    "dim_param": "name",
    "ValueInfo": "value",
    "OperatorSetId": "opset",
    "Dimension": "dim",
    "StringStringEntry": "entry",
    "SparseTensor": "tensor",
}


def check(proto: onnx.ModelProto, what: str) -> None:
    """Raise an `InputError` for the first name that is no text; `what` is what it calls the model.

    Example
    -------
    >>> model = onnx.ModelProto()
    >>> model.graph.node.add(op_type="Relu", name="r")  # doctest: +ELLIPSIS
    op_type: "Relu"...
    >>> check(model, "'m.onnx'")
    """
    waiting: list[Any] = [proto]
    while waiting:
        message = waiting.pop()
        texts, parts = _fields(message.DESCRIPTOR)
        for name in texts:
            value = getattr(message, name)
            for text in [value] if isinstance(value, str | bytes) else value:
                if isinstance(text, bytes):
                    raise InputError(
                        f"{what}: {_called(message, name)} is {text!r}, which is no text; {REMEDY}"
                    )
        for name in parts:
            value = getattr(message, name)
            if hasattr(value, "__len__"):
                waiting.extend(value)
            elif message.HasField(name):
                waiting.append(value)


def _called(message: Any, field: str) -> str:
    kind = message.DESCRIPTOR.name.removesuffix("Proto")
    kind = _WORDS.get(kind, kind.lower())
    return f"the {_WORDS.get(field, field)} of {'an' if kind[0] in 'aeiou' else 'a'} {kind}"


@cache
def _fields(descriptor: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The fields of a message that are strings, and those that are messages."""
    fields = [f for f in descriptor.fields if f.name not in _UNREAD]
    texts = tuple(f.name for f in fields if f.type == f.TYPE_STRING)
    return texts, tuple(f.name for f in fields if f.message_type is not None)
