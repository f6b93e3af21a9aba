"""Walk the graph once, in order: what is known is folded, the rest is converted to Relax.

Every value of the model is either *known* (an array: a weight, a constant, shape arithmetic on static
or symbolic dims) or a Relax variable, whose type carries its shape. `Shape` of a variable with static
dims is known even though the variable is not, so exporters' shape arithmetic vanishes here.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, MutableMapping
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import tvm
from onnx import numpy_helper
from tvm import relax

from .. import ops
from ..errors import MegccError, UnsupportedError
from ..ops import Context, Inputs
from ..ops._context import expr_dtype, relax_shape
from . import fold, stock, symbolic
from .dtypes import is_supported, short_dtype
from .load import node_reads
from .model import ImportedModel, InputInfo, OutputInfo

Array = npt.NDArray[Any]
#: A known value, or a variable.
Value = Array | relax.Expr
Scope = MutableMapping[str, Value]

#: Operators that pass their first operand on, in inference.
_TRANSPARENT = {"Identity", "Dropout"}
_TVM_DTYPES = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16",
               "bool": "bool", "i8": "int8", "u8": "uint8", "i16": "int16", "u16": "uint16",
               "i32": "int32", "u32": "uint32", "i64": "int64", "u64": "uint64"}  # fmt: skip


def import_graph(model: onnx.ModelProto, inputs: tuple[InputInfo, ...], name: str) -> ImportedModel:
    """Convert a loaded model whose inputs have been given shapes.

    Raises
    ------
    UnsupportedError
        Operators without a converter, all at once; or a node that cannot be converted.
    """
    importer = _Importer(model)
    params = importer.parameters(inputs)
    scope: Scope = dict(zip((port.name for port in inputs), params, strict=True))
    output_names = [port.name for port in model.graph.output]
    builder = importer.builder
    error: Exception | None = None
    with builder.function("main", params):
        with builder.dataflow():
            try:
                importer.run(model.graph, scope)
                importer.raise_missing()
                results = [importer.result(scope[n], params) for n in output_names]
            except Exception as err:  # raised below: a builder left open prints a warning
                error, results = err, [relax.Tuple([])]
        # The same variable may stand in the tuple several times, or be a parameter.
        builder.emit_func_output(results[0] if len(results) == 1 else relax.Tuple(results))
    if error is not None:
        raise error
    mod = relax.transform.CanonicalizeBindings()(builder.get())
    mod = relax.transform.DeadCodeElimination()(mod)
    return ImportedModel(mod, inputs, _output_infos(mod, output_names), name)


def _output_infos(mod: tvm.IRModule, names: list[str]) -> tuple[OutputInfo, ...]:
    returned = mod["main"].ret_ty
    types = returned.fields if isinstance(returned, relax.TupleType) else [returned]
    infos = []
    for name, ty in zip(names, types, strict=True):
        if not isinstance(ty, relax.TensorType):
            raise UnsupportedError(f"output '{name}' is no tensor; cut the model at its tensors")
        dims = relax_shape(relax.Var("_", ty))
        if dims is None:
            raise UnsupportedError(
                f"output '{name}': its shape is known only at run time; cut the model before it"
            )
        shape = tuple(d if isinstance(d, int) else str(d) for d in dims)
        infos.append(OutputInfo(name, short_dtype(str(ty.dtype)), shape))
    return tuple(infos)


class _Importer:
    """State of one import: the block under construction and what could not be converted."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.builder = relax.BlockBuilder()
        self.opsets = {entry.domain: entry.version for entry in model.opset_import}
        self.missing: list[str] = []
        self._constants: dict[int, tuple[Array, relax.Expr]] = {}

    def parameters(self, inputs: tuple[InputInfo, ...]) -> list[relax.Var]:
        """One variable per input; dims of one name are one symbolic dim."""
        dims: dict[str, tvm.tirx.Var] = {}
        params = []
        for port in inputs:
            shape = [
                dims.setdefault(d, tvm.tirx.Var(d, "int64")) if isinstance(d, str) else d
                for d in port.shape
            ]
            ty = relax.TensorType(shape, _TVM_DTYPES[port.dtype])
            params.append(relax.Var(_identifier(port.name), ty))
        return params

    def run(self, graph: onnx.GraphProto, scope: Scope) -> None:
        """Convert the nodes of a graph that its outputs need; results go into ``scope``."""
        for tensor in graph.initializer:
            scope[tensor.name] = numpy_helper.to_array(tensor)
        for sparse in graph.sparse_initializer:
            scope[sparse.values.name] = _dense(sparse)
        for node in _needed(graph):
            if any(name not in scope for name in node_reads(node)):
                self._note_if_missing(node)
                continue
            for name, value in self._node(node, scope).items():
                scope[name] = value

    def raise_missing(self) -> None:
        """Report every operator that nothing converts in one error."""
        if self.missing:
            raise UnsupportedError(
                "no converter for "
                + "; ".join(self.missing)
                + ": add one under tvm_megcc/ops (docs/adding-an-op.md) or export without them"
            )

    def result(self, value: Value, params: list[relax.Var]) -> relax.Expr:
        """A value as the function returns it: a parameter, a constant or an output of the block."""
        expr = self._expr(value)
        if any(expr.same_as(param) for param in params) or not isinstance(expr, relax.Var):
            return expr
        return self.builder.emit_output(expr)

    def _node(self, node: onnx.NodeProto, scope: Scope) -> Mapping[str, Value]:
        values = [scope[name] if name else None for name in node.input]
        if node.op_type in _TRANSPARENT and not node.domain and not any(node.output[1:]):
            assert values[0] is not None
            return {node.output[0]: values[0]}
        known = self._known(node, values)
        if known is not None:
            return {n: v for n, v in zip(node.output, known, strict=False) if n}
        if node.op_type == "If" and not node.domain:
            return self._if(node, values[0], scope)
        return self._convert(node, values)

    def _known(self, node: onnx.NodeProto, values: list[Value | None]) -> list[Array] | None:
        """The node's results where they follow from known values and static types alone."""
        if node.op_type in ("Shape", "Size") and not node.domain:
            return _shape_of(node, values[0])
        if any(isinstance(v, relax.Expr) for v in values):
            return None
        if any(isinstance(v, np.ndarray) and v.dtype == object for v in values):
            result = symbolic.evaluate(node.op_type, values, _attributes(node))
            return None if result is None else [result]
        return fold.fold(node, values, self.opsets)

    def _if(
        self, node: onnx.NodeProto, condition: Value | None, scope: Scope
    ) -> Mapping[str, Value]:
        """Convert the branch that is taken in place of the node."""
        attrs = _attributes(node)
        if not isinstance(condition, np.ndarray) or condition.dtype == object:
            raise UnsupportedError(
                f"{_label(node)}: its condition is computed at run time; "
                "fix the model's dims with --input-shapes, or cut the model into its branches"
            )
        branch = attrs["then_branch" if bool(condition.reshape(-1)[0]) else "else_branch"]
        inner: Scope = ChainMap({}, scope)  # type: ignore[arg-type]
        self.run(branch, inner)
        names = [port.name for port in branch.output]
        return {
            outer: inner[name]
            for outer, name in zip(node.output, names, strict=True)
            if outer and name in inner
        }

    def _convert(self, node: onnx.NodeProto, values: list[Value | None]) -> Mapping[str, Value]:
        ctx = Context(
            self.builder,
            self.opsets.get(node.domain, 1),
            node.op_type,
            _label(node),
            tuple(node.output),
        )
        inputs = Inputs(ctx, values, lambda i: self._expr(values[i]))
        own = ops.find(node.domain, node.op_type)
        try:
            if own is not None:
                results = own.convert(ctx, inputs, _attributes(node))
            elif stock.has(node.domain, node.op_type):
                results = stock.convert(ctx, node, inputs)
            else:
                self._note_if_missing(node)
                return {}
            return self._bind(node, results)
        except MegccError:
            raise
        except Exception as err:  # TVM raises many kinds
            reason = " ".join(str(err).split())[:300] or type(err).__name__
            raise UnsupportedError(
                f"{_label(node)}: cannot be converted ({reason}); "
                f"add {node.op_type.lower()}.py under tvm_megcc/ops or change the model"
            ) from err

    def _bind(self, node: onnx.NodeProto, results: Any) -> Mapping[str, Value]:
        """Give every output of a node a variable of its own."""
        if isinstance(results, relax.Expr) and not isinstance(results, relax.Tuple):
            results = self.builder.normalize(results)
            if isinstance(results.ty, relax.TupleType):
                bound = self.builder.emit(results)
                results = [relax.TupleGetItem(bound, i) for i in range(len(results.ty.fields))]
            else:
                results = [results]
        items: list[relax.Expr] = list(results)
        wanted = {i: name for i, name in enumerate(node.output) if name}
        if wanted and max(wanted) >= len(items):
            raise UnsupportedError(
                f"{_label(node)}: its output {len(items)} has no conversion; do without that output"
            )
        return {name: self._emit(items[i], name) for i, name in wanted.items()}

    def _emit(self, expr: relax.Expr, name: str) -> Value:
        if isinstance(expr, relax.Var):
            return expr
        if isinstance(expr, tvm.ir.GenericConst):
            array: Array = expr.data.numpy() if hasattr(expr, "data") else expr.value.numpy()
            return array
        var = self.builder.emit(expr, _identifier(name))
        if isinstance(var.ty, relax.ShapeType):
            return symbolic.dims_array(var.ty.values)
        if isinstance(var.ty, relax.TensorType) and not is_supported(expr_dtype(var)):
            raise UnsupportedError(
                f"'{name}' is a tensor of {var.ty.dtype}, which no kernel can hold; "
                "move that part of the model into the application"
            )
        return var

    def _expr(self, value: Value | None) -> relax.Expr:
        if not isinstance(value, np.ndarray):
            return value
        if value.dtype == object:
            dims = relax.op.shape_to_tensor(relax.ShapeExpr(list(value.reshape(-1))))
            return self.builder.emit(relax.op.reshape(self.builder.emit(dims), value.shape))
        if id(value) not in self._constants:
            # Without the dtype, relax.const makes an int32 of a rank-0 int64.
            constant = relax.const(
                np.ascontiguousarray(value).reshape(value.shape), str(value.dtype)
            )
            # The array is kept, so that its id stays its own.
            self._constants[id(value)] = (value, constant)
        return self._constants[id(value)][1]

    def _note_if_missing(self, node: onnx.NodeProto) -> None:
        if node.op_type in ("If", *_TRANSPARENT) and not node.domain:
            return
        if not ops.find(node.domain, node.op_type) and not stock.has(node.domain, node.op_type):
            domain = node.domain or "ai.onnx"
            self.missing.append(f"{_label(node)} (operator {domain}::{node.op_type})")


def _needed(graph: onnx.GraphProto) -> list[onnx.NodeProto]:
    """Nodes that an output depends on, in order."""
    live = {port.name for port in graph.output}
    kept = []
    for node in reversed(graph.node):
        if live.intersection(node.output):
            live |= node_reads(node)
            kept.append(node)
    return kept[::-1]


def _shape_of(node: onnx.NodeProto, value: Value | None) -> list[Array] | None:
    if isinstance(value, np.ndarray):
        dims: tuple[Any, ...] | None = value.shape
    else:
        dims = relax_shape(value)
    if dims is None:
        return None
    if node.op_type == "Size":
        size: Any = 1
        for dim in dims:
            size = dim * size
        return [symbolic.dims_array([size]).reshape(())]
    attrs = _attributes(node)
    return [symbolic.dims_array(dims[attrs.get("start", 0) : attrs.get("end", len(dims))])]


def _attributes(node: onnx.NodeProto) -> dict[str, Any]:
    attrs = {}
    for attr in node.attribute:
        value = onnx.helper.get_attribute_value(attr)
        if isinstance(value, bytes):
            value = value.decode()
        elif isinstance(value, list) and value and isinstance(value[0], bytes):
            value = [item.decode() for item in value]
        elif isinstance(value, list):
            value = list(value)
        elif isinstance(value, onnx.TensorProto):
            value = numpy_helper.to_array(value)
        attrs[attr.name] = value
    return attrs


def _dense(sparse: onnx.SparseTensorProto) -> Array:
    values = numpy_helper.to_array(sparse.values)
    indices = numpy_helper.to_array(sparse.indices)
    dense = np.zeros(tuple(sparse.dims), dtype=values.dtype)
    if indices.ndim == 1:
        dense.reshape(-1)[indices] = values
    else:
        dense[tuple(indices.T)] = values
    return dense


def _label(node: onnx.NodeProto) -> str:
    return f"{node.op_type} '{node.name or next(iter(node.output), '')}'"


def _identifier(name: str) -> str:
    """A name that Relax prints as it is."""
    text = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
    return text if text[:1].isalpha() else f"v_{text}"
