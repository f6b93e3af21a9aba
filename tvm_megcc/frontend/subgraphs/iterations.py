"""What Loop and Scan are converted by: a body as a function, called by a loop of the module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import onnx
from tvm import relax

from tvm_megcc.relax_tools import control_flow

from ...dims import Size, maximum
from ...errors import UnsupportedError
from ...ops import Context
from ...ops.common.context import expr_dtype
from ...shapes.arithmetic import size as whole_size
from ...shapes.read_from_data import sizes_from
from ...shapes.sizes import SizeArray
from ..sequences import Value
from ..state import Importer
from ..values import dtype_of as dtype_of_value
from .bodies import (
    Shape,
    body_function,
    dtype_of,
    fields_of,
    function_name,
    is_known,
    new_size,
    of_rank,
    refuse_several,
    refuse_storage,
    with_dims,
)

#: More iterations than this are no limit: exporters write "for ever" so.
MANY = 1 << 31


class RankChangesError(UnsupportedError):
    """A state has another rank after an iteration than before."""


class Count:
    """How many iterations there are at most: as a tensor, and as a size where that is wanted."""

    def __init__(self, limit: relax.Expr | None, length: Size | None) -> None:
        self.limit = limit
        self.length = length

    @classmethod
    def of(cls, importer: Importer, node: onnx.NodeProto, value: Value | None) -> Count:
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


class Iterations:
    """One Loop or Scan while it is converted."""

    def __init__(
        self,
        importer: Importer,
        node: onnx.NodeProto,
        n_states: int,
        count: Count,
        ports: Sequence[onnx.ValueInfoProto],
        backwards: Sequence[bool] = (),
    ) -> None:
        self.backwards = backwards
        self.importer, self.node, self.count, self.ports = importer, node, count, ports
        self.ctx = importer.context(node)
        self.outside = set(importer.variables)
        self.name = function_name(node)
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
            for k, shape in enumerate(shapes):
                found[k] = of_rank(importer, found[k], len(shape), self.ports[k])
            found = [self._declared(v, p) for v, p in zip(found, self.ports, strict=False)]
            return [self._flag(flag), *found] if tested else found

        while True:
            params = self._params(states, shapes, rows)
            function, after = body_function(importer, params, partial(results, params))
            if importer.missing:
                return []
            after = after[1:] if tested else after
            self._check_types(states, [dtype_of(function, k + tested) for k in range(len(states))])
            if not self._changed(shapes, after[: self.n_states]):
                break
        if self.count.limit is None and not tested:
            raise ctx.unsupported("has no end", "give it a trip count or a condition")
        made = after[self.n_states :]
        wholes = [
            self._whole(k, shape, dtype_of(function, k - len(made))) for k, shape in enumerate(made)
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
        fields = [ctx.emit(field) for field in fields_of(result)]
        found: list[Value] = []
        for k, shape in enumerate(shapes):
            known = [d if is_known(d, self.outside) else None for d in shape]
            found.append(with_dims(importer, fields[k], known, f"{self.name}_{k}"))
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
        refuse_storage(self.importer, [*states, *rows])
        params = [relax.Var("iteration", relax.TensorType((), "int64"))]
        for k, (state, shape) in enumerate(zip(states, shapes, strict=True)):
            ty = relax.TensorType(ctx.prims(shape), expr_dtype(state))
            params.append(relax.Var(f"{self.name}_state{k}", ty))
        for k, whole in enumerate(rows):
            ty = relax.TensorType(ctx.prims(ctx.shape(whole)[1:]), expr_dtype(whole))
            params.append(relax.Var(f"{self.name}_row{k}", ty))
        return params

    def _check_types(self, states: Sequence[relax.Expr], after: Sequence[str]) -> None:
        """A state keeps its type."""
        for k, (state, dtype) in enumerate(zip(states, after, strict=True)):
            if expr_dtype(state) != dtype:
                raise self.ctx.ill_typed(
                    f"its state {k} is {expr_dtype(state)} before an iteration and {dtype} after it"
                )

    def _declared(self, value: Value, port: onnx.ValueInfoProto) -> Value:
        """A result of the body with the dims that the model says, where data decides them here."""
        shape = None if isinstance(value, np.ndarray | SizeArray) else self.importer.shape_of(value)
        said = [d.dim_value for d in port.type.tensor_type.shape.dim]
        if shape is None or len(said) != len(shape):
            return value
        new = tuple(
            b if b > 0 and not (isinstance(a, int) or is_known(a, self.outside)) else a
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
                text = f"its state {k} has {len(shape)} dims before an iteration, {len(new)} after"
                remedy = "export the model with states that keep their rank"
                raise RankChangesError(str(self.ctx.unsupported(text, remedy)))
            for axis, (a, b) in enumerate(zip(shape, new, strict=True)):
                if a != b and is_known(a, self.outside):
                    shape[axis] = new_size(self.importer, f"{self.name}_state{k}_dim{axis}")
                    changed = True
        return changed

    def _whole(self, number: int, row: Shape, dtype: str) -> relax.TensorType:
        """The type of an output: all the rows that the iterations give."""
        ctx = self.ctx
        if not all(is_known(dim, self.outside) for dim in row):
            raise ctx.unsupported(
                f"the rows of its output {self.n_states + number} change their size"
                f" ([{', '.join(map(str, row))}])",
                "export the model with rows of one size",
            )
        return relax.TensorType(ctx.prims([self.count.size(ctx), *row]), dtype)

    def _flag(self, value: Value) -> relax.Expr:
        """A condition as the loop takes it."""
        refuse_several(self.importer, self.node, value, "condition")
        if dtype_of_value(value) != "bool":
            raise self.ctx.ill_typed(f"its condition is {dtype_of_value(value)}, not bool")
        return self.importer.emit(relax.op.reshape(self.importer.expr(value), []))

    def _flag_expr(self, started: Value | None) -> relax.Expr:
        return self.ctx.const(True, "bool") if started is None else self._flag(started)


def as_declared(
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


def _is_true(value: Value | None) -> bool:
    return value is None or (isinstance(value, np.ndarray) and bool(value.reshape(-1)[0]))
