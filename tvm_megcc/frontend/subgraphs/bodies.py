"""Branches and bodies as functions of the module, and the sizes of what they give."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod
from typing import Any

import numpy as np
import onnx
from tvm import relax, tirx

from tvm_megcc.relax_tools import control_flow
from tvm_megcc.relax_tools.shape_exprs import prim_of

from ...dims import Size, Symbol, is_static, symbols
from ...errors import UnsupportedError
from ...ops.common.context import expr_dtype
from ...shapes.builder import cast_dim
from ...shapes.sizes import SizeArray
from ..sequences import Value
from ..state import Importer
from ..values import identifier

Shape = tuple[Size, ...]


def body_function(
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
                    refuse_storage(importer, values)
                    results = [importer.expr(value) for value in values]
                    returned = [importer.returned(r) for r in results]
                except Exception as err:  # raised below: a builder left open prints a warning
                    error, returned = err, []
            builder.emit_func_output(returned[0] if len(returned) == 1 else relax.Tuple(returned))
    if error is not None:
        raise error
    shapes = []
    for result in results:
        shape = importer.shape_of(result)
        if shape is None:
            raise UnsupportedError(
                f"'{result}' has a shape that is known at run time only ({result.ty}); give sizes"
                " with --input-shapes or cut the model before it"
            )
        shapes.append(shape)
    return control_flow.taken_out(builder.get(), "made", importer.main), shapes


def of_rank(importer: Importer, value: Value, rank: int, port: onnx.ValueInfoProto) -> Value:
    """A single element with another rank, where the port that it leaves by says that it has that.

    Exporters of frameworks that knew no scalars add a ``[0]`` of one dim to what they call one, in
    one branch or in the body of a loop.
    """
    said = port.type.tensor_type
    if not said.HasField("shape") or len(said.shape.dim) != rank:
        return value
    if isinstance(value, np.ndarray):
        return value.reshape([1] * rank) if value.size == 1 else value
    shape = importer.shape_of(value) if isinstance(value, relax.Expr) else None
    if shape is None or len(shape) == rank or any(dim != 1 for dim in shape):
        return value
    return importer.emit(relax.op.reshape(value, [1] * rank))


def refuse_several(
    importer: Importer, node: onnx.NodeProto, value: Value | None, what: str
) -> None:
    """Raise for a condition or a trip count that has another number of elements than one."""
    shape: tuple[Size, ...] | None = None
    if isinstance(value, np.ndarray | SizeArray):
        shape = value.shape
    elif isinstance(value, relax.Expr):
        shape = importer.shape_of(value)
    if shape is not None and is_static(shape) and prod(shape) != 1:
        raise importer.context(node).ill_typed(f"its {what} has {prod(shape)} elements, not one")


def refuse_storage(importer: Importer, values: Iterable[Value]) -> None:
    """Between functions a value of a storage type would be taken for the bytes that hold it."""
    for value in values:
        row = importer.storage(value)
        if row is not None:
            raise UnsupportedError(
                f"a value of {row.numpy} enters or leaves a branch or a loop's body; cast it to"
                " float before"
            )


def dtype_of(function: relax.Function, index: int) -> str:
    """TVM dtype of a function's result."""
    ty = function.ret_ty
    return str((ty.fields[index] if isinstance(ty, relax.TupleType) else ty).dtype)


def fields_of(result: relax.Expr) -> list[relax.Expr]:
    if not isinstance(result.ty, relax.TupleType):
        return [result]
    return [relax.TupleGetItem(result, k) for k in range(len(result.ty.fields))]


def with_dims(
    importer: Importer, value: relax.Expr, shape: Iterable[Size | None], name: str
) -> relax.Expr:
    """A result with its dims; those that are None are sizes of their own, read during the run."""
    value = importer.emit(value)
    if importer.shape_of(value) is not None:
        return value
    dims: list[Any] = []
    for axis, size in enumerate(shape):
        if size is None:
            size = new_size(importer, f"{name}_dim{axis}")
            dims.append(prim_of(size, importer.variables))
        else:
            dims.append(cast_dim(prim_of(size, importer.variables)))
    return importer.builder.match_cast(value, relax.TensorType(dims, expr_dtype(value)))


def new_size(importer: Importer, name: str) -> Size:
    """A size that only the run shows."""
    taken = (f"{name}_{k}" if k else name for k in range(len(importer.variables) + 1))
    found = next(n for n in taken if n not in importer.variables)
    return importer.place(name).new_dim(Symbol(found), tirx.Var(found, "int64"))


def is_known(size: Size, outside: set[str]) -> bool:
    """Whether a size is said by these symbols alone."""
    return all(symbol.name in outside for symbol in symbols(size))


def function_name(node: onnx.NodeProto) -> str:
    return identifier(f"{node.op_type.lower()}_{node.name or next(filter(None, node.output))}")
