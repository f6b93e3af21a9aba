"""If, Loop and Scan: nodes with graphs of their own become functions that are called.

Enters: a node whose choice or number of iterations is not known. Leaves: a call of functions of the
module (`tvm_megcc.relax_tools.control_flow`), and results of known sizes or sizes read in the run.
"""

from __future__ import annotations

import warnings
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import onnx
from tvm import relax, tirx

from tvm_megcc.relax_tools import control_flow
from tvm_megcc.relax_tools.shape_exprs import bound, prim_of, symbol_of

from ..dims import Size, Symbol, maximum, of, symbols
from ..errors import UnsupportedError
from ..ops import Context
from ..ops._arithmetic import size as whole_size
from ..ops._context import IllTypedError, cast_dim, expr_dtype, relax_shape
from ..ops._data_sizes import sizes_from
from ..ops._sizes import SizeArray
from . import appended
from .sequences import Form, Value, flat, shaped, tensor_count, words
from .state import Importer, Scope
from .unrolled import can_unroll, unrolled
from .values import attributes, identifier, label

#: More iterations than this are no limit: exporters write "for ever" so.
MANY = 1 << 31

Shape = tuple[Size, ...]


def convert_if(
    importer: Importer, node: onnx.NodeProto, values: Sequence[Value | None], scope: Scope
) -> list[Value]:
    """The results of the branch that is taken; chosen during the run where that is not known.

    A branch that could not run with the shapes at hand (it is for another chunk length, say) is
    left out: a run that would take it ends with ``MEGCC_ERR_DATA``.
    """
    (condition,) = values
    attrs = attributes(node)
    then, other = graphs = [attrs["then_branch"], attrs["else_branch"]]
    if isinstance(condition, np.ndarray):
        return importer.branch(then if bool(condition.reshape(-1)[0]) else other, scope)
    if isinstance(condition, SizeArray) and _squeezes(then, other):
        # PyTorch's squeeze: only with that dim being 1 do the ranks fit, and Squeeze asks for just
        # that at run time.
        return importer.branch(then, scope)
    outside = set(importer.variables)
    made = [_possible(importer, graph, scope) for graph in graphs]
    if importer.missing:
        return []
    reasons = [found for found in made if isinstance(found, IllTypedError)]
    if reasons:
        if len(reasons) == 2:
            raise reasons[0]
        fits = int(made[0] is reasons[0])
        warnings.warn(
            f"{label(node)}: a run that takes its {('else', 'then')[fits]} branch ends with an"
            f" error ({reasons[0]})",
            stacklevel=2,
        )
        return _only(importer, node, condition, fits, importer.branch(graphs[fits], scope))
    (first, shapes, forms), (second, other_shapes, other_forms) = made  # type: ignore[misc]
    _check_forms(importer.context(node), forms, other_forms)
    choice = importer.builder.emit(relax.op.reshape(importer.expr(condition), []))
    name = _name(node)
    result = control_flow.branches(
        importer.builder, importer.functions, name, choice, first, second
    )
    merged = [
        _merged(node, k, *pair, outside)
        for k, pair in enumerate(zip(shapes, other_shapes, strict=True))
    ]
    tensors = [
        _cast(importer, field, shape, f"{name}_{k}")
        for k, (field, shape) in enumerate(zip(_fields(result), merged, strict=True))
    ]
    return shaped(tensors, forms)


def _only(
    importer: Importer, node: onnx.NodeProto, condition: Value, number: int, results: list[Value]
) -> list[Value]:
    """The results of branch `number`, for runs that take this one."""
    ctx = importer.context(node)
    taken = ctx.emit(relax.op.reshape(importer.expr(condition), []))
    if number == 1:
        taken = ctx.emit(relax.op.logical_not(taken))
    tensors, forms = flat(results)
    return shaped([ctx.checked(importer.expr(value), taken) for value in tensors], forms)


def _possible(
    importer: Importer, graph: onnx.GraphProto, scope: Scope
) -> tuple[relax.Function, list[Shape], list[Form]] | IllTypedError:
    """A branch that may be taken as a function, or why it cannot be taken."""
    forms: list[Form] = []

    def results() -> list[Value]:
        tensors, found = flat(importer.branch(graph, scope))
        forms.extend(found)
        return tensors

    try:
        return *_function(importer, [], results), forms
    except IllTypedError as err:
        return err


def _check_forms(ctx: Context, then: Sequence[Form], other: Sequence[Form]) -> None:
    """The results of both branches must be as many tensors."""
    for number, (a, b) in enumerate(zip(then, other, strict=True)):
        if a != b:
            raise ctx.unsupported(
                f"'{ctx.outputs[number]}' is {words(a)} in one branch and {words(b)} in the other,"
                " and its condition is computed at run time",
                "make the condition a constant or the branches alike",
            )


def _squeezes(then: onnx.GraphProto, other: onnx.GraphProto) -> bool:
    """Whether one branch removes a dim and the other one gives the same value as it is."""
    last = {out: n for g in (then, other) for n in g.node for out in n.output}
    ends = [last.get(g.output[0].name) for g in (then, other) if len(g.output) == 1]
    return (
        [n.op_type for n in ends if n is not None] == ["Squeeze", "Identity"]
        and ends[0].input[0] == ends[1].input[0]  # type: ignore[union-attr]
    )


def _merged(
    node: onnx.NodeProto, number: int, then: Shape, other: Shape, outside: set[str]
) -> list[Size | None]:
    """The dims of a result; None where only the run shows it."""
    if len(then) != len(other):
        raise UnsupportedError(
            f"{label(node)}: '{node.output[number]}' has {len(then)} dims in one branch and"
            f" {len(other)} in the other, and its condition is computed at run time; fix the"
            " model's dims with --input-shapes or cut the model"
        )
    return [
        a if a == b and _is_known(a, outside) else None for a, b in zip(then, other, strict=True)
    ]


def convert_loop(
    importer: Importer, node: onnx.NodeProto, values: Sequence[Value | None], scope: Scope
) -> list[Value]:
    """The states after the last iteration, then the outputs that the iterations give by rows."""
    body: onnx.GraphProto = attributes(node)["body"]
    count, started, *initial = [*values, None, None][: max(len(values), 2)]
    growing = appended.split(node, initial)
    if growing is not None and not can_unroll(count, started):
        made, which = growing
        rest = [count, started, *(v for k, v in enumerate(initial) if k not in which)]
        return appended.together(convert_loop(importer, made, rest, scope), initial, which)
    counted = _Count.of(importer, node, count)
    tensors, forms = flat(initial)
    if any(isinstance(form, int) for form in forms) and can_unroll(count, started):
        return unrolled(importer, node, body, [count, started, *initial], scope)
    ports = [
        port
        for port, form in zip(body.output[1:], forms, strict=False)
        for _ in range(tensor_count(form))
    ]
    ports += body.output[1 + len(forms) :]
    if len(tensors) == len(forms):
        given = zip(tensors, body.input[2:], strict=True)
        # Other dims before the first iteration than after it are no contradiction.
        tensors = [_as_declared(importer.context(node), t, p, fixed=False) for t, p in given]
    loop = _Loop(importer, node, len(tensors), counted, ports)
    first, condition, *states = (port.name for port in body.input)

    def convert(params: Sequence[relax.Expr]) -> list[Value]:
        number, *given = params
        if _declared_rank(body.input[0]) == 1:
            number = importer.builder.emit(relax.op.reshape(number, [1]))
        # In an iteration the condition holds.
        known: dict[str, Value] = {first: number, condition: np.array(True)}
        known |= zip(states, shaped(given, forms), strict=True)
        flag, *found = importer.branch(body, ChainMap(known, scope)) or [np.array(True)]
        after, found_forms = flat(found[: len(forms)])
        for name, before, now in zip(states, forms, found_forms, strict=False):
            if before != now:
                raise loop.ctx.unsupported(
                    f"its state '{name}' is {words(before)} before an iteration and {words(now)}"
                    " after it, and how many iterations there are is known only at run time",
                    "make its trip count and its condition constants",
                )
        return [flag, *after, *found[len(forms) :]]

    results = loop.convert(convert, started, tensors, [])
    n = len(tensors)
    return [*shaped(results[:n], forms), *results[n:]] if results else []


def convert_scan(
    importer: Importer, node: onnx.NodeProto, values: Sequence[Value | None], scope: Scope
) -> list[Value]:
    """The states after the last iteration, then the outputs."""
    attrs, ctx = attributes(node), importer.context(node)
    if ctx.opset >= 9:
        return _scan(importer, node, attrs, values, scope)
    lengths, *operands = values
    if lengths is not None:
        raise ctx.unsupported("scans rows of several lengths", "export with opset 9 or later")
    # Of opset 8 the first axis counts examples, each of which is scanned for itself.
    attrs["scan_input_directions"] = attrs.get("directions")
    wholes = [importer.expr(value) for value in operands]
    (count,) = ctx.static(ctx.shape(wholes[0])[:1])
    if count == 0:
        raise ctx.unsupported("scans a batch of 0", "export with opset 9 or later")
    made = [
        _scan(importer, node, attrs, [_example(ctx, whole, k) for whole in wholes], scope)
        for k in range(count)
    ]
    return [
        ctx.emit(relax.op.concat([ctx.emit(relax.op.expand_dims(r, 0)) for r in rows], 0))
        for rows in ([importer.expr(r) for r in column] for column in zip(*made, strict=True))
    ]


def _example(ctx: Context, batch: relax.Expr, number: int) -> relax.Expr:
    part = relax.op.strided_slice(batch, [0], [number], [number + 1], assume_inbound=True)
    return ctx.emit(relax.op.squeeze(ctx.emit(part), 0))


def _scan(
    importer: Importer,
    node: onnx.NodeProto,
    attrs: Mapping[str, Any],
    values: Sequence[Value | None],
    scope: Scope,
) -> list[Value]:
    body: onnx.GraphProto = attrs["body"]
    ctx = importer.context(node)
    n_rows = attrs["num_scan_inputs"]
    n_states = len(values) - n_rows
    wholes = []
    for k, value in enumerate(values[n_states:]):
        whole = importer.expr(value)
        axis = _axis(ctx, attrs, "scan_input_axes", k, len(ctx.shape(whole)))
        wholes.append(_moved(ctx, whole, axis, 0))
    lengths = [ctx.shape(whole)[0] for whole in wholes]
    if any(length != lengths[0] for length in lengths):
        raise ctx.unsupported(
            f"scans inputs of {' and '.join(map(str, lengths))} rows, which must be as many",
            "fix the model's dims with --input-shapes",
        )
    limit = ctx.emit(relax.op.reshape(ctx.sizes([lengths[0]], "int64"), []))
    directions = [
        _at(attrs.get(f"scan_{side}_directions"), k)
        for side, count in (("input", n_rows), ("output", len(body.output) - n_states))
        for k in range(count)
    ]
    values = [_as_declared(ctx, v, p) for v, p in zip(values, body.input, strict=False)]
    wholes = [
        _as_declared(ctx, whole, port, rows=True)
        for whole, port in zip(wholes, body.input[n_states:], strict=True)
    ]
    count = _Count(limit, lengths[0])
    loop = _Loop(importer, node, n_states, count, body.output, list(map(bool, directions)))
    names = [port.name for port in body.input]

    def convert(params: Sequence[relax.Expr]) -> list[Value]:
        known: dict[str, Value] = dict(zip(names, params[1:], strict=True))
        return [np.array(True), *importer.branch(body, ChainMap(known, scope))]

    results = loop.convert(convert, None, values[:n_states], wholes)
    for k in range(n_states, len(results)):
        whole = importer.expr(results[k])
        axis = _axis(ctx, attrs, "scan_output_axes", k - n_states, len(ctx.shape(whole)))
        results[k] = _moved(ctx, whole, 0, axis)
    return results


def _as_declared(
    ctx: Context,
    value: Value | None,
    port: onnx.ValueInfoProto,
    rows: bool = False,
    fixed: bool = True,
) -> Value | None:
    """A state or rows with the dims that the body says; an open one is checked at run time.

    With ``fixed`` one that is known has to be as the body says, too.
    """
    if not isinstance(value, relax.Expr):
        return value
    shape = list(ctx.shape(value))
    said = port.type.tensor_type.shape.dim
    if len(said) != len(shape) - rows:
        return value
    for axis, dim in enumerate(said, start=int(rows)):
        if not dim.HasField("dim_value") or shape[axis] == dim.dim_value:
            continue
        if not isinstance(shape[axis], int):
            shape[axis] = dim.dim_value
        elif fixed:
            raise ctx.ill_typed(
                f"dim {axis - rows} of its body's '{port.name}' is {dim.dim_value}, and"
                f" {shape[axis]} is given"
            )
    return ctx.cast(value, shape)


def _at(values: Sequence[int] | None, index: int) -> int:
    return values[index] if values else 0


def _axis(ctx: Context, attrs: Mapping[str, Any], name: str, index: int, rank: int) -> int:
    """The axis by which a Scan counts the rows of an operand or a result."""
    axis = _at(attrs.get(name), index)
    if not -rank <= axis < rank:
        raise ctx.ill_typed(f"{name} says axis {axis} of a tensor of rank {rank}")
    return axis % rank


def _moved(ctx: Context, value: relax.Expr, source: int, target: int) -> relax.Expr:
    """Rows counted by axis `source` are counted by axis `target` then."""
    if source == target:
        return value
    order = [d for d in range(len(ctx.shape(value))) if d != source]
    order.insert(target, source)
    return ctx.emit(relax.op.permute_dims(value, order))


class _Count:
    """How many iterations there are at most: as a tensor, and as a size where that is wanted."""

    def __init__(self, limit: relax.Expr | None, length: Size | None) -> None:
        self.limit = limit
        self.length = length

    @classmethod
    def of(cls, importer: Importer, node: onnx.NodeProto, value: Value | None) -> _Count:
        if value is None:
            return cls(None, None)
        ctx = importer.context(node)
        length: Size | None = None
        if isinstance(value, np.ndarray):
            known = int(value.reshape(-1)[0])
            if known >= MANY:
                return cls(None, None)
            length = max(known, 0)
        elif isinstance(value, SizeArray):
            length = maximum(0, whole_size(value.flat()[0]))
        limit = ctx.emit(relax.op.reshape(importer.expr(value), []))
        return cls(limit, length)

    def size(self, ctx: Context) -> Size:
        """The number of iterations at most as a size; read from the tensor where it must be."""
        if self.limit is None:
            raise ctx.unsupported(
                "gives an output by rows, and nothing limits their number",
                "give the Loop a trip count",
            )
        if self.length is None:
            limit = ctx.emit(relax.op.maximum(self.limit, ctx.const(0, "int64")))
            wide = ctx.emit(relax.op.reshape(limit, [1]))
            (self.length,) = sizes_from(ctx, wide, ["iterations"], [None])
        return self.length


class _Loop:
    """One Loop or Scan while it is converted."""

    def __init__(
        self,
        importer: Importer,
        node: onnx.NodeProto,
        n_states: int,
        count: _Count,
        ports: Sequence[onnx.ValueInfoProto],
        backwards: Sequence[bool] = (),
    ) -> None:
        self.backwards = backwards
        self.importer, self.node, self.count, self.ports = importer, node, count, ports
        self.ctx = importer.context(node)
        self.outside = set(importer.variables)
        self.name = _name(node)
        self.n_states = n_states

    def convert(
        self,
        body: Callable[[Sequence[relax.Expr]], list[Value]],
        started: Value | None,
        initial: Sequence[Value | None],
        rows: Sequence[relax.Expr],
    ) -> list[Value]:
        """The results of calling ``body`` (number, states, rows) -> (condition, states, rows)."""
        importer, ctx = self.importer, self.ctx
        states = [importer.expr(value) for value in initial]
        shapes = [list(ctx.shape(state)) for state in states]
        tested = not _is_true(started)

        def results(params: Sequence[relax.Expr]) -> list[Value]:
            nonlocal tested
            flag, *found = body(params) or [np.array(True)]
            tested = tested or not _is_true(flag)
            found = [self._declared(v, p) for v, p in zip(found, self.ports, strict=False)]
            return [self._flag(flag), *found] if tested else found

        while True:
            params = self._params(states, shapes, rows)
            function, after = _function(importer, params, partial(results, params))
            if importer.missing:
                return []
            after = after[1:] if tested else after
            if not self._changed(shapes, after[: self.n_states]):
                break
        if self.count.limit is None and not tested:
            raise ctx.unsupported("has no end", "give it a trip count or a condition")
        made = after[self.n_states :]
        wholes = [
            self._whole(k, shape, _dtype_of(function, k - len(made)))
            for k, shape in enumerate(made)
        ]
        result = control_flow.loop(
            importer.builder,
            importer.functions,
            self.name,
            function,
            limit=self.count.limit,
            condition=self._flag_expr(started) if tested else None,
            states=states,
            rows=rows,
            outputs=wholes,
            backwards=self.backwards,
        )
        fields = [ctx.emit(field) for field in _fields(result)]
        found: list[Value] = []
        for k, shape in enumerate(shapes):
            known = [d if _is_known(d, self.outside) else None for d in shape]
            found.append(_cast(importer, fields[k], known, f"{self.name}_{k}"))
        outputs = fields[self.n_states : self.n_states + len(wholes)]
        if tested and outputs:
            count = fields[-1]
            (rows_made,) = sizes_from(ctx, count, ["rows"], [self.count.size(ctx)])
            outputs = [
                ctx.emit(
                    relax.op.strided_slice(
                        whole, [0], [0], [ctx.prim(rows_made)], assume_inbound=True
                    )
                )
                for whole in outputs
            ]
        return [*found, *outputs]

    def _params(
        self,
        states: Sequence[relax.Expr],
        shapes: Sequence[Sequence[Size]],
        rows: Sequence[relax.Expr],
    ) -> list[relax.Var]:
        """The body's parameters: the iteration's number, the states, a row of each input."""
        ctx = self.ctx
        _refuse_storage(self.importer, [*states, *rows])
        params = [relax.Var("iteration", relax.TensorType((), "int64"))]
        for k, (state, shape) in enumerate(zip(states, shapes, strict=True)):
            ty = relax.TensorType(ctx.prims(shape), expr_dtype(state))
            params.append(relax.Var(f"{self.name}_state{k}", ty))
        for k, whole in enumerate(rows):
            ty = relax.TensorType(ctx.prims(ctx.shape(whole)[1:]), expr_dtype(whole))
            params.append(relax.Var(f"{self.name}_row{k}", ty))
        return params

    def _declared(self, value: Value, port: onnx.ValueInfoProto) -> Value:
        """A result of the body with the dims that the model says, where data decides them here."""
        shape = None if isinstance(value, np.ndarray | SizeArray) else relax_shape(value)
        said = [d.dim_value for d in port.type.tensor_type.shape.dim]
        if shape is None or len(said) != len(shape):
            return value
        new = tuple(
            b if b > 0 and not (isinstance(a, int) or _is_known(a, self.outside)) else a
            for a, b in zip(shape, said, strict=True)
        )
        if new == shape:
            return value
        return self.importer.context(self.node).match_cast(value, new)

    def _changed(self, shapes: list[list[Size]], after: Sequence[Shape]) -> bool:
        """Whether a dim is not after an iteration what it was before; then it gets a name."""
        changed = False
        for k, (shape, new) in enumerate(zip(shapes, after, strict=True)):
            if len(shape) != len(new):
                raise self.ctx.unsupported(
                    f"its state {k} has {len(shape)} dims before an iteration and {len(new)} after",
                    "export the model with states that keep their rank",
                )
            for axis, (a, b) in enumerate(zip(shape, new, strict=True)):
                if a != b and _is_known(a, self.outside):
                    shape[axis] = _new_size(self.importer, f"{self.name}_state{k}_dim{axis}")
                    changed = True
        return changed

    def _whole(self, number: int, row: Shape, dtype: str) -> relax.TensorType:
        """The type of an output: all the rows that the iterations give."""
        ctx = self.ctx
        if not all(_is_known(dim, self.outside) for dim in row):
            raise ctx.unsupported(
                f"the rows of its output {self.n_states + number} change their size"
                f" ([{', '.join(map(str, row))}])",
                "export the model with rows of one size",
            )
        return relax.TensorType(ctx.prims([self.count.size(ctx), *row]), dtype)

    def _flag(self, value: Value) -> relax.Expr:
        """A condition as the loop takes it."""
        return self.importer.builder.emit(relax.op.reshape(self.importer.expr(value), []))

    def _flag_expr(self, started: Value | None) -> relax.Expr:
        return self.ctx.const(True, "bool") if started is None else self._flag(started)


def _function(
    importer: Importer, params: list[relax.Var], convert: Callable[[], list[Value]]
) -> tuple[relax.Function, list[Shape]]:
    """A function of what `convert` emits, and the shapes of its results.

    It may use what stands around the node.
    """
    with importer.inside(relax.BlockBuilder()) as builder:
        error: Exception | None = None
        results: list[relax.Expr] = []
        with builder.function("made", params):
            with builder.dataflow():
                try:
                    values = convert()
                    _refuse_storage(importer, values)
                    results = [importer.expr(value) for value in values]
                    returned = [
                        builder.emit_output(r) if isinstance(r, relax.Var) else r for r in results
                    ]
                except Exception as err:  # raised below: a builder left open prints a warning
                    error, returned = err, []
            builder.emit_func_output(returned[0] if len(returned) == 1 else relax.Tuple(returned))
    if error is not None:
        raise error
    shapes = []
    for result in results:
        shape = relax_shape(result)
        if shape is None:
            raise UnsupportedError(
                f"'{result}' has a shape that is known at run time only ({result.ty}); give sizes"
                " with --input-shapes or cut the model before it"
            )
        shapes.append(shape)
    return control_flow.taken_out(builder.get(), "made", importer.main), shapes


def _refuse_storage(importer: Importer, values: Iterable[Value]) -> None:
    """Between functions a value of a storage type would be taken for the bytes that hold it."""
    for value in values:
        row = importer.storage(value)
        if row is not None:
            raise UnsupportedError(
                f"a value of {row.numpy} enters or leaves a branch or a loop's body; cast it to"
                " float before"
            )


def _dtype_of(function: relax.Function, index: int) -> str:
    """TVM dtype of a function's result."""
    ty = function.ret_ty
    return str((ty.fields[index] if isinstance(ty, relax.TupleType) else ty).dtype)


def _fields(result: relax.Expr) -> list[relax.Expr]:
    if not isinstance(result.ty, relax.TupleType):
        return [result]
    return [relax.TupleGetItem(result, k) for k in range(len(result.ty.fields))]


def _cast(
    importer: Importer, value: relax.Expr, shape: Iterable[Size | None], name: str
) -> relax.Expr:
    """A result with its dims; those that are None are sizes of their own, read during the run."""
    value = importer.builder.emit(value)
    if relax_shape(value) is not None:
        return value
    dims: list[Any] = []
    for axis, size in enumerate(shape):
        if size is None:
            size = _new_size(importer, f"{name}_dim{axis}")
            dims.append(prim_of(size, importer.variables))
        else:
            dims.append(cast_dim(None, prim_of(size, importer.variables)))
    return importer.builder.match_cast(value, relax.TensorType(dims, expr_dtype(value)))


def _new_size(importer: Importer, name: str) -> Size:
    """A size that only the run shows."""
    taken = (f"{name}_{k}" if k else name for k in range(len(importer.variables) + 1))
    found = next(n for n in taken if n not in importer.variables)
    importer.variables[found] = tirx.Var(found, "int64")
    bound(Symbol(found))
    return of(symbol_of(found))


def _is_known(size: Size, outside: set[str]) -> bool:
    """Whether a size is said by these symbols alone."""
    return all(symbol.name in outside for symbol in symbols(size))


def _is_true(value: Value | None) -> bool:
    return value is None or (isinstance(value, np.ndarray) and bool(value.reshape(-1)[0]))


def _declared_rank(port: onnx.ValueInfoProto) -> int:
    return len(port.type.tensor_type.shape.dim)


def _name(node: onnx.NodeProto) -> str:
    return identifier(f"{node.op_type.lower()}_{node.name or next(filter(None, node.output))}")


CONVERTERS = {"If": convert_if, "Loop": convert_loop, "Scan": convert_scan}
