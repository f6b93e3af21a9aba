"""Functions: nodes that stand for a graph of simpler ones, the model's own or by ONNX's definition.

An operator of the standard that neither `tvm_megcc.ops` nor TVM converts, but that ONNX defines as
a function of simpler ones, is replaced by that definition. A definition may depend on the types of
the operands, so it is made when the node is converted: then every type is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import onnx

from ..errors import InputError
from . import wellformed
from .graphs import all_nodes
from .load import sort
from .values import label


@dataclass(frozen=True, slots=True)
class Body:
    """The graph that replaces a node.

    Attributes
    ----------
    graph : onnx.GraphProto
        Its outputs are those that the node wants, in order.
    inputs : tuple of str
        The graph's names of the node's operands; "" for one that is left out.
    opsets : dict of str to int
        Versions of the domains of its nodes.
    """

    graph: onnx.GraphProto
    inputs: tuple[str, ...]
    opsets: dict[str, int]


class Functions:
    """The functions of a model, and those of the standard."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._opsets = {entry.domain: entry.version for entry in model.opset_import}
        self._own = {(f.domain, f.name, f.overload): f for f in model.functions}
        for function in model.functions:
            _check(function)
        self._check_calls()

    def own(self, node: onnx.NodeProto) -> Body | None:
        """The body of the model's function that a node calls, None for any other node."""
        function = self._own.get(_called(node))
        if function is None:
            return None
        for kind, given, takes in (
            ("inputs", node.input, function.input),
            ("outputs", node.output, function.output),
        ):
            if len(given) > len(takes):
                raise InputError(
                    f"{label(node)}: it has {len(given)} {kind}, and the function {function.name}"
                    f" has {len(takes)}; correct the node"
                )
        body = _body(function, node, {})
        # What the caller gives for an attribute is seen here for the first time.
        wellformed.check_nodes(body.graph, {**self._opsets, **body.opsets})
        return body

    def standard(
        self,
        node: onnx.NodeProto,
        opsets: Mapping[str, int],
        types: Callable[[], Sequence[onnx.TypeProto]],
    ) -> Body | None:
        """ONNX's definition of a node by other operators, None where there is none.

        ``types`` tells those of its operands, an empty one for an operand that is left out.
        """
        try:
            # onnx's stubs lack what a schema says of functions.
            schema: Any = onnx.defs.get_schema(
                node.op_type, opsets.get(node.domain, 1), node.domain
            )
        except onnx.defs.SchemaError:
            return None
        wanted = opsets.get("", 1)
        if schema.has_function:
            version = _newest(schema.function_opset_versions, wanted)
            data = schema.get_function_with_opset_version(version)
        elif schema.has_context_dependent_function:
            version = _newest(schema.context_dependent_function_opset_versions, wanted)
            given = [t.SerializeToString() for t in types()]
            try:
                data = schema.get_context_dependent_function_with_opset_version(
                    version, node.SerializeToString(), given
                )
            except Exception as err:  # of several kinds, where it cannot be made for these types
                reason = " ".join(str(err).split()).rstrip(".")
                raise InputError(
                    f"{label(node)}: ONNX has no definition for its operands and attributes"
                    f" ({reason}); correct the node"
                ) from err
        else:
            return None
        if not data:
            return None
        defaults = {
            name: attribute.default_value
            for name, attribute in schema.attributes.items()
            if attribute.default_value.name
        }
        return _body(onnx.FunctionProto.FromString(data), node, defaults)

    def _check_calls(self) -> None:
        """No function of the model may call itself, through whatever others."""
        done: set[tuple[str, str, str]] = set()

        def visit(key: tuple[str, str, str], callers: tuple[str, ...]) -> None:
            if key[1] in callers:
                raise InputError(
                    f"function '{key[1]}' of the model calls itself"
                    f" ({' -> '.join((*callers, key[1]))}); export the model without functions"
                )
            if key not in done:
                for node in all_nodes(self._own[key].node):
                    if _called(node) in self._own:
                        visit(_called(node), (*callers, key[1]))
                done.add(key)

        for key in self._own:
            visit(key, ())


def _called(node: onnx.NodeProto) -> tuple[str, str, str]:
    return node.domain, node.op_type, node.overload


def _newest(versions: Iterable[int], wanted: int) -> int:
    """The newest definition that a model of this opset may have; else the oldest one."""
    return max((v for v in versions if v <= wanted), default=min(versions))


def _check(function: onnx.FunctionProto) -> None:
    """Check that a function defines all names that it reads, and sort its nodes."""
    graph = onnx.GraphProto(name=function.name, node=function.node)
    graph.input.extend(onnx.ValueInfoProto(name=name) for name in function.input)
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in function.output)
    try:
        sort(graph)
    except InputError as err:
        raise InputError(f"function '{function.name}' of the model: {err}") from None
    del function.node[:]
    function.node.extend(graph.node)


def _body(
    function: onnx.FunctionProto,
    node: onnx.NodeProto,
    defaults: Mapping[str, onnx.AttributeProto],
) -> Body:
    """A function with a node's operands and attributes."""
    attributes = {**defaults}
    attributes |= {attr.name: attr for attr in function.attribute_proto}
    attributes |= {attr.name: attr for attr in node.attribute}
    inputs = [
        formal if k < len(node.input) and node.input[k] else ""
        for k, formal in enumerate(function.input)
    ]
    absent = set(function.input) - set(inputs)
    graph = onnx.GraphProto(name=function.name)
    caller = node.name or next(filter(None, node.output), "")
    for inner in function.node:
        made = graph.node.add()
        made.CopyFrom(inner)
        made.name = f"{caller}/{inner.name or inner.op_type}"
        _bind(made, attributes, absent)
    wanted = (formal for formal, name in zip(function.output, node.output, strict=False) if name)
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in wanted)
    opsets = {entry.domain: entry.version for entry in function.opset_import}
    return Body(graph, tuple(inputs), opsets)


def _bind(
    node: onnx.NodeProto, attributes: Mapping[str, onnx.AttributeProto], absent: set[str]
) -> None:
    """Give a node the attributes that it refers to, and leave out operands that are left out."""
    for k, name in enumerate(node.input):
        if name in absent:
            node.input[k] = ""
    own = list(node.attribute)
    del node.attribute[:]
    for attr in own:
        if attr.ref_attr_name:
            # Without a value and a default the node's own default holds.
            if attr.ref_attr_name in attributes:
                node.attribute.add().CopyFrom(attributes[attr.ref_attr_name])
                node.attribute[-1].name = attr.name
            continue
        node.attribute.add().CopyFrom(attr)
        bound = node.attribute[-1]
        for sub in [bound.g] if bound.HasField("g") else bound.graphs:
            for inner in sub.node:
                _bind(inner, attributes, absent)
