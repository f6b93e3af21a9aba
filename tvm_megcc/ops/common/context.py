"""A node's place in the graph that is converted, and its attributes: what every converter gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tvm
from tvm import relax, tirx

from tvm_megcc.relax_tools import checks
from tvm_megcc.relax_tools.control_flow import Functions
from tvm_megcc.relax_tools.exprs import make_constant, shape_of
from tvm_megcc.relax_tools.shape_exprs import prim_of

from ...dims import Dim, Size, Symbol, compare, is_static, maximum, of
from ...errors import UnsupportedError

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
    variables, symbols : dict
        The symbolic dims of the function by name: TVM's variables, and their bounds.
    functions : Functions
        Where the functions of loops are added.
    stored : mapping of Expr to str
        The values of storage types, and the type (TVM's name) of each (see `common.stored`).
    met : mapping of Size to tuple of Size
        The dims that open dims which met have become (see `common.stretched`), and those two dims.
    ranks : tuple of int or None
        How many dims the model says each of the outputs has; None or missing where it says nothing.
    """

    def __init__(
        self,
        builder: relax.BlockBuilder,
        opset: int,
        op: str,
        label: str,
        outputs: tuple[str, ...],
        variables: dict[str, Any],
        symbols: dict[str, Symbol | Size],
        functions: Functions | None = None,
        stored: dict[relax.Expr, str] | None = None,
        met: dict[Size, tuple[Size, ...]] | None = None,
        ranks: tuple[int | None, ...] = (),
    ) -> None:
        self.builder = builder
        self.opset = opset
        self.op = op
        self.label = label
        self.outputs = outputs
        self.variables, self.symbols = variables, symbols
        self.functions = Functions() if functions is None else functions
        self.stored = {} if stored is None else stored
        self.met = {} if met is None else met
        self.ranks = ranks

    def inside(self, builder: relax.BlockBuilder) -> Context:
        """The same node's place in another function."""
        return Context(
            builder,
            self.opset,
            self.op,
            self.label,
            self.outputs,
            self.variables,
            self.symbols,
            self.functions,
            self.stored,
            self.met if builder is self.builder else dict(self.met),
            self.ranks,
        )

    def at_opset(self, opset: int) -> Context:
        """The same place, for another operator's conversion of that opset."""
        place = self.inside(self.builder)
        place.opset = opset
        return place

    def emit(self, expr: relax.Expr) -> relax.Var:
        """Bind an intermediate result to a variable, whose type is then known."""
        return self.builder.emit(expr, self.functions.unused())

    def emit_output(self, expr: relax.Expr) -> relax.Var:
        """Bind a result of the function under construction."""
        return self.builder.emit_output(self.emit(expr), self.functions.unused("gv"))

    def new_dim(self, symbol: Symbol, variable: tirx.Var) -> Size:
        """A symbolic dim that is new in the function, with its bounds."""
        self.variables[symbol.name], self.symbols[symbol.name] = variable, symbol
        return of(symbol)

    def unused_dim(self, name: str) -> str:
        """A name like this one that no symbolic dim has."""
        names = (f"{name}{k or ''}" for k in range(len(self.variables) + 1))
        return next(n for n in names if n not in self.variables)

    def stored_as(self, expr: relax.Expr, dtype: str) -> relax.Var:
        """Bind a result that holds values of a storage type."""
        var = self.emit(expr)
        self.stored[var] = dtype
        return var

    def as_f32(self, expr: relax.Expr) -> relax.Expr:
        """A tensor in f32: itself where it is that."""
        if expr_dtype(expr) == "float32":
            return expr
        return self.emit(relax.op.astype(expr, "float32"))

    def const(self, value: Any, dtype: str) -> relax.Expr:
        """A constant of the given TVM dtype."""
        return constant(self.builder, np.asarray(value).astype(dtype))

    def wants(self, index: int) -> bool:
        """Whether the node has an output of that index."""
        return index < len(self.outputs) and self.outputs[index] != ""

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

    def reshape(self, expr: relax.Expr, shape: Sequence[Size]) -> relax.Expr:
        """``reshape``; a size that does not follow from the operand's dims is checked at run time.

        Sizes of 0 or -1 mean just that: no dim is kept or deduced.

        Raises
        ------
        IllTypedError
            It never has so many elements.
        """
        expr = self._typed(expr)
        have = self.shape(expr)
        if have == tuple(shape):
            return expr
        wanted, given = volume(shape), volume(have)
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
        # The result comes of the cast, so that the cast stays.
        none = self.cast(self.reshape(expr, [given]), [0])
        after = len(shape) - 1 - list(shape).index(0)
        if after:
            none = self.emit(relax.op.expand_dims(none, list(range(1, 1 + after))))
        return self.emit(relax.op.broadcast_to(none, self.prims(shape)))

    def cast(self, expr: relax.Expr, shape: Sequence[Size]) -> relax.Expr:
        """The same tensor under a shape that it has to have, by a `match_cast` where need be."""
        expr = self._typed(expr)
        return expr if self.shape_or_none(expr) == tuple(shape) else self.match_cast(expr, shape)

    def _typed(self, expr: relax.Expr) -> relax.Expr:
        """A call is given a type by binding it; anything else has one."""
        return self.emit(expr) if isinstance(expr, tvm.ir.Call) else expr

    def match_cast(self, expr: relax.Expr, shape: Sequence[Size]) -> relax.Expr:
        """The same tensor under this shape: that it has it is checked at run time."""
        expr = self._typed(expr)
        have = self.shape_or_none(expr)  # a loop's state may have any dims
        if have is not None and len(have) != len(shape):
            raise self.ill_typed(f"an operand has {len(have)} dims, and needs {len(shape)}")
        dims = [cast_dim(prim) for prim in self.prims(shape)]
        ty = relax.TensorType(dims, expr_dtype(expr))
        found = self.builder.match_cast(expr, ty, self.identifier)
        if isinstance(expr, tvm.ir.GenericConst):
            # CanonicalizeBindings puts the constant, which has its own dims, where it is used.
            return self.emit(relax.op.reshape(found, dims))
        return found

    @property
    def identifier(self) -> str:
        """The node's name for a cast: a run that is refused for it says this name."""
        return "".join(c if c.isascii() and c.isalnum() else "_" for c in self.label).strip("_")

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
        if have == 0:  # to `reshape` a 0 is the operand's own dim, which is `wanted` now
            empty = relax.op.strided_slice(limited, [axis], [0], [0], assume_inbound=True)
            return self.emit(empty)
        shape[axis] = have
        # No cast back: of two casts that give a value its own type again TVM leaves none.
        return self.emit(relax.op.reshape(limited, self.prims(shape)))

    def cast_type(self, like: relax.Expr) -> relax.TensorType:
        """The type of an expression with dims, as a ``match_cast`` may have it."""
        dims = [cast_dim(prim) for prim in self.prims(self.shape(like))]
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
        return UnsupportedError(f"{self.label}: {_brief(fact)}; {remedy}")

    def ill_typed(self, fact: str) -> IllTypedError:
        """The error to raise where no implementation could run the node with these shapes."""
        return IllTypedError(
            f"{self.label}: {_brief(fact)}; give other --input-shapes or correct the model"
        )


def _brief(fact: str) -> str:
    """A fact without the middle of a list that nobody reads."""
    return fact if len(fact) <= 400 else f"{fact[:200]} ... {fact[-100:]}"


#: Numbers that a constant may count.
MAX_COUNTED = 1 << 26

_FIX_SHAPE = "fix the model's dims with --input-shapes"


def cast_dim(want: Any) -> Any:
    """A dim as a ``match_cast`` may have it.

    TVM's CanonicalizeBindings takes a variable that stands alone for one that is defined here, and
    replaces it by what is cast, without end where that holds the variable itself, as a product with
    1 does. Such a product keeps it from being alone.
    """
    return tirx.Mul(want, tirx.IntImm("int64", 1)) if isinstance(want, tvm.ir.Var) else want


def counted(ctx: Context, count: Size) -> None:
    """Raise for too many numbers from 0 on, which TVM makes a constant where it knows how many."""
    if isinstance(count, int) and count > MAX_COUNTED:
        raise ctx.unsupported(
            f"makes {count} elements of constants", "give them as an input of the model"
        )


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
    return make_constant(array)


def expr_dtype(expr: relax.Expr) -> str:
    """TVM dtype of a tensor expression, as a string."""
    return str(expr.ty.dtype)
