"""An innermost loop over elements -> a C loop over vectors of ``megcc_simd.h``, and its last part.

Enters: a ``for`` loop whose body stores one element, one place further in each turn. Leaves: the
statement that computes and stores a vector of ``MEGCC_VL`` elements, or fewer at the end; and what
is the same in all turns, which stands in front. C compilers vectorise such loops only where they
can prove much, and their elementary functions must be exact to the last bit.

Three kinds of vectors have a type in C: ``vf`` (f32, and 16-bit floats, which are computed with as
f32), ``vi`` (i32, and bytes that were widened) and ``vm`` (truth values).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import Call, TensorLoad
from tvm.sym import detect_linear_equation

from . import choices, intrinsics
from .c_exprs import ExprPrinter, bare
from .c_scalars import HALF, is_float
from .indices import dtype_of, key_of
from .walk import name_of, variables, walk

#: A constant loop below this length stays scalar.
FEWEST = 4
#: Below this one some machine has more lanes than the loop has turns.
SHORT = 16
#: Calls in a statement up to which a loop takes two vectors in a turn: counting costs as much.
_LIGHT = 8

#: Type in memory -> functions that load and store it, kind of its vectors.
_MEMORY = {
    "float32": ("megcc_vf", "vf"),
    "float16": ("megcc_vh", "vf"),
    "bfloat16": ("megcc_vb", "vf"),
    "int32": ("megcc_vi", "vi"),
    "int8": ("megcc_vi8", "vi"),
    "uint8": ("megcc_vu8", "vi"),
    "bool": ("megcc_vm", "vm"),
}
_ROUND = {"float16": "megcc_vh_round", "bfloat16": "megcc_vb_round"}
_ARITHMETIC = {tirx.Add: "add", tirx.Sub: "sub", tirx.Mul: "mul"}
_COMPARE = {tirx.LT: "lt", tirx.LE: "le", tirx.EQ: "eq", tirx.NE: "ne"}
_SWAPPED = {tirx.GT: "lt", tirx.GE: "le"}
#: Function of ``megcc_math.h`` -> the vector function, and its header.
_REAL = {
    **{f"megcc_{name}": (f"megcc_vf_{name}", "simd/megcc_simd.h")
       for name in ("sqrt", "floor", "ceil", "round", "trunc")},
    **{f"megcc_{name}": (f"megcc_vf_{name}", "math/megcc_vmath.h")
       for name in ("exp", "expm1", "sigmoid", "tanh", "erf", "log", "log1p")},
    "megcc_fabs": ("megcc_vf_abs", "simd/megcc_simd.h"),
    "megcc_sin": ("megcc_vf_sin", "math/megcc_vtrig.h"),
    "megcc_cos": ("megcc_vf_cos", "math/megcc_vtrig.h"),
}  # fmt: skip
_INT32 = range(-(2**31), 2**31)
#: Node that folds -> name of the vectors' function, neutral number of floats and of integers.
_FOLDS = {
    tirx.Add: ("add", "0.0f", "0"),
    tirx.Max: ("max", "-MEGCC_INFF", "INT32_MIN"),
    tirx.Min: ("min", "MEGCC_INFF", "INT32_MAX"),
}

Text = TypeVar("Text")


class NoVectors(Exception):
    """An expression has no vectors; its loop stays a loop over elements."""


@dataclass
class VectorPrinter:
    """Prints the body of one loop.

    Attributes
    ----------
    exprs : ExprPrinter
        Prints what is the same in all turns, and positions.
    var : Var
        The loop's variable, bound to the first element's position in the vector.
    fresh : callable
        Gives names of C variables, by kind.
    fixed : list of str
        Statements in front of the loop.
    """

    exprs: ExprPrinter
    var: tvm.ir.Var
    fresh: Callable[[str], str]
    fixed: list[str] = field(default_factory=list)
    uses: set[str] = field(default_factory=set)
    _held: dict[str, str] = field(default_factory=dict)
    _some: str = ""
    _guarded: bool = False
    _half: str = ""  # of a pair that is loaded and stored at once: "a" or "b"
    _moved: dict[tuple[str, tvm_ffi.StructuralKey], tuple[str, str]] = field(default_factory=dict)

    def store(self, store: tirx.BufferStore, some: str = "") -> str:
        """The statement that stores a vector; `some`: the C name of the number of its elements.

        Raises NoVectors.
        """
        self._some = some
        name, place, value = self._parts(store)
        number = f", {some}" if some else ""
        return f"{name}_store{'_n' if some else ''}({place}, {value}{number});"

    def pair(self, store: tirx.BufferStore, first: str, second: str) -> tuple[list[str], list[str]]:
        """Declarations of pointers, and the statements that store two vectors of f32.

        `first` and `second` are the C names of their positions. Two vectors are loaded and stored
        at once, by pointers that move along. Raises NoVectors.
        """
        pointers, loads, parts = self.halves(lambda: self._parts(store), first, second)
        if parts[0][0] != "megcc_vf":
            raise NoVectors
        to, both = self.fresh("to"), self.fresh("both")
        pointers.append(f"float *{to} = {parts[0][1]};")
        halves = [f"{both}.{half} = {value};"
                  for half, (_, _, value) in zip("ab", parts, strict=True)]  # fmt: skip
        move = f"megcc_vf2_store_move(&{to}, {both});"
        return pointers, [*loads, f"megcc_vf2 {both};", *halves, move]

    def halves(
        self, text: Callable[[], Text], first: str, second: str
    ) -> tuple[list[str], list[str], list[Text]]:
        """Declarations of pointers, loads of pairs of f32, and `text` for each of two vectors."""
        self._some, self._moved = "", {}
        texts = []
        try:
            for self._half, position in (("a", first), ("b", second)):
                self.exprs.bind(self.var, position, index=True)
                texts.append(text())
        finally:
            self._half = ""
            self.exprs.bind(self.var, first, index=True)
        moved = list(self._moved.values())
        pointers = [f"const float *{pointer} = {place};" for pointer, place in moved]
        loads = [f"const megcc_vf2 {p}_v = megcc_vf2_load_move(&{p});" for p, _ in moved]
        return pointers, loads, texts

    def _parts(self, store: tirx.BufferStore) -> tuple[str, str, str]:
        """The name of a store's functions, its place and its value."""
        if self._reads_another_turn(store):
            raise NoVectors
        dtype = str(store.buffer.ty.dtype)
        name, kind = self._memory(dtype)
        place = self._place(store.buffer, list(store.indices))
        return name, place, self._stored(store.value, dtype, kind)

    def _reads_another_turn(self, store: tirx.BufferStore) -> bool:
        """Whether a turn may read what another one has written, as a running sum does."""
        written = self.exprs.buffer(store.buffer)
        reads = (n for n in walk(store.value) if isinstance(n, TensorLoad))
        return any(
            self.exprs.buffer(read.source) == written
            and not tvm_ffi.structural_equal(read.indices, store.indices)
            for read in reads
        )

    def _stored(self, value: tvm.ir.Expr, dtype: str, kind: str) -> str:
        if dtype in HALF and isinstance(value, tirx.Cast) and dtype_of(value) == dtype:
            if dtype_of(value.value) == "float32":
                value = value.value  # the store rounds
        if dtype in ("int8", "uint8"):
            if not isinstance(value, (tirx.Cast, TensorLoad)) or dtype_of(value) != dtype:
                raise NoVectors
            if isinstance(value, tirx.Cast):
                value = value.value
                if dtype_of(value) not in ("int32", "int8", "uint8"):
                    raise NoVectors
        return self.vector(value, kind)

    def fold_of(self, store: tirx.BufferStore) -> Fold | None:
        """What ``B[k] = fold(B[k], term)`` does with terms that differ between turns; else None."""
        value, dtype = store.value, str(store.buffer.ty.dtype)
        if type(value) not in _FOLDS or dtype not in ("float32", "int32"):
            return None
        loads = [isinstance(e, TensorLoad) and e.source.same_as(store.buffer)
                 for e in (value.a, value.b)]  # fmt: skip
        if loads.count(True) != 1:
            return None
        own = self.exprs.buffer(store.buffer)
        term = value.b if loads[0] else value.a
        reads = (n for n in walk(term) if isinstance(n, TensorLoad))
        if self.var not in variables(term) or any(
            self.exprs.buffer(n.source) == own for n in reads
        ):
            return None
        kind, ctype = ("vf", "float") if dtype == "float32" else ("vi", "int32_t")
        self._memory(dtype)
        return Fold(self, value, term, kind, ctype)

    def term(self, e: tvm.ir.Expr, kind: str, some: str = "") -> str:
        """Print an expression as a vector of this kind; `some` as in `store`."""
        self._some = some
        return self.vector(e, kind)

    # -- loads -----------------------------------------------------------------------------------

    def _memory(self, dtype: str) -> tuple[str, str]:
        if dtype not in _MEMORY:
            raise NoVectors
        if dtype != "float32":
            self.uses.add("simd/megcc_simd_types.h")
        return _MEMORY[dtype]

    def _place(self, buffer: tvm.ir.Var, indices: list[tvm.ir.Expr]) -> str:
        """The address of an access whose elements lie side by side."""
        if len(indices) != 1 or self.exprs.buffer(buffer) in self.exprs.registers:
            raise NoVectors
        (index,) = indices
        if not self.exprs.is_index(index):
            raise NoVectors
        parts = detect_linear_equation(self.exprs.analyzer.simplify(index), [self.var])
        if not len(parts) or not isinstance(parts[0], tirx.IntImm) or int(parts[0].value) != 1:
            raise NoVectors
        return f"{self.exprs.buffer(buffer)} + {self.exprs.index(index)}"

    def _load(self, e: TensorLoad) -> str:
        name, _ = self._memory(str(e.source.ty.dtype))
        place = self._place(e.source, list(e.indices))
        if self._half and name == "megcc_vf":
            if self._guarded:
                raise NoVectors  # loads of a pair stand in front of what guards them
            key = self.exprs.buffer(e.source), key_of(e.indices[0])
            if key not in self._moved:
                self._moved[key] = self.fresh("from"), place
            return f"{self._moved[key][0]}_v.{self._half}"
        return f"{name}_load_n({place}, {self._some})" if self._some else f"{name}_load({place})"

    # -- expressions -----------------------------------------------------------------------------

    def vector(self, e: tvm.ir.Expr, kind: str) -> str:
        """Print an expression as a vector of this kind."""
        if self.var not in variables(e):
            return self._same(e, kind)
        found, text = self._moving(e)
        if found != kind:
            raise NoVectors
        return text

    def _same(self, e: tvm.ir.Expr, kind: str) -> str:
        """A vector of which all lanes are the same in all turns."""
        dtype = dtype_of(e)
        known = is_float(dtype) and dtype != "float64" if kind == "vf" else dtype in _MEMORY
        if kind == "vm" or not known or kind == "vi" and is_float(dtype) or dtype == "bool":
            raise NoVectors
        self.uses.add("simd/megcc_simd.h")
        text = f"megcc_{kind}_dup({bare(self.exprs.value(e))})"
        if isinstance(e, (tirx.FloatImm, tirx.IntImm)) or self._guarded:
            return text
        if text not in self._held:
            name = self.fresh("c")
            self.fixed.append(f"const megcc_{kind} {name} = {text};")
            self._held[text] = name
        return self._held[text]

    def _moving(self, e: tvm.ir.Expr) -> tuple[str, str]:
        """Kind and text of an expression that differs from turn to turn."""
        dtype = dtype_of(e)
        if isinstance(e, TensorLoad):
            return self._memory(dtype)[1], self._load(e)
        if isinstance(e, tirx.Cast):
            return self._cast(e, dtype)
        if isinstance(e, (tirx.And, tirx.Or)):
            both = self.vector(e.a, "vm"), self.vector(e.b, "vm")
            return "vm", f"megcc_vm_{'and' if isinstance(e, tirx.And) else 'or'}({', '.join(both)})"
        if isinstance(e, tirx.Not):
            return "vm", f"megcc_vm_not({self.vector(e.a, 'vm')})"
        if type(e) in _COMPARE or type(e) in _SWAPPED:
            return "vm", self._compare(e)
        if (parts := choices.parts_of(e)) is not None:
            return self._choice(*parts)
        if isinstance(e, Call):
            return self._call(e, dtype)
        if dtype == "int32":
            return "vi", self._integers(e)
        if dtype in ("float32", *HALF):
            return "vf", self._floats(e)
        raise NoVectors

    def _floats(self, e: tvm.ir.Expr) -> str:
        if isinstance(e, (tirx.Add, tirx.Sub)):
            name = "fma" if isinstance(e, tirx.Add) else "fnma"
            rest, factors = e.a, e.b
            if name == "fma" and not isinstance(factors, tirx.Mul):
                rest, factors = factors, rest
            if isinstance(factors, tirx.Mul):
                operands = (rest, factors.a, factors.b)
                return f"megcc_vf_{name}({', '.join(self.vector(o, 'vf') for o in operands)})"
        if isinstance(e, (tirx.Min, tirx.Max)):
            return self._extreme(e)
        name = "div" if isinstance(e, tirx.Div) else _ARITHMETIC.get(type(e), "")
        if not name:
            raise NoVectors
        return f"megcc_vf_{name}({self.vector(e.a, 'vf')}, {self.vector(e.b, 'vf')})"

    def _extreme(self, e: tirx.Min | tirx.Max) -> str:
        """A NaN stays one: as the second operand, or by a function that looks for it."""
        name = "min" if isinstance(e, tirx.Min) else "max"
        a, b = e.a, e.b
        if isinstance(b, tirx.FloatImm):
            a, b = b, a
        if not isinstance(a, tirx.FloatImm) or a.value != a.value:
            name = f"nan{name}"
        return f"megcc_vf_{name}({self.vector(a, 'vf')}, {self.vector(b, 'vf')})"

    def _integers(self, e: tvm.ir.Expr) -> str:
        if isinstance(e, (tirx.Div, tirx.FloorDiv)):
            return self._shifted(e)
        names = {**_ARITHMETIC, tirx.Min: "min", tirx.Max: "max"}
        if type(e) not in names:
            raise NoVectors
        a, b = self.vector(e.a, "vi"), self.vector(e.b, "vi")
        return f"megcc_vi_{names[type(e)]}({a}, {b})"

    def _shifted(self, e: tirx.Div | tirx.FloorDiv) -> str:
        """A division by a power of two."""
        by = int(e.b.value) if isinstance(e.b, tirx.IntImm) else 0
        if by < 2 or by & (by - 1):
            raise NoVectors
        a, bits = self.vector(e.a, "vi"), by.bit_length() - 1
        # Towards 0: a negative number is moved up first; the least one, of whose magnitude there is
        # none, is a multiple.
        parts = choices.parts_of(e.a)
        if isinstance(e, tirx.Div) and not (parts and _of_magnitude(*parts)):
            sign = f"megcc_vi_and(megcc_vi_shr({a}, 31), megcc_vi_dup({by - 1}))"
            a = f"megcc_vi_add({a}, {sign})"
        return f"megcc_vi_shr({a}, {bits})"

    def _cast(self, e: tirx.Cast, dtype: str) -> tuple[str, str]:
        value, source = e.value, dtype_of(e.value)
        if dtype in ("float32", *HALF):
            if source in ("int32", "int8", "uint8"):
                text = f"megcc_vi_to_vf({self.vector(value, 'vi')})"
            elif source == "bool":
                one, zero = "megcc_vf_dup(1.0f)", "megcc_vf_dup(0.0f)"
                text = f"megcc_vf_select({self.vector(value, 'vm')}, {one}, {zero})"
            elif source in ("float32", *HALF):
                text = self.vector(value, "vf")
            else:
                raise NoVectors
            if dtype in _ROUND and source != dtype and source != "bool":
                self._memory(dtype)
                text = f"{_ROUND[dtype]}({text})"
            return "vf", text
        if dtype != "int32":
            raise NoVectors
        self._memory(dtype)
        if source in ("int8", "uint8", "int32"):
            return "vi", self.vector(value, "vi")
        if source == "bool":
            one, zero = "megcc_vi_dup(1)", "megcc_vi_dup(0)"
            return "vi", f"megcc_vi_select({self.vector(value, 'vm')}, {one}, {zero})"
        if source in ("float32", *HALF):
            return "vi", f"megcc_vf_to_i32({self.vector(value, 'vf')})"
        raise NoVectors

    def _compare(self, e: tvm.ir.Expr) -> str:
        asked = choices.truth(e)
        if asked is not None:
            return self.vector(asked, "vm")
        a, b = _narrow(e.a), _narrow(e.b)
        if type(e) in _SWAPPED:
            a, b = b, a
        kinds = {dtype_of(a), dtype_of(b)}
        kind = "vi" if kinds <= {"int32", "int8", "uint8"} else "vf"
        if kind == "vi":
            self._memory("int32")
        name = _COMPARE.get(type(e)) or _SWAPPED[type(e)]
        return f"megcc_{kind}_{name}({self.vector(a, kind)}, {self.vector(b, kind)})"

    def _choice(self, condition: tvm.ir.Expr, yes: tvm.ir.Expr, no: tvm.ir.Expr) -> tuple[str, str]:
        dtype = dtype_of(yes)
        kind = "vf" if dtype in ("float32", *HALF) else "vi" if dtype == "int32" else ""
        if not kind:
            raise NoVectors
        if self.var not in variables(condition):
            # The value that is not chosen may lie outside of its tensor.
            outside, self._guarded = self._guarded, True
            try:
                both = self.vector(yes, kind), self.vector(no, kind)
            finally:
                self._guarded = outside
            return kind, f"({bare(self.exprs.condition(condition))} ? {both[0]} : {both[1]})"
        if not any(isinstance(node, TensorLoad) for node in walk(condition)):
            raise NoVectors  # it guards positions
        if kind == "vi":
            self._memory("int32")
            if _of_magnitude(condition, yes, no):
                x = self.vector(yes, "vi")
                return kind, f"megcc_vi_max({x}, megcc_vi_sub(megcc_vi_dup(0), {x}))"
        values = self.vector(condition, "vm"), self.vector(yes, kind), self.vector(no, kind)
        return kind, f"megcc_{kind}_select({', '.join(values)})"

    def _call(self, e: Call, dtype: str) -> tuple[str, str]:
        name, args = name_of(e), list(e.args)
        if name in intrinsics.TRANSPARENT:
            return self._moving(args[0])
        if name in intrinsics.FUSED and dtype == "float32":
            a, b, c = (self.vector(arg, "vf") for arg in args)
            return "vf", f"megcc_vf_fma({c}, {a}, {b})"
        if name in intrinsics.PREDICATES and dtype_of(args[0]) in ("float32", *HALF):
            return "vm", self._question(name, self.vector(args[0], "vf"))
        stem = intrinsics.REAL.get(name, "")
        if dtype not in ("float32", *HALF):
            raise NoVectors
        if stem == "megcc_rsqrt":
            root = f"megcc_vf_sqrt({self.vector(args[0], 'vf')})"
            return "vf", f"megcc_vf_div(megcc_vf_dup(1.0f), {root})"
        if stem not in _REAL:
            raise NoVectors
        function, header = _REAL[stem]
        if stem == "megcc_log1p" and _is_within_one(args[0]):
            function += "_unit"
        self.uses.add(header)
        return "vf", f"{function}({self.vector(args[0], 'vf')})"

    def _question(self, name: str, x: str) -> str:
        if name == "isnan":
            return f"megcc_vf_ne({x}, {x})"
        infinite = self.exprs.value(tirx.const(float("inf"), "float32"))
        compare = "lt" if name == "isfinite" else "eq"
        return f"megcc_vf_{compare}(megcc_vf_abs({x}), megcc_vf_dup({infinite}))"


@dataclass(frozen=True)
class Fold:
    """A sum, a largest or a smallest element: of `kind` vectors, and of scalars of `ctype`."""

    printer: VectorPrinter
    node: tirx.Add | tirx.Max | tirx.Min
    folded: tvm.ir.Expr
    kind: str
    ctype: str

    @property
    def none(self) -> str:
        """The vector of a fold of nothing."""
        neutral = _FOLDS[type(self.node)][1 if self.kind == "vf" else 2]
        return f"megcc_{self.kind}_dup({neutral})"

    @property
    def is_sum_of_reals(self) -> bool:
        return self.kind == "vf" and isinstance(self.node, tirx.Add)

    @property
    def _function(self) -> str:
        name = _FOLDS[type(self.node)][0]
        nan = "nan" if self.kind == "vf" and name != "add" else ""
        return f"megcc_{self.kind}_{nan}{name}"

    def merged(self, sums: str, more: str) -> str:
        """The statement that folds one vector of results into another one."""
        return f"{sums} = {self._function}({sums}, {more});"

    def term(self, some: str = "") -> str:
        return self.printer.term(self.folded, self.kind, some)

    def step(self, sums: str) -> str:
        """The statement that folds a vector into `sums`."""
        e, name = self.folded, _FOLDS[type(self.node)][0]
        if self.kind == "vf" and name == "add" and isinstance(e, tirx.Mul):
            factors = (self.printer.term(factor, "vf") for factor in (e.a, e.b))
            return f"{sums} = megcc_vf_fma({sums}, {', '.join(factors)});"
        return self.merged(sums, self.term())

    def scalar(self, a: str, b: str) -> str:
        """Two scalars folded."""
        name = _FOLDS[type(self.node)][0]
        if self.kind == "vf":
            return f"{a} + {b}" if name == "add" else f"megcc_nan{name}_f32({a}, {b})"
        sum_of_bits = f"(int32_t)((uint32_t){a} + (uint32_t){b})"
        return sum_of_bits if name == "add" else f"megcc_{name}_i32({a}, {b})"


def _is_within_one(e: tvm.ir.Expr) -> bool:
    """Whether an expression is ``exp(0 - |x|)``, which lies in [0, 1]."""
    inner = e.args[0] if name_of(e) == "exp" else None
    return isinstance(inner, tirx.Sub) and _is_zero(inner.a) and name_of(inner.b) == "fabs"


def _of_magnitude(condition: tvm.ir.Expr, yes: tvm.ir.Expr, no: tvm.ir.Expr) -> bool:
    """Whether a choice is ``0 <= x ? x : 0 - x``."""
    if not isinstance(condition, (tirx.LE, tirx.GE)) or not isinstance(no, tirx.Sub):
        return False
    low, high = _narrow(condition.a), _narrow(condition.b)
    if isinstance(condition, tirx.GE):
        low, high = high, low
    same = tvm_ffi.structural_equal
    return _is_zero(low) and _is_zero(no.a) and same(high, yes) and same(no.b, yes)


def _is_zero(e: tvm.ir.Expr) -> bool:
    return isinstance(e, (tirx.FloatImm, tirx.IntImm)) and e.value == 0


def _narrow(e: tvm.ir.Expr) -> tvm.ir.Expr:
    """What a comparison's operand of 64 bits was before it was widened, where it was."""
    if dtype_of(e) != "int64":
        return e
    if isinstance(e, tirx.Cast) and dtype_of(e.value) in ("int32", "int8", "uint8"):
        return e.value
    if isinstance(e, tirx.IntImm) and int(e.value) in _INT32:
        return tirx.const(int(e.value), "int32")
    return e


def is_worth_it(loop: tirx.For) -> bool:
    """Whether a loop is long enough, and stores one element in each turn."""
    short = isinstance(loop.extent, tirx.IntImm) and int(loop.extent.value) < FEWEST
    return isinstance(loop.body, tirx.BufferStore) and loop.step is None and not short


def is_light(statement: str) -> bool:
    """Whether a loop's own instructions are a good part of those of a vector's statement."""
    heavy = any(f"{function}(" in statement for function, header in _REAL.values()
                if header != "simd/megcc_simd.h")  # fmt: skip
    return not heavy and statement.count("megcc_") - statement.count("megcc_vf_dup") <= _LIGHT
