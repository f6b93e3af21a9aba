"""What a converter gets: the node's place (`Context`), its operands (`Inputs`), its attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tvm
from tvm import relax, tirx

from .. import checks
from ..control_flow import Functions
from ..dims import Dim, Size, compare, is_static, maximum
from ..errors import UnsupportedError
from ..shape_exprs import prim_of, sizes_of
from ._sizes import Real, SizeArray

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
    variables : mapping of str to tirx.Var
        The symbolic dims of the function by name.
    functions : Functions
        Where the functions of loops are added.
    stored : mapping of Expr to str
        The values of storage types, and the type (TVM's name) of each (see `_stored`).
    """

    def __init__(
        self,
        builder: relax.BlockBuilder,
        opset: int,
        op: str,
        label: str,
        outputs: tuple[str, ...],
        variables: Mapping[str, tirx.Var] | None = None,
        functions: Functions | None = None,
        stored: dict[relax.Expr, str] | None = None,
    ) -> None:
        self.builder = builder
        self.opset = opset
        self.op = op
        self.label = label
        self.outputs = outputs
        self.variables = variables if variables is not None else {}
        self.functions = Functions() if functions is None else functions
        self.stored = {} if stored is None else stored

    def inside(self, builder: relax.BlockBuilder) -> Context:
        """The same node's place in another function."""
        return Context(
            builder,
            self.opset,
            self.op,
            self.label,
            self.outputs,
            self.variables,
            self.functions,
            self.stored,
        )

    def at_opset(self, opset: int) -> Context:
        """The same place, for another operator's conversion of that opset."""
        place = self.inside(self.builder)
        place.opset = opset
        return place

    def emit(self, expr: relax.Expr) -> relax.Var:
        """Bind an intermediate result to a variable, whose type is then known."""
        return self.builder.emit(expr)

    def stored_as(self, expr: relax.Expr, dtype: str) -> relax.Var:
        """Bind a result that holds values of a storage type."""
        var = self.builder.emit(expr)
        self.stored[var] = dtype
        return var

    def const(self, value: Any, dtype: str) -> relax.Expr:
        """A constant of the given TVM dtype."""
        return constant(self.builder, np.asarray(value).astype(dtype))

    def wants(self, index: int) -> bool:
        """Whether the node has an output of that index."""
        return index < len(self.outputs) and self.outputs[index] != ""

    def shape(self, expr: relax.Expr) -> tuple[Size, ...]:
        """The dims of an expression.

        Raises
        ------
        UnsupportedError
            They depend on more than the shapes of the inputs.
        """
        shape = relax_shape(expr)
        if shape is None:
            raise self.unsupported("the shape of an operand is known only at run time", _FIX_SHAPE)
        return shape

    def static_shape(self, expr: relax.Expr) -> tuple[int, ...]:
        """The dims of an expression, all ints, else an `UnsupportedError`."""
        return self.static(self.shape(expr))

    def static(self, sizes: Sequence[Size]) -> tuple[int, ...]:
        """Sizes that have to be ints, else an `UnsupportedError`."""
        if not is_static(sizes):
            listed = ", ".join(map(str, sizes))
            raise self.unsupported(f"needs static dims, an operand has [{listed}]", _FIX_SHAPE)
        return tuple(sizes)  # type: ignore[arg-type]

    def prim(self, size: Size) -> Any:
        """A size as the Relax operators take it."""
        return size if isinstance(size, int) else prim_of(size, self.variables)

    def prims(self, sizes: Sequence[Size]) -> list[Any]:
        """Sizes as the Relax operators take them."""
        return [self.prim(size) for size in sizes]

    def reshape(self, expr: relax.Expr, shape: Sequence[Size]) -> relax.Expr:
        """``reshape``; a size that does not follow from the operand's dims is checked at run time.

        Sizes of 0 or -1 mean just that: no dim is kept or deduced.
        """
        expr = self._typed(expr)
        have = self.shape(expr)
        if have == tuple(shape):
            return expr
        wanted = volume(shape)
        if wanted != volume(have) and not (is_static(shape) and is_static(have)):
            flat = self.emit(relax.op.reshape(expr, self.prims([volume(have)])))
            expr = self.cast(flat, [wanted])
            if len(shape) == 1:
                return expr
        return self.emit(relax.op.reshape(expr, self.prims(shape)))

    def cast(self, expr: relax.Expr, shape: Sequence[Size]) -> relax.Expr:
        """The same tensor under a shape that it has to have, by a `match_cast` where need be."""
        expr = self._typed(expr)
        return expr if relax_shape(expr) == tuple(shape) else self.match_cast(expr, shape)

    def _typed(self, expr: relax.Expr) -> relax.Expr:
        """A call is given a type by binding it; anything else has one."""
        return self.emit(expr) if isinstance(expr, tvm.ir.Call) else expr

    def match_cast(self, expr: relax.Expr, shape: Sequence[Size]) -> relax.Expr:
        """The same tensor under this shape: that it has it is checked at run time."""
        expr = self._typed(expr)
        have = expr.ty.shape.values
        dims = [cast_dim(a, b) for a, b in zip(have, self.prims(shape), strict=True)]
        # Named after the node: a run that is refused for it says this name.
        node = "".join(c if c.isascii() and c.isalnum() else "_" for c in self.label)
        ty = relax.TensorType(dims, expr_dtype(expr))
        return self.builder.match_cast(expr, ty, node.strip("_"))

    def checked(self, value: relax.Expr, holds: relax.Expr) -> relax.Expr:
        """`value`, for a run that ends with ``MEGCC_ERR_DATA`` when `holds` is false.

        Parameters
        ----------
        value : relax.Expr
            What is used after the check: the check depends on nothing else that comes before it.
        holds : relax.Expr
            ``bool``, of one element.
        """
        return self.emit(checks.checked(self._typed(value), self._typed(holds), self.label))

    def agreeing(self, expr: relax.Expr, shape: Sequence[Size], other: str) -> relax.Expr:
        """The same tensor, whose first dims have to be these, as `other` has them.

        Raises
        ------
        IllTypedError
            They never are.
        """
        expr = self._typed(expr)
        have = self.shape(expr)
        for axis, (a, b) in enumerate(zip(have, shape, strict=False)):
            if compare("eq", a, b) == 0:
                raise self.ill_typed(f"dim {axis} is {a}, and {b} as {other} has it")
        return self.cast(expr, [*shape, *have[len(shape) :]])

    def at_least(self, expr: relax.Expr, axis: int, size: Size) -> relax.Expr:
        """The same tensor, for shapes with which its dim `axis` is at least `size`.

        Raises
        ------
        IllTypedError
            It never is.
        """
        expr = self._typed(expr)
        shape = list(self.shape(expr))
        have = shape[axis]
        if compare("lt", have, size) == 1:
            raise self.ill_typed(f"dim {axis} is {have}, and needs to be at least {size}")
        return self.limited(expr, axis, maximum(have, size))

    def limited(self, expr: relax.Expr, axis: int, wanted: Size) -> relax.Expr:
        """The same tensor, for shapes with which its dim `axis` is what a limit makes of it."""
        shape = list(self.shape(expr))
        have = shape[axis]
        if have == wanted:
            return expr
        shape[axis] = wanted
        limited = self.match_cast(expr, shape)
        shape[axis] = have
        # No cast back: of two casts that give a value its own type again TVM leaves none.
        return self.emit(relax.op.reshape(limited, self.prims(shape)))

    def cast_type(self, like: relax.Expr) -> relax.TensorType:
        """The type of an expression with dims, as a ``match_cast`` may have it."""
        dims = [cast_dim(None, prim) for prim in self.prims(self.shape(like))]
        return relax.TensorType(dims, expr_dtype(like))

    def sizes(self, values: Sequence[Size], dtype: str) -> relax.Expr:
        """A vector of sizes as a tensor."""
        parts = [
            relax.op.arange(self.prim(v), self.prim(v + 1), 1, dtype)
            if isinstance(v, Dim)
            else self.const([v], dtype)
            for v in values
        ]
        return self.emit(parts[0] if len(parts) == 1 else relax.op.concat(parts, 0))

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
        values: Sequence[relax.Expr | Known | SizeArray | None],
        materialise: Callable[[int], relax.Expr],
    ) -> None:
        self._ctx = ctx
        self._values = values
        self._materialise = materialise

    @staticmethod
    def of(ctx: Context, values: Sequence[relax.Expr | None]) -> Inputs:
        """Operands for another operator's conversion."""
        return Inputs(ctx, values, lambda i: values[i])

    def inside(self, ctx: Context, params: Mapping[int, relax.Expr]) -> Inputs:
        """The operands as a function sees them that gets them as parameters, by their index.

        What is known of them is known there, too.
        """
        values = [params.get(i, v) if isinstance(v, relax.Expr) else v
                  for i, v in enumerate(self._values)]  # fmt: skip
        return Inputs(ctx, values, lambda i: params[i])

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not self.has(index):
            return None
        value = self._values[index]
        return self._materialise(index) if isinstance(value, _ARRAYS) else value

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def replaced(self, index: int, value: relax.Expr) -> Inputs:
        """The operands with another one in the place of one."""
        values = [value if k == index else v for k, v in enumerate(self._values)]
        return Inputs(self._ctx, values, self._materialise)

    def has(self, index: int) -> bool:
        """Whether the operand is there."""
        return index < len(self._values) and self._values[index] is not None

    def known(self, index: int) -> Known | None:
        """The operand's value where it is a compile-time constant of numbers."""
        value = self._values[index] if index < len(self._values) else None
        return value if isinstance(value, np.ndarray) else None

    def need(self, index: int, what: str) -> Known:
        """As `known`, or an `UnsupportedError` that calls the operand ``what``."""
        value = self.known(index)
        if value is None:
            raise self._ctx.unsupported(
                f"{what} is computed at run time", "make it a constant of the model"
            )
        return value

    def ints(self, index: int) -> list[Any] | None:
        """The operand as a list of sizes; None if absent or not known."""
        value = self._values[index] if index < len(self._values) else None
        if isinstance(value, SizeArray):
            return value.flat() if "int" in value.dtype else None
        return None if not isinstance(value, np.ndarray) else [int(v) for v in value.reshape(-1)]

    def reals(self, index: int) -> list[float | Real] | None:
        """The operand as a list of numbers and quotients of sizes; None if absent or not known."""
        value = self._values[index] if index < len(self._values) else None
        if isinstance(value, SizeArray):
            items = [Real.of(item) for item in value.flat()]
            return [item if (n := item.number()) is None else n for item in items]
        return None if not isinstance(value, np.ndarray) else [float(v) for v in value.reshape(-1)]

    def need_ints(self, index: int, what: str, low: int | None = None) -> list[Any]:
        """As `ints`, or an `UnsupportedError` that calls the operand ``what``.

        With ``low`` an operand that is computed at run time is read then: each element, at least
        ``low``, is a size that depends on data.
        """
        values = self.ints(index)
        if low is not None and self.is_read(index):
            return self._read_unknown(index, low)
        if values is None:
            self.need(index, what)
        assert values is not None
        return values

    def is_read(self, index: int) -> bool:
        """Whether an operand is a few integers that can be read when they are computed."""
        if not self.has(index) or self.ints(index) is not None:
            return False
        shape = relax_shape(self[index])
        short = shape is not None and len(shape) <= 1 and is_static(shape)
        return short and self.dtype(index) in ("int32", "int64")

    def _read_unknown(self, index: int, low: int) -> list[Any]:
        """The elements of a few integers; those that are not known are read."""
        from ._elements import elements, picked

        known: list[Any] = list(elements(self._ctx, self[index]))
        open_ones = [k for k, value in enumerate(known) if value is None]
        if len(open_ones) == len(known):
            return self.read(self[index], index, low)
        if open_ones:
            values = self.read(picked(self._ctx, self[index], open_ones), index, low)
            for k, value in zip(open_ones, values, strict=True):
                known[k] = value
        return known

    def read(self, values: relax.Expr, index: int, low: int = 0) -> list[Size]:
        """The elements of a few integers as sizes that depend on data.

        ``index`` is the operand that they come from, for their names; they are at least ``low``.
        """
        from ._data_sizes import sizes_from

        ctx = self._ctx
        (count,) = ctx.static_shape(values) or (1,)
        if count == 0:
            return []
        wide = ctx.emit(relax.op.reshape(ctx.emit(relax.op.astype(values, "int64")), [count]))
        names = [f"in{index}_{k}" for k in range(count)]
        return sizes_from(ctx, wide, names, [None] * count, low)

    def shape(self, index: int) -> tuple[Size, ...]:
        """Dims of an operand."""
        value = self._values[index]
        return value.shape if isinstance(value, _ARRAYS) else self._ctx.shape(value)

    def static_shape(self, index: int) -> tuple[int, ...]:
        """Dims of an operand, all ints, else an `UnsupportedError`."""
        return self._ctx.static(self.shape(index))

    def rank(self, index: int) -> int:
        """Number of dims of an operand."""
        return len(self.shape(index))

    def dtype(self, index: int) -> str:
        """TVM dtype of an operand; of a storage type, not of the bytes that hold it."""
        value = self._values[index]
        if isinstance(value, _ARRAYS):
            return str(value.dtype)
        return self._ctx.stored.get(value) or expr_dtype(value)


_ARRAYS = (np.ndarray, SizeArray)


def cast_dim(have: Any, want: Any) -> Any:
    """A dim as a ``match_cast`` may have it.

    TVM's CanonicalizeBindings takes a variable that stands alone for one that is defined here, and
    replaces it by what is cast, without end where that holds the variable itself. A product with 1
    keeps it from being alone.
    """
    if not isinstance(want, tvm.ir.Var) or want.same_as(have):
        return want
    return tirx.Mul(want, tirx.IntImm("int64", 1))


def volume(shape: Sequence[Size]) -> Size:
    """Number of elements."""
    result: Size = 1
    for size in shape:
        result = size * result
    return result


def constant(builder: relax.BlockBuilder, array: Known) -> relax.Expr:
    """An array as an expression; one without elements as ``zeros``, which TVM can store."""
    dtype = str(array.dtype)
    if not array.size:
        return builder.emit(relax.op.zeros(array.shape, dtype))
    # Without the dtype, relax.const makes an int32 of a rank-0 int64.
    return relax.const(np.require(array, requirements="C"), dtype)


def relax_shape(expr: relax.Expr) -> tuple[Size, ...] | None:
    """Dims of a tensor expression, None where unknown."""
    return sizes_of(getattr(expr.ty, "shape", None))


def expr_dtype(expr: relax.Expr) -> str:
    """TVM dtype of a tensor expression, as a string."""
    return str(expr.ty.dtype)
