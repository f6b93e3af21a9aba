"""The import loop: node by node, what is known is folded, the rest converted to Relax.

Every value of the model is either *known* (an array: a weight, a constant, shape arithmetic on
static or symbolic dims) or a Relax variable, whose type carries its shape. `Shape` of a variable
with static dims is known even though the variable is not, so exporters' shape arithmetic vanishes
here.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import onnx
import tvm
from tvm import relax

from tvm_megcc.core.dtypes import DType, of_numpy
from tvm_megcc.relax_tools.shape_exprs import sizes_of

from .. import ops
from ..dims import Size, Undecided, written
from ..errors import MegccError, UnsupportedError
from ..ops import Context, Inputs
from ..ops.common import stock
from ..ops.common.context import expr_dtype
from ..ops.common.defined import rule_of
from ..ops.common.stock import OfShape
from ..ops.common.stored import restored
from ..ops.refused import REFUSED
from ..shapes.arithmetic import dims_array
from ..shapes.axes import NoAxis
from ..shapes.broadcast import LONG, named
from ..shapes.constraints import mismatch, require, unify
from ..shapes.sizes import SizeArray
from . import (
    fold,
    function_nodes,
    kept_quantised,
    mapped,
    ranks,
    sequence_nodes,
    sequences,
    subgraphs,
    symbolic,
)
from .graphs import node_reads
from .reasons import reason
from .rules import breaks_a_rule, refuse_types
from .sequences import Value
from .state import Importer, Scope
from .values import (
    Array,
    attributes,
    dense,
    empty,
    fits,
    identifier,
    is_empty,
    label,
    refuse_unheld,
    wide,
)


def _holds_floats(value: Value | None) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind == "f"
    return isinstance(value, relax.Var) and "float" in expr_dtype(value)


class Walk(Importer):
    """The nodes of a model, one after another."""

    def run(self, graph: onnx.GraphProto, scope: Scope) -> None:
        """Convert the nodes of a graph that its outputs need; results go into ``scope``."""
        for tensor in graph.initializer:
            scope[tensor.name] = wide(mapped.to_array(tensor))
        for sparse in graph.sparse_initializer:
            scope[sparse.values.name] = wide(dense(sparse))
        outside = self.weights, self.ranks
        self.weights, self.ranks = kept_quantised.kept(graph), ranks.said(graph)
        for node in _needed(graph):
            if any(name not in scope for name in node_reads(node)):
                self._note_if_missing(node)
                continue
            values = [scope[name] if name else None for name in node.input]
            with self._named(node, values):
                results = self._node(node, values, scope)
            for name, value in results.items():
                scope[name] = value
                if isinstance(value, relax.Var):
                    self._note(value, name)
        self.weights, self.ranks = outside

    def _note(self, value: relax.Var, name: str) -> None:
        """Note which value of the model a variable holds; values of functions have none."""
        if self.in_function is not None:
            self.in_function.add(value.name)
            return
        self.computed.add(name)
        if self.names.get(value.name) != name or value.name in self.of_functions:
            self.aliases.setdefault(value.name, set()).add(name)

    def _node(
        self, node: onnx.NodeProto, values: list[Value | None], scope: Scope
    ) -> Mapping[str, Value]:
        if node.op_type == "Identity" and not node.domain:
            assert values[0] is not None
            return {node.output[0]: values[0]}
        called = self.definitions.own(node)
        if called is not None:
            return self._called(node, called, values)
        if node.op_type in sequence_nodes.NAMES and not node.domain:
            refuse_types(node, [self._kind(v) for v in values], self.opsets)
            results = sequence_nodes.convert(self, node, values, scope)
            return {n: v for n, v in zip(node.output, results, strict=False) if n}
        if node.op_type not in subgraphs.CONVERTERS:
            sequences.refuse(node, values)
        known = self._known(node, values)
        if known is not None:
            pairs = zip(node.output, known, strict=False)
            return {n: v if isinstance(v, SizeArray) else wide(v) for n, v in pairs if n}
        for number, value in enumerate(values):
            refuse_unheld(f"{label(node)}: its operand {number}", value)
        refuse_types(node, [self._kind(v) for v in values], self.opsets)
        control = subgraphs.CONVERTERS.get(node.op_type) if not node.domain else None
        if control is not None:
            results = control(self, node, values, scope)
            return {n: v for n, v in zip(node.output, results, strict=False) if n}
        if not _has_converter(node):
            definition = self.definitions.standard(
                node, self.opsets, lambda: [self.type_of_value(value) for value in values]
            )
            if definition is not None:
                return self._called(node, definition, values)
        return self._convert(node, values)

    def _kind(self, value: Value | None) -> onnx.TypeProto:
        """ONNX's type of a tensor, an empty one of anything else."""
        is_tensor = isinstance(value, np.ndarray | SizeArray) or (
            isinstance(value, relax.Expr) and isinstance(value.ty, relax.TensorType)
        )
        return self.type_of_value(value) if is_tensor else onnx.TypeProto()

    def _called(
        self, node: onnx.NodeProto, body: function_nodes.Body, values: list[Value | None]
    ) -> Mapping[str, Value]:
        """The node's results, computed by the graph that replaces it."""
        rule = rule_of(node.domain, node.op_type)
        if rule is not None:
            values = require(self.context(node), rule, values, attributes(node))
        floats = [n for n, v in zip(node.input, values, strict=True) if n and _holds_floats(v)]
        found = self.expanded(body, values, [*floats, *filter(None, node.output)])
        # A result is absent where a node is missing a converter, which is reported later.
        wanted = zip(filter(None, node.output), body.graph.output, strict=True)
        return {name: found[port.name] for name, port in wanted if port.name in found}

    def expanded(
        self, body: function_nodes.Body, values: Sequence[Value | None], like: Iterable[str] = ()
    ) -> Scope:
        given = zip(body.inputs, values, strict=False)
        inner: Scope = {name: value for name, value in given if name and value is not None}
        opsets, outside = self.opsets, self.in_function
        self.opsets, self.in_function = {**opsets, **body.opsets}, set()
        try:
            self.run(body.graph, inner)
            made = self.in_function - {v.name for v in values if isinstance(v, relax.Var)}
        finally:
            self.opsets, self.in_function = opsets, outside
        self.of_functions |= made
        if outside is not None:
            outside |= made
        else:
            for variable in made:
                self.aliases.setdefault(variable, set()).update(like)
        return inner

    @contextmanager
    def _named(self, node: onnx.NodeProto, values: Sequence[Value | None]) -> Iterator[None]:
        """Raise any error of a node as one that names the node."""
        try:
            yield
        except MegccError:
            raise
        except NoAxis as err:
            raise self.context(node).ill_typed(str(err)) from err
        except Undecided as err:
            what = self.context(node).unsupported(
                str(err), "fix the model's dims with --input-shapes"
            )
            raise what from err
        except Exception as err:  # TVM raises many kinds
            if breaks_a_rule(node, [self._kind(v) for v in values], self.opsets):
                raise self.context(node).ill_typed(reason(err, values, self.symbols)) from err
            raise UnsupportedError(
                f"{label(node)}: cannot be converted ({reason(err, values, self.symbols)}); "
                "give it operands that fit together, or change the model"
            ) from err

    def _known(
        self, node: onnx.NodeProto, values: list[Value | None]
    ) -> list[Array | SizeArray] | None:
        """The node's results where they follow from known values and static types alone."""
        op = ops.find(node.domain, node.op_type)
        if isinstance(op, OfShape) and (shape := self._shape(values[0])) is not None:
            return [op.of_shape(shape, attributes(node))]
        known = [v for v in values if v is None or isinstance(v, np.ndarray | SizeArray)]
        if len(known) < len(values):
            return None
        arrays = [v for v in known if not isinstance(v, SizeArray)]
        if len(arrays) < len(known):
            return symbolic.evaluate(node, known, attributes(node), self.opsets)
        if node.output[0] in self.weights and kept_quantised.is_kept(node, arrays):
            return None
        folded = fold.fold(node, arrays, self.opsets)
        return None if folded is None else [*folded]

    def branch(self, graph: onnx.GraphProto, scope: Scope) -> list[Value]:
        inner: Scope = ChainMap({}, scope)
        self.run(graph, inner)
        # A name is absent where a node is missing a converter, which is reported later.
        found = [(port.name, inner[port.name]) for port in graph.output if port.name in inner]
        for name, value in found:
            refuse_unheld(f"output '{name}': it", value)
        return [value for _, value in found]

    def _convert(self, node: onnx.NodeProto, values: list[Value | None]) -> Mapping[str, Value]:
        ctx = self.context(node)
        own = ops.find(node.domain, node.op_type)
        if own is None or isinstance(own, stock.StockOp):
            # TVM's converters compute with what is known.
            self._refuse_growth(ctx, node, values)
        attrs = attributes(node)
        carried = self._carried(ctx, own, values)
        if own is not None:
            values = unify(ctx, own.contract, values, attrs)
        inputs = Inputs(ctx, values, lambda i: self.expr(values[i]))
        if own is not None:
            own.refuse_several(ctx, inputs)
            results = own.convert(ctx, inputs, attrs)
            if text := mismatch(ctx, own.contract, values, attrs):
                raise ctx.ill_typed(text)
        elif stock.has(node.domain, node.op_type):
            results = stock.convert(ctx, inputs, attrs)
        else:
            self._note_if_missing(node)
            return {}
        bound = self._bind(node, results)
        return {n: self._of_type(v, carried) for n, v in bound.items()} if carried else bound

    def _refuse_growth(
        self, ctx: Context, node: onnx.NodeProto, values: Sequence[Value | None]
    ) -> None:
        arrays = [v for v in values if v is None or isinstance(v, np.ndarray)]
        if len(arrays) < len(values):
            return
        elements = fold.grows_to(node, arrays, self.opsets)
        if elements:
            raise ctx.unsupported(
                f"makes {elements} elements of constants", "give them as an input of the model"
            )

    def _carried(self, ctx: Context, op: ops.OnnxOp | None, values: list[Any]) -> DType | None:
        """The storage type of a node's operands, which its results get, or None."""
        kinds = {k: row for k, v in enumerate(values) if (row := self.storage(v)) is not None}
        if not kinds or (op is not None and op.takes_storage):
            return None
        row = next(iter(kinds.values()))
        if op is None or any(
            other is not row or not (k in op.moves or k in op.carries) for k, other in kinds.items()
        ):
            raise ctx.unsupported(
                f"an operand is {row.numpy}, which only Cast and the like compute with",
                "cast it to float before this node",
            )
        return row

    def _of_type(self, value: Value, row: DType) -> Value:
        """Mark a result as a value of a storage type."""
        if isinstance(value, np.ndarray):
            return restored(value, row)
        self.stored[value] = row.numpy
        return value

    def _bind(self, node: onnx.NodeProto, results: Any) -> Mapping[str, Value]:
        """Give every output of a node a variable of its own."""
        if isinstance(results, relax.Expr) and not isinstance(results, relax.Tuple):
            results = self.builder.normalize(results)
            if isinstance(results.ty, relax.TupleType):
                bound = self.emit(results)
                results = [relax.TupleGetItem(bound, i) for i in range(len(results.ty.fields))]
            else:
                results = [results]
        items: list[relax.Expr] = list(results)
        wanted = {i: name for i, name in enumerate(node.output) if name}
        if wanted and max(wanted) >= len(items):
            raise UnsupportedError(
                f"{label(node)}: its output {len(items)} has no conversion; do without that output"
            )
        values = {name: self._emit(items[i], name, node) for i, name in wanted.items()}
        op = ops.find(node.domain, node.op_type)
        if (
            op is not None
            and op.data_dependent
            and any(isinstance(v, np.ndarray) and not v.size for v in values.values())
        ):
            raise UnsupportedError(
                f"{label(node)}: TVM takes its result for empty, as its limits are computed at run "
                "time; make them constants of the model"
            )
        return values

    def _emit(self, expr: relax.Expr, name: str, node: onnx.NodeProto) -> Value:
        what = f"{label(node)}: its output '{name}'"
        if isinstance(expr, relax.Var):
            shape = self.shape_of(expr)
            fits(what, shape)
            return self._with_short_dims(expr, shape, node)
        if isinstance(expr, tvm.ir.GenericConst):
            array: Array = expr.data.numpy() if hasattr(expr, "data") else expr.value.numpy()
            return wide(array)
        var = self.builder.emit(expr, self._variable(name))
        if isinstance(var.ty, relax.ShapeType):
            sizes = sizes_of(relax.ShapeExpr(var.ty.values), self.symbols)
            assert sizes is not None, var.ty
            return dims_array(sizes)
        if isinstance(var.ty, relax.TensorType) and of_numpy(expr_dtype(var)) is None:
            raise UnsupportedError(
                f"'{name}' is a tensor of {var.ty.dtype}, which no kernel can hold; "
                "move that part of the model into the application"
            )
        if not isinstance(var.ty, relax.TensorType):
            return var
        shape = self.shape_of(var)
        fits(what, shape)
        if is_empty(var, self.symbols):
            return empty(var, self.symbols)
        return self.widen(self._with_short_dims(var, shape, node))

    def _with_short_dims(
        self, value: relax.Expr, shape: tuple[Size, ...] | None, node: onnx.NodeProto
    ) -> relax.Expr:
        """Name long dims of a value by new symbols: TVM's expressions of them stay short."""
        if all(written(size) <= LONG for size in shape or ()):
            return value
        ctx = self.context(node)
        found = ctx.cast(value, [named(ctx, s) if written(s) > LONG else s for s in shape or ()])
        if value in self.stored:
            self.stored[found] = self.stored[value]
        return found

    def _shape(self, value: Value | None) -> tuple[Size, ...] | None:
        """Dims of a value, None where it has none or they are unknown."""
        if isinstance(value, np.ndarray | SizeArray):
            return value.shape
        return None if value is None else self.shape_of(value)

    def _variable(self, name: str) -> str:
        """A name for the variable of a value that no other value has."""
        found = identifier(name)
        while self.names.setdefault(found, name) != name:
            found += "_"
        return found

    def _note_if_missing(self, node: onnx.NodeProto) -> None:
        known = (*subgraphs.CONVERTERS, *sequence_nodes.NAMES, "Identity")
        if node.op_type in known and not node.domain:
            return
        if not _has_converter(node):
            remedy = REFUSED.get((node.domain, node.op_type))
            kind = f"{node.domain or 'ai.onnx'}::{node.op_type}{f'; {remedy}' if remedy else ''}"
            self.missing.append(f"{label(node)} (operator {kind})")


def _has_converter(node: onnx.NodeProto) -> bool:
    return ops.find(node.domain, node.op_type) is not None or stock.has(node.domain, node.op_type)


def _needed(graph: onnx.GraphProto) -> list[onnx.NodeProto]:
    """Nodes that an output depends on, in order."""
    live = {port.name for port in graph.output}
    kept = []
    for node in reversed(graph.node):
        if live.intersection(node.output):
            live |= node_reads(node)
            kept.append(node)
    return kept[::-1]
