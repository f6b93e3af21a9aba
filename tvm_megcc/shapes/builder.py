"""Build Relax expressions of tensors whose dims are sizes, and refuse dims that cannot be right.

A `ShapeBuilder` stands for one node in the function that its model becomes: it knows the symbolic
dims of that function and how messages call the node.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import tvm
from tvm import relax, tirx

from tvm_megcc.dims import Dim, Size, Symbol, compare, is_static, maximum, of, product
from tvm_megcc.errors import UnsupportedError
from tvm_megcc.relax_tools.control_flow import Functions
from tvm_megcc.relax_tools.exprs import make_constant, shape_of
from tvm_megcc.relax_tools.shape_exprs import prim_of

_FIX_SHAPE = "fix the model's dims with --input-shapes"


class IllTypedError(UnsupportedError):
    """The node breaks ONNX's own rules for the shapes at hand: it could never run with them."""


@dataclass(eq=False)
class ShapeBuilder:
    """Where the expressions of a node go, and the symbolic dims that are known there.

    Attributes
    ----------
    builder : relax.BlockBuilder
    op, label : str
        The kind of node (``Conv``), and how messages call the node (``Conv 'conv_12'``).
    outputs : tuple of str
        Names of the node's outputs; an output that nothing reads is ``""``.
    variables, symbols : dict
        The symbolic dims of the function by name: TVM's variables, and their bounds.
    functions : Functions
        Where the functions of loops are added.
    broadcast_from : dict of Size to tuple of Size
        The dims that `shapes.broadcast` made, and the two dims of which each was made.
    """

    builder: relax.BlockBuilder
    op: str
    label: str
    outputs: tuple[str, ...]
    variables: dict[str, Any]
    symbols: dict[str, Symbol | Size]
    functions: Functions = field(default_factory=Functions)
    broadcast_from: dict[Size, tuple[Size, ...]] = field(default_factory=dict)

    # ---- names ----

    @property
    def identifier(self) -> str:
        """The label as a cast takes it: a run that the cast refuses reports this name."""
        return "".join(c if c.isascii() and c.isalnum() else "_" for c in self.label).strip("_")

    @property
    def stem(self) -> str:
        """The node's first output, else its kind, as names of dims begin with it."""
        return re.sub(r"\W+", "_", next(filter(None, self.outputs), self.op), flags=re.ASCII)

    def unsupported(self, fact: str, remedy: str) -> UnsupportedError:
        """The error to raise: node, fact, remedy."""
        return UnsupportedError(f"{self.label}: {_brief(fact)}; {remedy}")

    def ill_typed(self, fact: str) -> IllTypedError:
        """The error to raise where no implementation could run the node with these shapes."""
        return IllTypedError(
            f"{self.label}: {_brief(fact)}; give other --input-shapes or correct the model"
        )

    # ---- bindings ----

    def emit(self, expr: relax.Expr) -> relax.Var:
        """Bind an intermediate result to a variable, whose type is then known."""
        return self.builder.emit(expr, self.functions.unused())

    def emit_output(self, expr: relax.Expr) -> relax.Var:
        """Bind a result of the function under construction."""
        return self.builder.emit_output(self.emit(expr), self.functions.unused("gv"))

    def typed(self, expr: relax.Expr) -> relax.Expr:
        """The expression, bound to a variable where it has no type yet (a call)."""
        return self.emit(expr) if isinstance(expr, tvm.ir.Call) else expr

    def const(self, value: Any, dtype: str) -> relax.Expr:
        """A constant of the given TVM dtype."""
        return constant(self.builder, np.asarray(value).astype(dtype))

    # ---- dims ----

    def new_dim(self, symbol: Symbol, variable: tirx.Var) -> Size:
        """Add a symbolic dim with its bounds to the function."""
        self.variables[symbol.name], self.symbols[symbol.name] = variable, symbol
        return of(symbol)

    def unused_dim(self, name: str) -> str:
        """`name`, with a number behind it where a symbolic dim has that name already."""
        names = (f"{name}{k or ''}" for k in range(len(self.variables) + 1))
        return next(n for n in names if n not in self.variables)

    def shape_or_none(self, expr: relax.Expr) -> tuple[Size, ...] | None:
        """The dims of an expression, None where they depend on more than those of the inputs."""
        return shape_of(expr, self.symbols)

    def shape(self, expr: relax.Expr) -> tuple[Size, ...]:
        """The dims of an expression.

        Raises
        ------
        UnsupportedError
            They depend on more than the shapes of the inputs.
        """
        shape = self.shape_or_none(expr)
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

    def sizes(self, values: Sequence[Size], dtype: str) -> relax.Expr:
        """A vector of sizes as a tensor."""
        parts = [
            relax.op.arange(self.prim(v), self.prim(v + 1), 1, dtype)
            if isinstance(v, Dim)
            else self.const([v], dtype)
            for v in values
        ]
        return self.emit(parts[0] if len(parts) == 1 else relax.op.concat(parts, 0))

    def size(self, value: Size, dtype: str) -> relax.Expr:
        """A size as a tensor of rank 0."""
        if isinstance(value, int):
            return self.const(value, dtype)
        return self.reshape(self.sizes([value], dtype), [])

    # ---- other shapes for a tensor ----

    def reshape(self, expr: relax.Expr, shape: Sequence[Size]) -> relax.Expr:
        """``reshape``; a size that does not follow from the operand's dims is checked at run time.

        A size of 0 or -1 is that number: no dim is kept or deduced.

        Raises
        ------
        IllTypedError
            It never has so many elements.
        """
        expr = self.typed(expr)
        have = self.shape(expr)
        if have == tuple(shape):
            return expr
        wanted, given = product(shape), product(have)
        if isinstance(wanted, int) and isinstance(given, int) and wanted != given:
            listed = ", ".join(map(str, shape))
            raise self.ill_typed(f"{given} elements do not fit into [{listed}]")
        if 0 in shape:
            return self._empty(expr, given, shape)
        if wanted != given:
            expr = self.cast(self.reshape(expr, [given]), [wanted])
            if len(shape) == 1:
                return expr
        return self.emit(relax.op.reshape(expr, self.prims(shape)))

    def _empty(self, expr: relax.Expr, given: Size, shape: Sequence[Size]) -> relax.Expr:
        """A tensor without elements in another shape of which a dim is 0.

        A Relax ``reshape`` takes a 0 for a dim that stays.
        """
        if given == 0:
            return self.emit(relax.op.zeros(self.prims(shape), expr_dtype(expr)))
        # The result uses the cast, so that the cast stays.
        none = self.cast(self.reshape(expr, [given]), [0])
        after = len(shape) - 1 - list(shape).index(0)
        if after:
            none = self.emit(relax.op.expand_dims(none, list(range(1, 1 + after))))
        return self.emit(relax.op.broadcast_to(none, self.prims(shape)))

    def cast(self, expr: relax.Expr, shape: Sequence[Size]) -> relax.Expr:
        """The tensor with another expression of its dims; a run checks dims that may differ."""
        expr = self.typed(expr)
        return expr if self.shape_or_none(expr) == tuple(shape) else self.match_cast(expr, shape)

    def match_cast(self, expr: relax.Expr, shape: Sequence[Size]) -> relax.Expr:
        """The tensor with these dims, which are checked at run time."""
        expr = self.typed(expr)
        have = self.shape_or_none(expr)  # a loop's state may have any dims
        if have is not None and len(have) != len(shape):
            raise self.ill_typed(f"an operand has {len(have)} dims, and needs {len(shape)}")
        ty = self._cast_type(shape, expr)
        found = self.builder.match_cast(expr, ty, self.identifier)
        if isinstance(expr, tvm.ir.GenericConst):
            # CanonicalizeBindings puts the constant, which has its own dims, where it is used.
            return self.emit(relax.op.reshape(found, ty.shape.values))
        return found

    def cast_type(self, like: relax.Expr) -> relax.TensorType:
        """The type of an expression with dims, as a ``match_cast`` may have it."""
        return self._cast_type(self.shape(like), like)

    def _cast_type(self, shape: Sequence[Size], like: relax.Expr) -> relax.TensorType:
        return relax.TensorType(list(map(cast_dim, self.prims(shape))), expr_dtype(like))

    def agreeing(self, expr: relax.Expr, shape: Sequence[Size], other: str) -> relax.Expr:
        """The tensor, whose first dims have to be these, which `other` has.

        Raises
        ------
        IllTypedError
            They never are.
        """
        expr = self.typed(expr)
        have = self.shape(expr)
        for axis, (a, b) in enumerate(zip(have, shape, strict=False)):
            if compare("eq", a, b) == 0:
                raise self.ill_typed(f"dim {axis} is {a}, and {b} as {other} has it")
        return self.cast(expr, [*shape, *have[len(shape) :]])

    def at_least(self, expr: relax.Expr, axis: int, size: Size) -> relax.Expr:
        """The tensor; a run in which its dim `axis` is below `size` is refused.

        Raises
        ------
        IllTypedError
            It is below for all shapes.
        """
        expr = self.typed(expr)
        have = self.shape(expr)[axis]
        if compare("lt", have, size) == 1:
            raise self.ill_typed(f"dim {axis} is {have}, and needs to be at least {size}")
        return self.limited(expr, axis, maximum(have, size))

    def limited(self, expr: relax.Expr, axis: int, wanted: Size) -> relax.Expr:
        """The tensor; a run in which its dim `axis` is not `wanted` is refused."""
        shape = list(self.shape(expr))
        have = shape[axis]
        if have == wanted:
            return expr
        shape[axis] = wanted
        limited = self.match_cast(expr, shape)
        if have == 0:  # to `reshape` a 0 is the operand's own dim, which is `wanted` now
            empty = relax.op.strided_slice(limited, [axis], [0], [0], assume_inbound=True)
            return self.emit(empty)
        shape[axis] = have
        # No cast back: of two casts that give a value its own type again TVM leaves none.
        return self.emit(relax.op.reshape(limited, self.prims(shape)))


def _brief(fact: str) -> str:
    """A fact of at most 400 characters, else its beginning and its end."""
    return fact if len(fact) <= 400 else f"{fact[:200]} ... {fact[-100:]}"


def cast_dim(want: Any) -> Any:
    """A dim for the type of a ``match_cast`` that defines no dim.

    TVM's CanonicalizeBindings takes a variable that stands alone for one that is defined here, and
    replaces it by what is cast, without end where that holds the variable itself, as a product with
    1 does. Such a product keeps it from being alone.
    """
    return tirx.Mul(want, tirx.IntImm("int64", 1)) if isinstance(want, tvm.ir.Var) else want


def constant(builder: relax.BlockBuilder, array: npt.NDArray[Any]) -> relax.Expr:
    """An array as an expression; one without elements as ``zeros``, which TVM can store."""
    if not array.size:
        return builder.emit(relax.op.zeros(array.shape, str(array.dtype)))
    return make_constant(array)


def expr_dtype(expr: relax.Expr) -> str:
    """TVM dtype of a tensor expression, as a string."""
    return str(expr.ty.dtype)
