"""WholeActivations: activations that exporters write in pieces become one operator.

    multiply(multiply(x, add(erf(divide(x, 1.4142135)), 1)), 0.5)  ->  nn.gelu(x)

Pieces are an expression of one value and numbers. Its values at `POINTS` say which activation it
is, so the order of factors and the way a power is written do not matter. A row of `ACTIVATIONS` is
an operator of Relax and its function in f64 (ADR 0030).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import numpy.typing as npt
from tvm import relax

from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.exprs import as_float, dtype_of, shape_of
from tvm_megcc.relax_tools.rewriting import Rewriter, bound, on, rewriting_pass
from tvm_megcc.relax_tools.traits import named

Floats = npt.NDArray[np.float64]
Function = Callable[..., Floats]

_erf: Function = np.vectorize(math.erf, otypes=[np.float64])


def _sigmoid(x: Floats) -> Floats:
    y: Floats = 1 / (1 + np.exp(-x))
    return y


def _gelu(x: Floats) -> Floats:
    return 0.5 * x * (1 + _erf(x / math.sqrt(2)))


def _gelu_tanh(x: Floats) -> Floats:
    y: Floats = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return y


def _hard_swish(x: relax.Expr) -> relax.Call:
    """HardSwish of a value, which has no operator in Relax, as `fuse.activation` knows it.

    Nothing stands behind the product, which `FoldScaleShift` would move into weights.
    """
    dtype = str(x.ty.dtype)
    sixth, half = (relax.const(np.asarray(value, dtype), dtype) for value in (1 / 6, 0.5))
    line = relax.op.add(relax.op.multiply(x, sixth), half)
    return relax.op.multiply(x, relax.op.clip(line, 0, 1))


#: Operators that pieces are made of, with their functions.
PIECES: Mapping[str, Function] = {
    "relax.add": np.add,
    "relax.subtract": np.subtract,
    "relax.multiply": np.multiply,
    "relax.divide": np.divide,
    "relax.power": np.power,
    "relax.square": np.square,
    "relax.negative": np.negative,
    "relax.exp": np.exp,
    "relax.erf": _erf,
    "relax.tanh": np.tanh,
    "relax.sigmoid": _sigmoid,
    "relax.clip": np.clip,
}
#: Pieces of which an activation has at least one.
CURVES = named("exp erf tanh sigmoid clip")
#: Calls in front of the last one among which an activation's operand is looked for. GELU by tanh
#: with a product for each power has 10; the others are of the operand itself.
MOST_PIECES = 24

#: Operators by the curve they need, else by any, and their functions. GELU by erf and by tanh
#: differ by less than constants of bf16 do, and so are told apart by the curve.
ACTIVATIONS: Mapping[Callable[[relax.Expr], relax.Call], tuple[bool, Function]] = {
    relax.op.nn.gelu: (True, _gelu),
    relax.op.nn.gelu_tanh: (False, _gelu_tanh),
    relax.op.nn.silu: (False, lambda x: x * _sigmoid(x)),
    relax.op.sigmoid: (False, _sigmoid),
    _hard_swish: (False, lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
}

#: Where activations are compared: close together where they bend, and far out.
POINTS = np.concatenate([np.linspace(-9.7, 9.7, 98), [-3e4, -700.0, -41.0, 29.0, 600.0, 5e4]])
#: Largest difference of an expression and its activation, in f64, over ``max(abs(x), 1)``: a few
#: times that of constants which are rounded to the model's type, and in f32 no more than the
#: kernels' own error.
TOLERANCE = {"f64": 1e-12, "f32": 2e-7, "f16": 5e-4, "bf16": 4e-3}


def bound_of(dtype: str) -> Floats:
    """Largest difference at each of `POINTS` for a model's type."""
    largest: Floats = np.maximum(np.abs(POINTS), 1)
    return TOLERANCE[dtype] * largest


with np.errstate(all="ignore"):
    #: Operator, whether by erf, and its values at `POINTS`.
    _ROWS = [(row, by_erf, f(POINTS)) for row, (by_erf, f) in ACTIVATIONS.items()]


@rewriting_pass("tvm_megcc.WholeActivations", clean=True)
class WholeActivations(Rewriter):
    """Replace activations in pieces by operators."""

    @on("relax.multiply", "relax.divide")
    def _whole(self, call: relax.Call) -> relax.Expr:
        dtype = dtype_of(call)
        if dtype in TOLERANCE:
            for x in self._operands(call):
                expression = _Expression(self, x)
                got = expression.values(call)
                for operator, by_erf, wanted in _ROWS:
                    same_curve = by_erf == ("relax.erf" in expression.names)
                    if got is not None and same_curve and _is_close(got, wanted, dtype):
                        return operator(x)
        return call

    def _operands(self, call: relax.Call) -> Iterator[relax.Var]:
        """Values that may be an activation's operand: of its shape and type, nearest first."""
        pieces: dict[relax.Call, None] = {}
        waiting: list[relax.Expr] = [call]
        while waiting and len(pieces) < MOST_PIECES:
            piece = bound(self, waiting.pop(0))
            if op_name(piece) in PIECES and piece not in pieces:
                pieces[piece] = None
                waiting.extend(piece.args)
        if CURVES.isdisjoint(map(op_name, pieces)):
            return
        shape, dtype = shape_of(call, self.symbols), dtype_of(call)
        for x in dict.fromkeys(arg for piece in pieces for arg in piece.args):
            if isinstance(x, relax.Var) and shape is not None and dtype_of(x) == dtype:
                if shape_of(x, self.symbols) == shape:
                    yield x


class _Expression:
    """Values of expressions at `POINTS` of an operand.

    Attributes
    ----------
    names : set of str
        Operators between the operand and the expressions that were asked for.
    """

    def __init__(self, rewriter: Rewriter, x: relax.Var) -> None:
        self.names: set[str] = set()
        self._rewriter = rewriter
        self._known: dict[relax.Expr, Floats | None] = {x: POINTS}

    def values(self, expr: relax.Expr) -> Floats | None:
        """An expression of the operand and numbers; None if another value is in it."""
        if expr not in self._known:
            self._known[expr] = self._found(expr)
        return self._known[expr]

    def _found(self, expr: relax.Expr) -> Floats | None:
        if (number := as_float(expr)) is not None:
            return np.full_like(POINTS, number)
        piece = bound(self._rewriter, expr)
        if op_name(piece) not in PIECES or len(self.names) > MOST_PIECES:
            return None
        values = []
        for arg in piece.args:
            found = self.values(arg)
            if found is None:
                return None
            values.append(found)
        self.names.add(op_name(piece))
        with np.errstate(all="ignore"):
            return PIECES[op_name(piece)](*values)


def _is_close(got: Floats, wanted: Floats, dtype: str) -> bool:
    with np.errstate(all="ignore"):
        return bool(np.all(np.abs(got - wanted) <= bound_of(dtype)))
