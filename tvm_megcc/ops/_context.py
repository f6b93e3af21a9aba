"""What a converter gets: the node's place (`Context`), its operands (`Inputs`), its attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tvm
from tvm import relax

from ..errors import UnsupportedError

#: Attribute name -> int, float, str, list of them, or np.ndarray. Absent attributes are absent.
Attrs = dict[str, Any]
Known = npt.NDArray[Any]


class IllTypedError(UnsupportedError):
    """The node breaks ONNX's own rules for the shapes at hand: it could never run with them."""


class Context:
    """The node being converted and the block it is converted into.

    Attributes
    ----------
    builder : relax.BlockBuilder
    opset : int
        Version of the node's domain.
    op, label : str
        ``op_type``, and how messages call the node (``Conv 'conv_12'``).
    outputs : tuple of str
        Names of the node's outputs; one it does not want is ``""``.
    """

    def __init__(
        self,
        builder: relax.BlockBuilder,
        opset: int,
        op: str,
        label: str,
        outputs: tuple[str, ...],
    ) -> None:
        self.builder = builder
        self.opset = opset
        self.op = op
        self.label = label
        self.outputs = outputs

    def emit(self, expr: relax.Expr) -> relax.Var:
        """Bind an intermediate result to a variable, whose type is then known."""
        return self.builder.emit(expr)

    def const(self, value: Any, dtype: str) -> relax.Expr:
        """A constant of the given TVM dtype."""
        return constant(self.builder, np.asarray(value).astype(dtype))

    def wants(self, index: int) -> bool:
        """Whether the node has an output of that index."""
        return index < len(self.outputs) and self.outputs[index] != ""

    def shape(self, expr: relax.Expr) -> tuple[Any, ...]:
        """The dims of an expression, ints or TVM expressions.

        Raises
        ------
        UnsupportedError
            Not even the rank's dims are known.
        """
        shape = relax_shape(expr)
        if shape is None:
            raise self.unsupported("the shape of an operand is known only at run time", _FIX_SHAPE)
        return shape

    def static_shape(self, expr: relax.Expr) -> tuple[int, ...]:
        """The dims of an expression, all ints, else an `UnsupportedError`."""
        shape = self.shape(expr)
        if not all(isinstance(dim, int) for dim in shape):
            raise self.unsupported(f"needs static dims, an operand has {list(shape)}", _FIX_SHAPE)
        return shape

    def unsupported(self, fact: str, remedy: str) -> UnsupportedError:
        """The error to raise: node, fact, remedy."""
        return UnsupportedError(f"{self.label}: {fact}; {remedy}")

    def ill_typed(self, fact: str) -> IllTypedError:
        """The error to raise where no implementation could run the node with these shapes."""
        return IllTypedError(
            f"{self.label}: {fact}; give other --input-shapes or correct the model"
        )


_FIX_SHAPE = "fix the model's dims with --input-shapes"


class Inputs(Sequence[Any]):
    """A node's operands. ``inputs[i]`` is the Relax expression, None where absent or past the end.

    A known operand (a weight, folded shape arithmetic) is turned into an expression only when asked
    for, so a converter that asks for its value with `known` or `ints` leaves no trace of it.
    """

    def __init__(
        self,
        ctx: Context,
        values: Sequence[relax.Expr | Known | None],
        materialise: Callable[[int], relax.Expr],
    ) -> None:
        self._ctx = ctx
        self._values = values
        self._materialise = materialise

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not self.has(index):
            return None
        value = self._values[index]
        return self._materialise(index) if isinstance(value, np.ndarray) else value

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def has(self, index: int) -> bool:
        """Whether the operand is there."""
        return index < len(self._values) and self._values[index] is not None

    def known(self, index: int) -> Known | None:
        """The operand's value where it is a compile-time constant of numbers."""
        value = self._values[index] if index < len(self._values) else None
        return value if isinstance(value, np.ndarray) and value.dtype != object else None

    def need(self, index: int, what: str) -> Known:
        """As `known`, or an `UnsupportedError` that calls the operand ``what``."""
        value = self.known(index)
        if value is None:
            raise self._ctx.unsupported(
                f"{what} is computed at run time", "make it a constant of the model"
            )
        return value

    def ints(self, index: int) -> list[Any] | None:
        """The operand as a list of ints and shape expressions; None if absent or not known."""
        value = self._values[index] if index < len(self._values) else None
        if not isinstance(value, np.ndarray):
            return None
        return [int(v) if isinstance(v, (int, np.integer)) else v for v in value.reshape(-1)]

    def need_ints(self, index: int, what: str) -> list[Any]:
        """As `ints`, or an `UnsupportedError` that calls the operand ``what``."""
        values = self.ints(index)
        if values is None:
            self.need(index, what)
        assert values is not None
        return values

    def shape(self, index: int) -> tuple[Any, ...]:
        """Dims of an operand."""
        value = self._values[index]
        return value.shape if isinstance(value, np.ndarray) else self._ctx.shape(value)

    def static_shape(self, index: int) -> tuple[int, ...]:
        """Dims of an operand, all ints, else an `UnsupportedError`."""
        value = self._values[index]
        return value.shape if isinstance(value, np.ndarray) else self._ctx.static_shape(value)

    def rank(self, index: int) -> int:
        """Number of dims of an operand."""
        return len(self.shape(index))

    def dtype(self, index: int) -> str:
        """TVM dtype of an operand."""
        value = self._values[index]
        if isinstance(value, np.ndarray):
            return "int64" if value.dtype == object else str(value.dtype)
        return expr_dtype(value)


def constant(builder: relax.BlockBuilder, array: Known) -> relax.Expr:
    """An array as an expression; one without elements as ``zeros``, which TVM can store."""
    dtype = str(array.dtype)
    if not array.size:
        return builder.emit(relax.op.zeros(array.shape, dtype))
    # Without the dtype, relax.const makes an int32 of a rank-0 int64.
    return relax.const(np.require(array, requirements="C"), dtype)


def relax_shape(expr: relax.Expr) -> tuple[Any, ...] | None:
    """Dims of a tensor expression (ints where static), None where unknown."""
    shape = getattr(expr.ty, "shape", None)
    if not isinstance(shape, relax.ShapeExpr):
        return None
    return tuple(int(d) if isinstance(d, tvm.tirx.IntImm) else d for d in shape.values)


def expr_dtype(expr: relax.Expr) -> str:
    """TVM dtype of a tensor expression, as a string."""
    return str(expr.ty.dtype)
