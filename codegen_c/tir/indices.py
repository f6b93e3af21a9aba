"""Positions, sizes and conditions on them as C: *index mode*, see `exprs`."""

from __future__ import annotations

from abc import ABC, abstractmethod

import tvm
import tvm_ffi
from tvm import tirx
from tvm.sym import Analyzer

from tvm_megcc.errors import UnsupportedError

from .c_scalars import is_signed, value_type

_INDEX_DTYPES = ("int32", "int64")
INDEX_TYPES = {"int32": "int32_t", "int64": "ptrdiff_t"}
WRAPPING = {tirx.Add: "+", tirx.Sub: "-", tirx.Mul: "*"}
COMPARE = {tirx.EQ: "==", tirx.NE: "!=", tirx.LT: "<", tirx.LE: "<=", tirx.GT: ">", tirx.GE: ">="}
DIVIDE = {
    tirx.FloorDiv: "floordiv",
    tirx.FloorMod: "floormod",
    tirx.Div: "div",
    tirx.Mod: "mod",
}


def key_of(expr: tvm.ir.Expr) -> tvm_ffi.StructuralKey:
    """A key that equal expressions of the same variables share."""
    return tvm_ffi.StructuralKey(expr)  # type: ignore[call-arg]  # the stub has a field as argument


def dtype_of(expr: tvm.ir.Expr) -> str:
    return str(expr.ty.dtype)


class IndexPrinter(ABC):
    """Prints expressions over loop variables and sizes of one function, and names variables.

    Attributes
    ----------
    analyzer : Analyzer
        Knows the ranges of the loop variables in scope, to prove divisions free of signs.
    uses : set of str
        Headers that the printed text needs.
    """

    def __init__(self, function: str) -> None:
        self.function = function
        self.analyzer = Analyzer()
        self.uses: set[str] = set()
        self._names: dict[tvm.ir.Var, str] = {}
        self._index_vars: set[tvm.ir.Var] = set()
        self._buffers: dict[tvm.ir.Var, str] = {}
        #: C names of buffers of which the one element in use is held in a C variable.
        self.registers: dict[str, str] = {}
        #: Divisions of indices that a C variable holds, and the variable.
        self.quotients: dict[tvm_ffi.StructuralKey, str] = {}

    # -- names ---------------------------------------------------------------------------------

    def bind(self, var: tvm.ir.Var, name: str, *, index: bool) -> None:
        """Give a scalar variable its C name; `index` says its C type is an index type."""
        self._names[var] = name
        if index:
            self._index_vars.add(var)

    def bind_buffer(self, buffer: tvm.ir.Var, name: str) -> None:
        self._buffers[buffer] = name

    def buffer(self, buffer: tvm.ir.Var) -> str:
        if buffer not in self._buffers:
            raise self.unsupported(f"buffer {buffer.name} is not declared in the function")
        return self._buffers[buffer]

    def unsupported(self, what: str) -> UnsupportedError:
        return UnsupportedError(
            f"TIR function '{self.function}': {what}; write a kernel for this operator or "
            "replace it in the model"
        )

    # -- index mode ----------------------------------------------------------------------------

    def is_index(self, e: tvm.ir.Expr) -> bool:
        """Whether `e` is integer arithmetic on loop variables, sizes and small constants only."""
        if isinstance(e, tirx.IntImm):
            return dtype_of(e) in _INDEX_DTYPES and -(2**31) < e.value < 2**31
        if isinstance(e, tvm.ir.Var):
            return e in self._index_vars
        if isinstance(e, tirx.Cast):
            known = self._is_comparison(e.value) or self.is_index(e.value)
            return dtype_of(e) in _INDEX_DTYPES and known
        if isinstance(e, tuple(WRAPPING) + tuple(DIVIDE) + (tirx.Min, tirx.Max)):
            return dtype_of(e) in _INDEX_DTYPES and self.is_index(e.a) and self.is_index(e.b)
        return False

    def _is_comparison(self, e: tvm.ir.Expr) -> bool:
        return type(e) in COMPARE and self.is_index(e.a) and self.is_index(e.b)

    def index(self, e: tvm.ir.Expr) -> str:
        """Print an expression whose value is a position or a size."""
        if not self.is_index(e):
            text = self.value(e)
            return f"(ptrdiff_t)({text})" if dtype_of(e) == "int64" else text
        if isinstance(e, tirx.IntImm):
            return str(e.value) if e.value >= 0 else f"({e.value})"
        if isinstance(e, tvm.ir.Var):
            return self._names[e]
        if isinstance(e, tirx.Cast):
            print_value = self.condition if self._is_comparison(e.value) else self.index
            return f"({INDEX_TYPES[dtype_of(e)]}){print_value(e.value)}"
        if type(e) in DIVIDE and (held := self.quotients.get(key_of(e))):
            return held
        a, b = self.index(e.a), self.index(e.b)
        if type(e) in WRAPPING:
            return f"({a} {WRAPPING[type(e)]} {b})"
        kind = "idx" if dtype_of(e) == "int64" else "i32"
        if isinstance(e, (tirx.Min, tirx.Max)):
            self.uses.add("math/megcc_math.h")
            return f"megcc_{'min' if isinstance(e, tirx.Min) else 'max'}_{kind}({a}, {b})"
        return self._divide(DIVIDE[type(e)], e, a, b, kind)

    def condition(self, e: tvm.ir.Expr) -> str:
        """Print a truth value for ``if`` and ``?:``."""
        if self._is_comparison(e):
            return f"({self.index(e.a)} {COMPARE[type(e)]} {self.index(e.b)})"
        return self.value(e)

    def _divide(self, kind: str, e: tvm.ir.Expr, a: str, b: str, suffix: str) -> str:
        sign = "/" if kind.endswith("div") else "%"
        if isinstance(e.b, tirx.IntImm) and e.b.value > 0:
            unsigned = not is_signed(dtype_of(e))
            if unsigned or not kind.startswith("floor") or self._non_negative(e.a):
                narrow = suffix in ("i8", "i16", "u8", "u16")
                text = f"({a} {sign} {b})"
                return f"(({value_type(dtype_of(e))}){text})" if narrow else text
        if not is_signed(dtype_of(e)):
            kind = kind.removeprefix("floor")
        self.uses.add("math/megcc_math.h")
        return f"megcc_{kind}_{suffix}({a}, {b})"

    def _non_negative(self, e: tvm.ir.Expr) -> bool:
        return int(self.analyzer.const_int_bound(e).min_value) >= 0

    @abstractmethod
    def value(self, e: tvm.ir.Expr) -> str:
        """Print an expression with TVM's semantics; its C type is ``value_type(dtype)``."""
