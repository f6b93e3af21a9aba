"""Caches of a language model that can be states: runs append to them, nothing is copied.

Enters: an ONNX model. Leaves: its pairs of past and present, as `CompileOptions.states` has them.

Example
-------
>>> cache_states("model.onnx")                                           # doctest: +SKIP
('past_key_values.0.key=present.0.key', 'past_key_values.0.value=present.0.value')
"""

from __future__ import annotations

import os

import onnx
from onnx import TensorProto

from ..ops.com_microsoft.groupqueryattention import appends
from .capacity import concatenated_pairs
from .load import load
from .values import tensor_type

#: Places of past and present among the operands and results of GroupQueryAttention.
_PLACES = ((3, 1), (4, 2))


def cache_states(model: str | os.PathLike[str] | onnx.ModelProto) -> tuple[str, ...]:
    """``IN=OUT`` for each cache of which attention reads the filled rows alone.

    That is GroupQueryAttention, and attention behind a Concat in which it is recognised. Caches of
    other operators become longer with each run, or would be read whole.
    """
    proto, _ = load(model, keep_data=False)
    graph, kinds = proto.graph, (TensorProto.FLOAT, TensorProto.FLOAT16)
    floats = {p.name for p in graph.input if tensor_type(p.type).elem_type in kinds}
    outputs = {port.name for port in graph.output}
    found = []
    for node in graph.node:
        if (node.op_type, node.domain) != ("GroupQueryAttention", "com.microsoft"):
            continue
        given = {k for k, name in enumerate(node.input) if name}
        if not appends(given):
            continue
        for past, present in _PLACES:
            pair = node.input[past], node.output[present] if len(node.output) > present else ""
            if pair[0] in floats and pair[1] in outputs:
                found.append("=".join(pair))
    pairs = concatenated_pairs(proto)
    if set(pairs.values()) <= floats:
        found += [f"{past}={present}" for present, past in pairs.items()]
    return tuple(found)
