"""Inline functions: the model's own, and those operators that ONNX defines by others.

An operator of the standard that neither `tvm_megcc.ops` nor TVM converts, but that ONNX defines as
a function of simpler ones, is replaced by that definition.
"""

from __future__ import annotations

from collections.abc import Iterator

import onnx
import onnx.inliner

from .. import ops
from ..errors import InputError
from ..ops import _stock


def inline_functions(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without calls of functions; the same object when there are none."""
    if model.functions:
        model = _inline(model)
    tried: set[tuple[str, str]] = set()
    # The body of one may hold others.
    while definable := sorted(_defined(model) - tried):
        tried.update(definable)
        # Bodies that depend on the operands' types need them annotated.
        model = onnx.shape_inference.infer_shapes(model)
        for operator in definable:
            try:
                model = onnx.inliner.inline_selected_functions(
                    model, [operator], exclude=False, inline_schema_functions=True
                )
            except RuntimeError:
                # It needs a type nobody could infer: the importer will report the node.
                continue
    return model


def _inline(model: onnx.ModelProto) -> onnx.ModelProto:
    try:
        return onnx.inliner.inline_local_functions(model, convert_version=True)
    except Exception as err:  # the inliner raises plain RuntimeErrors, of several kinds
        names = ", ".join(f"'{f.name}'" for f in model.functions)
        raise InputError(
            f"the model's functions {names} cannot be inlined ({' '.join(str(err).split())}); "
            "export the model without functions"
        ) from err


def _defined(model: onnx.ModelProto) -> set[tuple[str, str]]:
    """Operators that have to be, and can be, replaced by their definition."""
    versions = {entry.domain: entry.version for entry in model.opset_import}
    found = set()
    for node in _all_nodes(model.graph):
        if ops.find(node.domain, node.op_type) or _stock.has(node.domain, node.op_type):
            continue
        if node.domain not in versions:
            continue
        try:
            schema = onnx.defs.get_schema(node.op_type, versions[node.domain], node.domain)
        except onnx.defs.SchemaError:
            continue
        if schema.has_function or schema.has_context_dependent_function:
            found.add((node.domain, node.op_type))
    return found


def _all_nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for attr in node.attribute:
            for sub in [attr.g] if attr.HasField("g") else attr.graphs:
                yield from _all_nodes(sub)
