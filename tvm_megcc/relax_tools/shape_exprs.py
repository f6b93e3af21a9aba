"""Conversion between TVM's shape expressions and `tvm_megcc.dims`.

Enters: a ``PrimExpr`` of a Relax shape, and the dims of its function with their bounds
(`symbols_of`). Leaves: a `Size`; `prim_of` goes the other way.

Example
-------
>>> n = tirx.Var("n", "int64")
>>> size = size_of(n * 4 + 2, {"n": dims.Symbol("n", 1, 64)})
>>> str(size), size.bounds, size_of(tirx.IntImm("int64", 3), {})
('4*n + 2', (6.0, 258.0), 3)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import tvm
from tvm import relax, tirx

from tvm_megcc import dims
from tvm_megcc.dims import Size

#: Attributes of a Relax function: bounds of its dims by name; TVM's own planner reads the first.
UPPER_BOUNDS, LOWER_BOUNDS = "tir_var_upper_bound", "tir_var_lower_bound"

#: Attributes of a Relax function: factor and symbol of dims that are multiples, by the dim's name.
#: The function defines the dim, not the symbol, and casts its parameters: ``x: (h_times_32,)`` to
#: ``(h_times_32 // 32 * 32,)``.
FACTORS, BASES = "tvm_megcc.factors", "tvm_megcc.bases"

#: Attribute of a Relax function: dims that stand for a size, as TVM's expressions by name. The
#: function's last parameter defines them (`legalise.named_sizes`).
DEFINITIONS = "tvm_megcc.definitions"

#: Name of a function's dim -> its symbol with bounds, or its known size. Dims that are not listed
#: may have any size.
Symbols = Mapping[str, dims.Symbol | Size]


def symbols_of(func: relax.Function) -> dict[str, dims.Symbol | Size]:
    """Dims in the attributes of a function, by name."""
    bounds = bounds_of(func)
    found: dict[str, dims.Symbol | Size] = {**bounds}
    for name, multiple in multiples_of(func).items():
        base = multiple.of.name
        found[name] = dims.of(bounds.get(base, dims.Symbol(base))) * multiple.factor
    return found | definitions_of(func, found)


def definitions_of(func: relax.Function, symbols: Symbols) -> dict[str, Size]:
    """Sizes that dims of a function stand for, by the dim's name."""
    reader = _Reader(symbols)
    sizes = {name: reader.size(expr) for name, expr in _attribute(func, DEFINITIONS).items()}
    return {name: size for name, size in sizes.items() if size is not None}


def bounds_of(func: relax.Function) -> dict[str, dims.Symbol]:
    """Symbols with bounds in the attributes of a function, by name."""
    upper, lower = (_numbers(func, key) for key in (UPPER_BOUNDS, LOWER_BOUNDS))
    names = sorted({*upper, *lower})
    return {n: dims.Symbol(n, lower.get(n, 0), upper.get(n)) for n in names}


def multiples_of(func: relax.Function) -> dict[str, dims.Multiple]:
    """Dims of a function that are multiples of a symbol, by name."""
    bases = _attribute(func, BASES)
    return {
        name: dims.Multiple(factor, dims.Symbol(str(bases[name])))
        for name, factor in _numbers(func, FACTORS).items()
    }


def _numbers(func: relax.Function, key: str) -> dict[str, int]:
    return {name: int(value) for name, value in _attribute(func, key).items()}


def _attribute(func: relax.Function, key: str) -> dict[str, Any]:
    found = func.attrs[key] if func.attrs and key in func.attrs else {}
    return {str(name): value for name, value in dict(found).items()}


def with_bounds(func: relax.Function, found: Iterable[dims.Symbol]) -> relax.Function:
    """Add bounds of symbols to a function's attributes."""
    known = bounds_of(func) | {s.name: s for s in found}
    for name, multiple in multiples_of(func).items():
        base = known.get(multiple.of.name)
        if base is not None:  # TVM reads bounds of what it has a variable for
            high = None if base.high is None else base.high * multiple.factor
            known[name] = dims.Symbol(name, base.low * multiple.factor, high)
    lower = {s.name: s.low for s in known.values()}
    upper = {s.name: s.high for s in known.values() if s.high is not None}
    return func.with_attrs({LOWER_BOUNDS: lower, UPPER_BOUNDS: upper})


def with_multiples(func: relax.Function, found: Mapping[str, dims.Multiple]) -> relax.Function:
    """Add dims that are multiples to a function's attributes."""
    known = multiples_of(func) | dict(found)
    if not known:
        return func
    factors = {name: multiple.factor for name, multiple in known.items()}
    bases = {name: multiple.of.name for name, multiple in known.items()}
    return func.with_attrs({FACTORS: factors, BASES: bases})


def name_of_multiple(multiple: dims.Multiple) -> str:
    """Name of a dim that is a multiple."""
    return f"{multiple.of.name}_times_{multiple.factor}"


def base_of(multiple: dims.Multiple, variable: tirx.Var) -> Any:
    """TVM's expression of a multiple's symbol, computed from the dim."""
    return tirx.FloorDiv(variable, tirx.IntImm("int64", multiple.factor))


def symbol_of(name: str, symbols: Symbols) -> dims.Symbol:
    """Symbol of a name, with bounds if there are any."""
    found = symbols.get(name)
    return found if isinstance(found, dims.Symbol) else dims.Symbol(name)


_BINARY: dict[type, Callable[[Size, Size], Size]] = {
    tirx.Add: lambda a, b: a + b,
    tirx.Sub: lambda a, b: a - b,
    tirx.Mul: lambda a, b: a * b,
    tirx.FloorDiv: dims.floordiv,
    tirx.FloorMod: dims.floormod,
    # Dims are not negative: there C's division is the floor.
    tirx.Div: dims.floordiv,
    tirx.Mod: dims.floormod,
    tirx.Min: dims.minimum,
    tirx.Max: dims.maximum,
    tirx.EQ: lambda a, b: dims.compare("eq", a, b),
    tirx.NE: lambda a, b: 1 - dims.compare("eq", a, b),
    tirx.LT: lambda a, b: dims.compare("lt", a, b),
    tirx.LE: lambda a, b: 1 - dims.compare("lt", b, a),
    tirx.GT: lambda a, b: dims.compare("lt", b, a),
    tirx.GE: lambda a, b: 1 - dims.compare("lt", a, b),
    tirx.And: lambda a, b: a * b,
    tirx.Or: lambda a, b: a + b - a * b,
}


def size_of(expr: object, symbols: Symbols) -> Size | None:
    """Convert an expression over these dims to a `Size`; None if it cannot be one."""
    return _Reader(symbols).size(expr)


class _Reader:
    """Converts expressions over the same dims, shared parts once."""

    def __init__(self, symbols: Symbols) -> None:
        self._symbols = symbols
        self._read: dict[Any, Size | None] = {}

    def size(self, expr: object) -> Size | None:
        if isinstance(expr, int):
            return int(expr)
        if isinstance(expr, tirx.IntImm):
            return int(expr.value)
        if isinstance(expr, tvm.ir.Var):
            name = str(expr.name)
            found = self._symbols.get(name, dims.Symbol(name))
            return dims.of(found) if isinstance(found, dims.Symbol) else found
        if not isinstance(expr, tvm.ir.Expr):
            return None
        if expr not in self._read:
            self._read[expr] = self._operation(expr)
        return self._read[expr]

    def _operation(self, expr: Any) -> Size | None:
        rule = _BINARY.get(type(expr))
        if rule is not None:
            a, b = self.size(expr.a), self.size(expr.b)
            return None if a is None or b is None else rule(a, b)
        if isinstance(expr, tirx.Cast):
            return self.size(expr.value)
        if isinstance(expr, tirx.Not):
            inner = self.size(expr.a)
            return None if inner is None else 1 - inner
        if isinstance(expr, tirx.Select):
            return self._select([expr.condition, expr.true_value, expr.false_value])
        if isinstance(expr, tvm.ir.Call) and getattr(expr.op, "name", "") == "prim.if_then_else":
            return self._select(expr.args)
        return None

    def _select(self, exprs: Iterable[object]) -> Size | None:
        """Size of a condition, the value where it is true, and the value elsewhere."""
        found = [self.size(e) for e in exprs]
        if None in found:
            return None
        test, *sizes = found
        if test == dims.compare("eq", sizes[1], 1):
            return dims.stretch(sizes[1], sizes[0])  # type: ignore[arg-type]
        return dims.select(test, *sizes)  # type: ignore[arg-type]


def sizes_of(shape: object, symbols: Symbols) -> tuple[Size, ...] | None:
    """The dims of a ``ShapeExpr``; None for any other shape."""
    if not isinstance(shape, relax.ShapeExpr):
        return None
    found = [*map(_Reader(symbols).size, shape.values)]
    return None if None in found else tuple(found)  # type: ignore[arg-type]


def variables_of(func: relax.Function) -> dict[str, Any]:
    """Symbolic dims of a function's parameters and values, by name.

    The symbol of a multiple is an expression, not a variable.
    """
    found = relax.analysis.free_symbolic_vars(func) + relax.analysis.defined_symbolic_vars(func)
    named: dict[str, Any] = {str(v.name): v for v in found}
    for name, multiple in multiples_of(func).items():
        if name in named:
            named.setdefault(multiple.of.name, base_of(multiple, named[name]))
    return named


def prim_of(size: Size, variables: Mapping[str, Any]) -> Any:
    """Convert a size to TVM's expression over these variables (name -> variable)."""
    return _Writer(variables).expr(size)


_TVM = {
    "floordiv": tirx.FloorDiv,
    "floormod": tirx.FloorMod,
    "min": tirx.Min,
    "max": tirx.Max,
    "eq": tirx.EQ,
    "lt": tirx.LT,
}


class _Writer:
    """Converts sizes over the same variables, shared parts once."""

    def __init__(self, variables: Mapping[str, Any]) -> None:
        self._variables = variables
        self._written: dict[Size, Any] = {}

    def expr(self, size: Size) -> Any:
        if size not in self._written:
            self._written[size] = self._sum(size)
        return self._written[size]

    def _sum(self, size: Size) -> Any:
        if isinstance(size, int):
            return tirx.IntImm("int64", size)
        total: Any = None
        for coefficient, atoms in size.terms:
            term: Any = None
            for atom in atoms:
                factor = self._atom(atom)
                term = factor if term is None else term * factor
            if term is None:
                term = tirx.IntImm("int64", coefficient)
            elif coefficient != 1:
                term = term * tirx.IntImm("int64", coefficient)
            total = term if total is None else total + term
        return total

    def _atom(self, atom: dims.Atom) -> Any:
        if isinstance(atom, dims.Symbol):
            return self._variables[atom.name]
        a, b = self.expr(atom.a), self.expr(atom.b)
        if atom.kind == "stretch":
            return tirx.Select(tirx.EQ(a, tirx.IntImm("int64", 1)), b, a)
        result = _TVM[atom.kind](a, b)
        return tirx.Cast("int64", result) if atom.kind in ("eq", "lt") else result
