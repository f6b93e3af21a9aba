"""Check what a model declares of itself, before anything is allocated for it.

Enters: a ``ModelProto`` as it was read. Leaves: nothing, or an `InputError`: a tensor whose dims do
not fit its data, an element type that ONNX does not have, a node that is not as its operator's
schema says, a body with other ports than its node, a name that two ports have. Nothing is allocated
for what a file claims.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

import onnx
from onnx import helper

from tvm_megcc.core.dtypes import nbytes, of_onnx

from ..errors import InputError
from . import mapped
from .graphs import all_nodes, bodies, graphs
from .text import REMEDY
from .values import label
from .words import check_words

#: A sparse tensor is made dense; one of more elements than these is a claim.
MOST_DENSE = 1 << 26

#: Attributes whose numbers are sizes of a window, which has no size 0.
_WINDOW = ("kernel_shape", "strides", "dilations")
#: Attributes whose numbers are how much there is around an image.
_AROUND = ("pads", "output_padding")
#: Attributes that are one number, and the least that it may be. Sizes are not 0; for fewer common
#: axes than none onnx's inference reads outside of the dims.
_LEAST = {"batch_dims": 0, "blocksize": 1, "hidden_size": 1, "size": 1}

#: Attributes whose numbers are data, or limits that may be beyond everything.
_DATA = frozenset(
    """
    cats_int64s classlabels_int64s classlabels_ints default_int64 end ends ignore_index
    imputed_value_int64s k keys_int64s left_window_size max_gram_length max_skip_count pool_int64s
    replaced_value_int64 right_window_size sample_size shape split start starts value_int value_ints
    values_int64s
""".split()
)

_AttributeType = onnx.AttributeProto.AttributeType


def check(proto: onnx.ModelProto) -> None:
    """Raise an `InputError` for the first thing in a model that is not as it says."""
    opsets = _opsets(proto.opset_import)
    for function in proto.functions:
        own = {**opsets, **_opsets(function.opset_import)}
        for node in all_nodes(function.node):
            _check_node(node, own)
    for graph in graphs(proto.graph):
        _check_names(graph)
        for tensor in graph.initializer:
            if not tensor.name:
                raise InputError(f"graph '{graph.name}': a weight has no name; {REMEDY}")
            check_tensor(tensor, f"weight '{tensor.name}'")
        for sparse in graph.sparse_initializer:
            check_sparse(sparse, f"weight '{sparse.values.name}'")
        for node in graph.node:
            _check_bound(node)
            _check_node(node, opsets)
            for body in bodies(node):
                _check_given(body)


def check_nodes(graph: onnx.GraphProto, opsets: Mapping[str, int]) -> None:
    """Raise an `InputError` for the first node of a graph that is not as it says."""
    for node in all_nodes(graph.node):
        _check_node(node, opsets)


def _opsets(entries: Iterable[onnx.OperatorSetIdProto]) -> dict[str, int]:
    """The version of each domain, each one that there can be."""
    found = {}
    for entry in entries:
        domain = "" if entry.domain == "ai.onnx" else entry.domain
        if not (0 if domain else 1) <= entry.version < 1 << 31:
            raise InputError(
                f"opset '{domain or 'ai.onnx'}' is of version {entry.version}; {REMEDY}"
            )
        found[domain] = entry.version
    return found


def type_name(elem_type: int) -> str:
    """ONNX's name of an element type, or its number where it has none."""
    if elem_type in onnx.TensorProto.DataType.values():
        return str(onnx.TensorProto.DataType.Name(elem_type)).lower()
    return f"the unknown type {elem_type}"


# ---- tensors -----------------------------------------------------------------------------------


def check_tensor(tensor: onnx.TensorProto, what: str) -> None:
    """Check that a tensor's dims fit its data."""
    if tensor.data_type not in onnx.TensorProto.DataType.values() or not tensor.data_type:
        raise InputError(f"{what}: it is of {type_name(tensor.data_type)}; {REMEDY}")
    try:
        if mapped.place_of(tensor) is None:
            onnx.checker.check_tensor(tensor)
    except onnx.checker.ValidationError as err:
        said = " ".join(str(err).split()).rstrip(".")[:200]
        raise InputError(f"{what}: {said}; the file may be damaged, {REMEDY}") from None
    count, stored = prod(tensor.dims), _stored(tensor)
    if stored is not None and stored != count:
        raise InputError(
            f"{what}: its dims {list(tensor.dims)} make {count} elements and its data has {stored};"
            f" the file may be damaged, {REMEDY}"
        )


def _stored(tensor: onnx.TensorProto) -> float | None:
    """How many elements a tensor's data has, None where that is not plain to see."""
    kind = tensor.data_type
    row = of_onnx(kind)
    where = mapped.place_of(tensor)
    length = len(tensor.raw_data) if where is None else where.length
    has_raw = where is not None or tensor.HasField("raw_data")
    if row is not None and row.is_packed:
        # The last byte need not be full.
        fits = not has_raw or length == nbytes(row.name, prod(tensor.dims))
        return None if fits else length * 8 // row.bits
    if kind in (tensor.COMPLEX64, tensor.COMPLEX128):
        return None
    if kind == tensor.STRING:
        return len(tensor.string_data)
    if has_raw:
        size = helper.tensor_dtype_to_np_dtype(kind).itemsize
        whole, rest = divmod(length, size)
        return whole + rest / size if rest else whole
    return len(getattr(tensor, helper.tensor_dtype_to_field(kind)))


def check_sparse(sparse: onnx.SparseTensorProto, what: str) -> None:
    """Check that a sparse tensor's indices lie in its dims, and that it can be made dense."""
    dims, values, indices = list(sparse.dims), sparse.values, sparse.indices
    check_tensor(values, what)
    check_tensor(indices, f"{what}, its indices")
    if any(d < 0 for d in dims) or prod(dims) > MOST_DENSE:
        raise InputError(
            f"{what}: it is sparse with dims {dims}; it can have {MOST_DENSE} elements at most, "
            "store it as a dense tensor"
        )
    count = prod(values.dims)
    if indices.data_type != indices.INT64 or list(indices.dims) not in (
        [count],
        [count, len(dims)],
    ):
        raise InputError(
            f"{what}: it is sparse with {count} values, and its indices are "
            f"{type_name(indices.data_type)} of dims {list(indices.dims)}; {REMEDY}"
        )
    array = mapped.to_array(indices)
    ends = [prod(dims)] if array.ndim == 1 else dims
    if array.size and ((array < 0) | (array.reshape(count, -1) >= ends)).any():
        raise InputError(
            f"{what}: it is sparse and an index lies outside its dims {dims}; {REMEDY}"
        )


# ---- names -------------------------------------------------------------------------------------


def _check_names(graph: onnx.GraphProto) -> None:
    weights = [w.name for w in graph.initializer]
    weights += [w.values.name for w in graph.sparse_initializer]
    _check_once("input", (p.name for p in graph.input))
    _check_once("weight", weights)


def _check_given(body: onnx.GraphProto) -> None:
    """Check that no input of a body is also a weight of it."""
    for port in body.input:
        if any(weight.name == port.name for weight in body.initializer):
            raise InputError(
                f"graph '{body.name}': '{port.name}' is an input and a weight of it; {REMEDY}"
            )


def _check_once(kind: str, names: Iterable[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise InputError(f"{kind} '{name}' is there {count} times; {REMEDY}")


# ---- nodes -------------------------------------------------------------------------------------


def _check_node(node: onnx.NodeProto, opsets: Mapping[str, int]) -> None:
    domain = "" if node.domain == "ai.onnx" else node.domain
    given = {a.name: a for a in node.attribute}
    for attr in node.attribute:
        if not attr.type and not attr.ref_attr_name:
            raise InputError(f"{label(node)}: its attribute '{attr.name}' has no type; {REMEDY}")
        if attr.type == attr.TENSOR:
            check_tensor(attr.t, f"{label(node)}, its {attr.name}")
        if attr.type == attr.SPARSE_TENSOR:
            check_sparse(attr.sparse_tensor, f"{label(node)}, its {attr.name}")
        if attr.name not in _DATA and domain in ("", "ai.onnx.ml", "com.microsoft"):
            _check_width(node, attr)
    check_words(node, domain)
    if domain == "com.microsoft":  # which has no schemas here
        _check_window(node, given)
    try:
        schema = onnx.defs.get_schema(node.op_type, opsets.get(domain, 1), domain)
    except onnx.defs.SchemaError:
        return
    if not schema.deprecated:
        _check_schema(node, given, schema)
    if domain:
        return
    _check_window(node, given)
    if node.op_type in _BODIES:
        _BODIES[node.op_type](node, given)


def _check_bound(node: onnx.NodeProto) -> None:
    """Refuse a reference to a function's attribute outside of a function."""
    for attr in node.attribute:
        if attr.ref_attr_name:
            raise InputError(
                f"{label(node)}: its attribute '{attr.name}' is one of a function, in which it does"
                f" not stand; {REMEDY}"
            )


def _check_schema(
    node: onnx.NodeProto, given: Mapping[str, onnx.AttributeProto], schema: onnx.defs.OpSchema
) -> None:
    """Check numbers of inputs and outputs, and types of attributes."""
    for kind, count, low, high in (
        ("inputs", len(node.input), schema.min_input, schema.max_input),
        ("outputs", len(node.output), schema.min_output, schema.max_output),
    ):
        if not low <= count <= high:
            takes = f"{low}" if low == high else f"{low} to {high}"
            raise InputError(f"{label(node)}: it has {count} {kind} and takes {takes}; {REMEDY}")
    for number, name in enumerate(node.input):
        port = schema.inputs[min(number, len(schema.inputs) - 1)]
        if not name and port.option != port.option.Optional:
            raise InputError(f"{label(node)}: its operand {number} is missing; {REMEDY}")
    for name, said in schema.attributes.items():
        attr = given.get(name)
        if attr is None and said.required:
            raise InputError(f"{label(node)}: its attribute '{name}' is missing; {REMEDY}")
        typed: Any = said.type  # onnx's stubs do not say that it is an enum
        if attr is not None and attr.type and attr.type != int(typed.value):
            found, wanted = (_AttributeType.Name(int(t)) for t in (attr.type, typed.value))
            raise InputError(
                f"{label(node)}: its attribute '{name}' is {found} and must be {wanted}; {REMEDY}"
            )


def _check_width(node: onnx.NodeProto, attr: onnx.AttributeProto) -> None:
    """Refuse integers beyond 32 bits, which ONNX's own code cuts."""
    numbers = [attr.i] if attr.type == attr.INT else attr.ints
    for number in numbers:
        if not -(1 << 31) <= number < 1 << 31:
            raise InputError(f"{label(node)}: its {attr.name} of {number} is too large; {REMEDY}")


def _check_window(node: onnx.NodeProto, given: Mapping[str, onnx.AttributeProto]) -> None:
    """A window of size 0 has no elements; kernel, strides, dilations, pads have as many axes.

    Only Pad crops: what is below 0 in the pads of a window is an error by ONNX's inference.
    """
    for name, least in _LEAST.items():
        attr = given.get(name)
        if attr is not None and attr.type == attr.INT and attr.i < least:
            raise InputError(f"{label(node)}: {name}={attr.i} must be at least {least}; {REMEDY}")
    for name in _AROUND if node.op_type != "Pad" else ():
        widths = given[name].ints if name in given else []
        if any(width < 0 for width in widths):
            raise InputError(f"{label(node)}: {name}={list(widths)} must be at least 0; {REMEDY}")
    axes: dict[str, float] = {}
    for name in _WINDOW:
        attr = given.get(name)
        if attr is None or attr.type != attr.INTS:
            continue
        if any(size < 1 for size in attr.ints):
            raise InputError(
                f"{label(node)}: {name}={list(attr.ints)} must be at least 1; {REMEDY}"
            )
        axes[name] = len(attr.ints)
    if "kernel_shape" in axes and "pads" in given:
        axes["pads"] = len(given["pads"].ints) / 2
    if len(set(axes.values())) > 1:
        said = ", ".join(f"{name}={list(given[name].ints)}" for name in axes)
        raise InputError(f"{label(node)}: {said} are of different numbers of axes; {REMEDY}")


# ---- bodies ------------------------------------------------------------------------------------


def _check_ports(node: onnx.NodeProto, body: str, kind: str, found: int, wanted: int) -> None:
    if found != wanted:
        raise InputError(
            f"{label(node)}: its graph '{body}' has {found} {kind} where its node wants {wanted};"
            f" {REMEDY}"
        )


def _check_if(node: onnx.NodeProto, given: Mapping[str, onnx.AttributeProto]) -> None:
    for name in ("then_branch", "else_branch"):
        branch = given[name].g
        _check_ports(node, name, "inputs", len(branch.input), 0)
        _check_ports(node, name, "outputs", len(branch.output), len(node.output))


def _check_loop(node: onnx.NodeProto, given: Mapping[str, onnx.AttributeProto]) -> None:
    body = given["body"].g
    _check_ports(node, "body", "inputs", len(body.input), max(len(node.input), 2))
    # Its first output is the condition; trailing outputs of the node may be left out.
    if len(body.output) - 1 < max(len(node.output), len(node.input) - 2):
        _check_ports(node, "body", "outputs", len(body.output), 1 + len(node.output))


def _check_scan(node: onnx.NodeProto, given: Mapping[str, onnx.AttributeProto]) -> None:
    body, rows = given["body"].g, given["num_scan_inputs"].i
    if not 1 <= rows <= len(node.input):
        raise InputError(
            f"{label(node)}: num_scan_inputs={rows} of its {len(node.input)} inputs; {REMEDY}"
        )
    # Scan of opset 8 has the lengths of its sequences in front, perhaps as an empty name.
    if len(body.input) != len(node.input) - 1:
        _check_ports(node, "body", "inputs", len(body.input), len(node.input))
    states = len(body.input) - rows
    if len(body.output) < max(len(node.output), states):
        wanted = max(len(node.output), states)
        _check_ports(node, "body", "outputs", len(body.output), wanted)
    for name, wanted in (
        ("directions", rows),
        ("scan_input_axes", rows),
        ("scan_input_directions", rows),
        ("scan_output_axes", len(body.output) - states),
        ("scan_output_directions", len(body.output) - states),
    ):
        found = list(given[name].ints) if name in given else []
        if found and len(found) != wanted:
            raise InputError(
                f"{label(node)}: its {name} are {found} and must be {wanted}, one for each tensor"
                f" that it counts by rows; {REMEDY}"
            )
        if "directions" in name and not {0, 1}.issuperset(found):
            raise InputError(f"{label(node)}: its {name} are {found}, not 0 or 1; {REMEDY}")


def _check_map(node: onnx.NodeProto, given: Mapping[str, onnx.AttributeProto]) -> None:
    body = given["body"].g
    _check_ports(node, "body", "inputs", len(body.input), len(node.input))
    if len(body.output) < len(node.output):
        _check_ports(node, "body", "outputs", len(body.output), len(node.output))


_BODIES = {"If": _check_if, "Loop": _check_loop, "Scan": _check_scan, "SequenceMap": _check_map}
