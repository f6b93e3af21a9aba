"""TIR expressions -> C expressions.

Two modes. *Index mode* (subscripts, loop bounds, conditions on loop variables) uses plain C
arithmetic on ``int32_t`` and ``ptrdiff_t``: an index that is in range cannot overflow. *Value mode*
gives every integer operation TVM's wrap-around meaning through unsigned arithmetic, so that no
input can make the generated code undefined. 16-bit floats are computed with as ``float``.
"""

from __future__ import annotations

from collections.abc import Callable

import tvm
from tvm import tirx
from tvm.ir import Call, StringImm, TensorLoad

from . import choices, intrinsics
from .c_scalars import (
    HALF,
    bits,
    float_literal,
    int_literal,
    is_float,
    short,
    value_type,
)
from .indices import COMPARE, DIVIDE, WRAPPING, IndexPrinter, dtype_of
from .walk import name_of

_BITWISE = {
    tirx.BitwiseAnd: "&",
    tirx.BitwiseOr: "|",
    tirx.BitwiseXor: "^",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
}
_SHIFT = {tirx.LShift: "shl", tirx.RShift: "shr", "shift_left": "shl", "shift_right": "shr"}


class ExprPrinter(IndexPrinter):
    """Prints expressions of one function: index mode is inherited, value mode is here."""

    def value(self, e: tvm.ir.Expr) -> str:
        """Print an expression with TVM's semantics; its C type is ``value_type(dtype)``."""
        dtype = dtype_of(e)
        if isinstance(e, tirx.IntImm):
            if is_float(dtype):
                return self._float(float(e.value), dtype)
            return int_literal(e.value, dtype)
        if isinstance(e, tirx.FloatImm):
            return self._float(e.value, dtype)
        if isinstance(e, tvm.ir.Var):
            if e not in self._names:
                raise self.unsupported(f"variable {e.name} is not bound")
            return self._names[e]
        if isinstance(e, TensorLoad):
            return self.load(e.source, list(e.indices))
        if isinstance(e, tirx.Cast):
            return self._cast(e)
        if type(e) in WRAPPING:
            return self._arith(WRAPPING[type(e)], e, dtype)
        if type(e) in DIVIDE:
            return self._division(e, dtype)
        if isinstance(e, (tirx.Min, tirx.Max)):
            return self._min_max(e, dtype)
        if type(e) in COMPARE:
            asked = choices.truth(e)
            if asked is not None:
                return self.value(asked)
            if self.is_index(e.a) and self.is_index(e.b):
                return self.condition(e)
            return f"({self.value(e.a)} {COMPARE[type(e)]} {self.value(e.b)})"
        if isinstance(e, (tirx.And, tirx.Or)):
            sign = "&&" if isinstance(e, tirx.And) else "||"
            return f"({self.condition(e.a)} {sign} {self.condition(e.b)})"
        if isinstance(e, tirx.Not):
            return f"(!{self.condition(e.a)})"
        if isinstance(e, tirx.Select):
            return self._select(e.condition, e.true_value, e.false_value)
        if isinstance(e, tirx.Let):
            raise self.unsupported("a let inside an expression was not lifted to a statement")
        if type(e) in _BITWISE:
            return self._bitwise(_BITWISE[type(e)], e.a, e.b, dtype)
        if type(e) in _SHIFT:
            return self._shift(_SHIFT[type(e)], e.a, e.b, dtype)
        if isinstance(e, tirx.BitwiseNot):
            return f"(({value_type(dtype)})(~{self.value(e.a)}))"
        if isinstance(e, Call):
            return self._call(e, dtype)
        raise self.unsupported(f"no C for a {type(e).__name__} expression of dtype {dtype}")

    def _float(self, value: float, dtype: str) -> str:
        text = float_literal(value, dtype)
        return self._math(text) if "MEGCC_" in text else text

    def load(self, buffer: tvm.ir.Var, indices: list[tvm.ir.Expr]) -> str:
        """Print one element of a buffer as a value."""
        if self.buffer(buffer) in self.registers:
            return self.registers[self.buffer(buffer)]
        dtype = str(buffer.ty.dtype)
        text = f"{self.buffer(buffer)}[{self.subscript(indices)}]"
        return self._from_storage(text, dtype) if dtype in HALF else text

    def subscript(self, indices: list[tvm.ir.Expr]) -> str:
        """Print the position of a flat access."""
        if len(indices) != 1:
            raise self.unsupported(f"an access with {len(indices)} indices is not flat")
        return bare(self.index(indices[0]))

    def _math(self, text: str) -> str:
        """`text`, which calls functions of ``megcc_math.h``."""
        self.uses.add("math/megcc_math.h")
        return text

    def _half(self, name: str, text: str) -> str:
        self.uses.add("simd/megcc_f16.h")
        return f"{name}({text})"

    def stored(self, e: tvm.ir.Expr, dtype: str) -> str:
        """Print `e` as it goes into a buffer of `dtype`."""
        text = self.value(e)
        if dtype in HALF:
            return self.to_storage(text, dtype)
        if dtype == "bool" and dtype_of(e) == "bool":
            return text if isinstance(e, (TensorLoad, tirx.IntImm)) else f"(uint8_t){text}"
        return text

    def to_storage(self, text: str, dtype: str) -> str:
        """Round a ``float`` to a 16-bit float's bits."""
        return self._half(f"megcc_f32_to_{short(dtype)}", text)

    def _from_storage(self, text: str, dtype: str) -> str:
        """Widen a 16-bit float's bits to a ``float``."""
        return self._half(f"megcc_{short(dtype)}_to_f32", text)

    def _cast(self, e: tirx.Cast) -> str:
        source, target = dtype_of(e.value), dtype_of(e)
        if self.is_index(e):
            return self.index(e) if target == "int32" else f"(int64_t){self.index(e.value)}"
        text = self.value(e.value)
        if target == "bool":
            return f"({text} != 0)"
        if is_float(source) and not is_float(target):
            wide = "f64" if source == "float64" else "f32"
            # Like numpy on x86: narrow integers take the low bits of the 32- or 64-bit result.
            through = (
                short(target) if bits(target) == 64 else "i64" if target == "uint32" else "i32"
            )
            converted = self._math(f"megcc_{wide}_to_{through}({text})")
            return converted if through == short(target) else f"(({value_type(target)}){converted})"
        if target in HALF and source != target:
            if source == "float64" or not is_float(source):
                text = f"(float){text}"
            return self._from_storage(self.to_storage(text, target), target)
        if value_type(source) == value_type(target):
            return text
        return f"(({value_type(target)}){text})"

    def _arith(self, sign: str, e: tvm.ir.Expr, dtype: str) -> str:
        a, b = self.value(e.a), self.value(e.b)
        if is_float(dtype):
            return f"({a} {sign} {b})"
        if dtype == "bool":
            raise self.unsupported(f"arithmetic '{sign}' on bool")
        if dtype in ("uint32", "uint64"):
            return f"({a} {sign} {b})"
        wide = "uint64_t" if bits(dtype) == 64 else "uint32_t"
        return f"(({value_type(dtype)})(({wide}){a} {sign} ({wide}){b}))"

    def _division(self, e: tvm.ir.Expr, dtype: str) -> str:
        kind = DIVIDE[type(e)]
        if self.is_index(e):
            return self.index(e)
        a, b = self.value(e.a), self.value(e.b)
        if is_float(dtype):
            if kind == "div":
                return f"({a} / {b})"
            end = "" if dtype == "float64" else "f"
            texts = {
                "floordiv": f"megcc_floor{end}({a} / {b})",
                "floormod": f"megcc_floormod{end}({a}, {b})",
                "mod": f"megcc_fmod{end}({a}, {b})",
            }
            return self._math(texts[kind])
        return self._divide(kind, e, a, b, short(dtype))

    def _min_max(self, e: tvm.ir.Expr, dtype: str) -> str:
        if self.is_index(e) and dtype == "int32":
            return self.index(e)
        name = "min" if isinstance(e, tirx.Min) else "max"
        suffix = "f32" if dtype in HALF else short(dtype)
        a, b = e.a, e.b
        # A constant goes second: unless it is NaN, one in the first operand is all there can be.
        if isinstance(a, (tirx.FloatImm, tirx.IntImm)):
            a, b = b, a
        if "float" in dtype and not (isinstance(b, tirx.FloatImm) and b.value == b.value):
            name = f"nan{name}"
        return self._math(f"megcc_{name}_{suffix}({self.value(a)}, {self.value(b)})")

    def _select(self, condition: tvm.ir.Expr, yes: tvm.ir.Expr, no: tvm.ir.Expr) -> str:
        name = choices.extreme(condition, yes, no)
        suffix = "f32" if dtype_of(yes) in HALF else short(dtype_of(yes))
        if name and is_float(dtype_of(yes)):
            # Operands that are computed once; of a NaN in either, the result is `no` there, too.
            return self._math(f"megcc_{name}_{suffix}({self.value(no)}, {self.value(yes)})")
        if choices.held(condition, yes, no):
            return self._half("megcc_f16_hold", self.value(yes))
        if choices.is_of_data(condition, yes, no):
            chosen = f"{self.value(yes)}, {self.value(no)}"
            return self._math(f"megcc_choose_{suffix}({self.condition(condition)}, {chosen})")
        return f"({self.condition(condition)} ? {self.value(yes)} : {self.value(no)})"

    def _bitwise(self, sign: str, a: tvm.ir.Expr, b: tvm.ir.Expr, dtype: str) -> str:
        text = f"({self.value(a)} {sign} {self.value(b)})"
        return text if bits(dtype) >= 32 or dtype == "bool" else f"(({value_type(dtype)}){text})"

    def _shift(self, kind: str, a: tvm.ir.Expr, b: tvm.ir.Expr, dtype: str) -> str:
        return self._math(f"megcc_{kind}_{short(dtype)}({self.value(a)}, {self.value(b)})")

    # -- calls ---------------------------------------------------------------------------------

    def _call(self, e: Call, dtype: str) -> str:
        full = getattr(e.op, "name", None)
        if full is None:
            raise self.unsupported(f"a call of {type(e.op).__name__}")
        name = name_of(e)
        args = list(e.args)
        if name in intrinsics.TRANSPARENT:
            return self.value(args[0])
        if name == "if_then_else":
            return self._select(args[0], args[1], args[2])
        if name in intrinsics.REAL:
            return self._real(intrinsics.REAL[name], args, dtype)
        if name in intrinsics.PREDICATES:
            if not is_float(dtype_of(args[0])):
                return "1" if name == "isfinite" else "0"
            return self._real(intrinsics.PREDICATES[name], args, dtype_of(args[0]))
        if name in _BITWISE:
            return self._bitwise(_BITWISE[name], args[0], args[1], dtype)
        if name in _SHIFT:
            return self._shift(_SHIFT[name], args[0], args[1], dtype)
        special: dict[str, Callable[[list[tvm.ir.Expr], str], str]] = {
            "bitwise_not": self._bitwise_not,
            "reinterpret": self._reinterpret,
            "large_uint_imm": self._large_uint,
            "popcount": self._count,
            "ctpop": self._count,
            "clz": self._leading_zeros,
            "ldexp": self._ldexp,
        }
        if name in special:
            return special[name](args, dtype)
        if name in intrinsics.FUSED:
            return self._fused(args, dtype)
        if name in ("call_extern", "call_pure_extern") and isinstance(args[0], StringImm):
            if args[0].value in intrinsics.FUSED:
                return self._fused(args[1:], dtype)
            if args[0].value in intrinsics.EXTERN:
                return self._real(intrinsics.EXTERN[args[0].value], args[1:], dtype)
            raise self.unsupported(f"call of the external function '{args[0].value}'")
        packed = f" of '{args[0].value}'" if args and isinstance(args[0], StringImm) else ""
        raise self.unsupported(f"no C for the intrinsic {full}{packed}")

    def _real(self, stem: str, args: list[tvm.ir.Expr], dtype: str) -> str:
        if not is_float(dtype):
            raise self.unsupported(f"{stem} on dtype {dtype}")
        end = "" if dtype == "float64" else "f"
        return self._math(f"{stem}{end}({', '.join(self.value(a) for a in args)})")

    def _fused(self, args: list[tvm.ir.Expr], dtype: str) -> str:
        if dtype != "float32":
            raise self.unsupported(f"a fused multiply-add on dtype {dtype}")
        self.uses.add("math/megcc_fma.h")
        return f"megcc_fmaf({', '.join(self.value(a) for a in args)})"

    def _bitwise_not(self, args: list[tvm.ir.Expr], dtype: str) -> str:
        text = self.value(args[0])
        return f"(!{text})" if dtype == "bool" else f"(({value_type(dtype)})(~{text}))"

    def _reinterpret(self, args: list[tvm.ir.Expr], dtype: str) -> str:
        source = dtype_of(args[0])
        if source == dtype:
            return self.value(args[0])
        if bits(source) != bits(dtype):
            raise self.unsupported(f"reinterpret {source} as {dtype}: sizes differ")
        text = self.value(args[0])
        if source in HALF:
            text = self.to_storage(text, source)
        elif is_float(source):
            text = self._math(f"megcc_{short(source)}_bits({text})")
        if dtype in HALF:
            return self._from_storage(f"(uint16_t){text}", dtype)
        if is_float(dtype):
            return self._math(f"megcc_{short(dtype)}_from_bits((uint{bits(dtype)}_t){text})")
        return f"(({value_type(dtype)}){text})"

    def _large_uint(self, args: list[tvm.ir.Expr], dtype: str) -> str:
        low, high = args[0].value & 0xFFFFFFFF, args[1].value & 0xFFFFFFFF
        return int_literal((high << 32) | low, dtype)

    def _count(self, args: list[tvm.ir.Expr], dtype: str) -> str:
        unsigned = f"uint{bits(dtype_of(args[0]))}_t"
        text = self._math(f"megcc_popcount_u64(({unsigned}){self.value(args[0])})")
        return f"(({value_type(dtype)}){text})"

    def _leading_zeros(self, args: list[tvm.ir.Expr], dtype: str) -> str:
        width = bits(dtype_of(args[0]))
        text = self._math(f"megcc_clz_u64((uint{width}_t){self.value(args[0])})")
        return f"(({value_type(dtype)})({text} - {64 - width}))"

    def _ldexp(self, args: list[tvm.ir.Expr], dtype: str) -> str:
        end = "" if dtype == "float64" else "f"
        x, exponent = self.value(args[0]), self.value(args[1])
        return self._math(f"megcc_ldexp{end}({x}, (int32_t){exponent})")


def bare(text: str) -> str:
    """Drop one pair of brackets around a whole expression."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for c in text[1:-1]:
        depth += (c == "(") - (c == ")")
        if depth < 0:
            return text
    return text[1:-1]
