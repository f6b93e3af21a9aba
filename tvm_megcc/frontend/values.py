"""Types, names and limits of nodes and values, for the importer."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from tvm import relax

from tvm_megcc.core.dtypes import DType, of_numpy
from tvm_megcc.relax_tools.exprs import shape_of, static_shape
from tvm_megcc.relax_tools.names import ANONYMOUS
from tvm_megcc.relax_tools.shape_exprs import Symbols

from ..dims import Size, bounds
from ..errors import UnsupportedError
from ..ops.common.context import expr_dtype
from ..shapes.sizes import SizeArray
from . import mapped

Array = npt.NDArray[Any]

#: Most elements of a tensor: a call counts its work with 32 bits.
MAX_ELEMENTS = 2**31 - 1

#: Most dims of a tensor, as of NumPy's.
MAX_RANK = 64

#: Names of the functions that the importer makes.
FUNCTIONS = ("main", "made")

#: Types that are widened to f32 wherever something is computed.
HALVES = {"float16", "bfloat16"}


def attributes(node: onnx.NodeProto) -> dict[str, Any]:
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
            value = mapped.to_array(value)
        attrs[attr.name] = value
    return attrs


def is_empty(expr: relax.Expr, symbols: Symbols) -> bool:
    """Whether a tensor has no elements, and thus nothing to compute."""
    shape = shape_of(expr, symbols) or ()
    return all(isinstance(dim, int) for dim in shape) and 0 in shape


def fits(what: str, shape: Sequence[Size] | None) -> None:
    """Raise where a tensor has a negative dim, or more dims or elements than are counted."""
    if len(shape or ()) > MAX_RANK:
        raise UnsupportedError(
            f"{what} has {len(shape or ())} dims; a tensor has {MAX_RANK} at most, reshape it"
        )
    for axis, dim in enumerate(shape or ()):
        if bounds(dim)[1] < 0:
            text = dim if isinstance(dim, int) else f"{dim}, at most {bounds(dim)[1]:.0f}"
            raise UnsupportedError(
                f"{what} would have dim {axis} = {text}, which is negative; give larger sizes of"
                " the inputs with --input-shapes"
            )
    known = [d for d in shape or () if isinstance(d, int)]
    factors = [abs(c) for d in shape or () if not isinstance(d, int) for c, _ in d.terms]
    if prod(known) > MAX_ELEMENTS or max((*known, *factors), default=0) > MAX_ELEMENTS:
        dims = ", ".join(map(str, shape or ()))
        raise UnsupportedError(
            f"{what} has dims [{dims}]; a tensor has 2147483647 elements at most, give other sizes"
        )


def refuse_unheld(what: str, value: object) -> None:
    """Raise for a constant of a type that nothing here holds, text or complex numbers."""
    if isinstance(value, np.ndarray) and of_numpy(str(value.dtype)) is None:
        kind = "text" if value.dtype.kind in "OUS" else str(value.dtype)
        raise UnsupportedError(f"{what} is {kind}, which no kernel can hold; cast it in the model")


def empty(expr: relax.Expr, symbols: Symbols) -> Array:
    dtype = "float32" if expr_dtype(expr) in HALVES else expr_dtype(expr)
    return np.zeros(static_shape(expr, symbols) or (), np.dtype(dtype))


def wide(array: Array) -> Array:
    """Widen an f16 or bf16 array to f32; other arrays stay."""
    return array.astype(np.float32) if str(array.dtype) in HALVES else array


def type_of(
    value: Array | SizeArray | relax.Expr | None, stored: DType | None, symbols: Symbols
) -> onnx.TypeProto:
    """ONNX's type of a value, perhaps of a storage type.

    A dynamic dim has the text of its size as its name.
    """
    if value is None:
        return onnx.TypeProto()
    known = isinstance(value, np.ndarray | SizeArray)
    shape = value.shape if known else shape_of(value, symbols)
    dims = None if shape is None else [d if isinstance(d, int) else str(d) for d in shape]
    row = stored or of_numpy(dtype_of(value))
    # A weight may be of a type that nothing here holds.
    kind = row.onnx if row else onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype_of(value)))
    return onnx.helper.make_tensor_type_proto(kind, dims)


def dtype_of(value: Array | SizeArray | relax.Expr) -> str:
    """TVM dtype of a value."""
    return str(value.dtype) if isinstance(value, np.ndarray | SizeArray) else expr_dtype(value)


def tensor_type(kind: onnx.TypeProto) -> onnx.TypeProto.Tensor:
    """The type of the tensors that a value of this type is made of."""
    while (name := kind.WhichOneof("value")) in ("sequence_type", "optional_type"):
        kind = getattr(kind, name).elem_type
    return kind.tensor_type


def dense(sparse: onnx.SparseTensorProto) -> Array:
    values = mapped.to_array(sparse.values)
    indices = mapped.to_array(sparse.indices)
    dense = np.zeros(tuple(sparse.dims), dtype=values.dtype)
    if indices.ndim == 1:
        dense.reshape(-1)[indices] = values
    else:
        dense[tuple(indices.T)] = values
    return dense


def label(node: onnx.NodeProto) -> str:
    return f"{node.op_type} '{node.name or next(iter(node.output), '')}'"


def identifier(name: str) -> str:
    """A name that Relax prints unchanged, and that no function of the importer has."""
    text = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
    taken = text in FUNCTIONS or ANONYMOUS.fullmatch(text)
    return f"v_{text}" if taken or not text[:1].isalpha() else text
