"""Graph dispatch in Relax: a clone of a function per bucket, behind nested conditionals.

Before: ``main(data: R.Tensor((n, 4)))``. After::

    def main(data: R.Tensor((n, 4))):
        if n < 2:   gv = main_n1(match_cast(data, (1, 4)))
        else:
          if n < 4: gv = main_n2_4(data)
          else:     gv = main_any(data)
        return match_cast(gv, the type that main had)

The module runs in ``relax.VirtualMachine``. For the package compiler ``main`` has the conditionals
as an attribute, too (`tvm_megcc.dispatch.plan`).

Source: TVM's RFC 4118 "graph dispatch" (seed), which was written for Relay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import tvm
from tvm import relax, tirx
from tvm.relax.utils import copy_with_new_vars

from tvm_megcc.dims import Size, Symbol, as_multiple
from tvm_megcc.dispatch.buckets import MAX_BUCKETS, by_symbol, check_count
from tvm_megcc.dispatch.dispatchers import Dispatcher, Shapes, is_open
from tvm_megcc.dispatch.own_program import has_own_program, no_result
from tvm_megcc.dispatch.plan import ATTRIBUTE, DispatchPlan, Interval, plan_of
from tvm_megcc.errors import InputError
from tvm_megcc.relax_tools.control_flow import with_own_callees
from tvm_megcc.relax_tools.shape_exprs import (
    multiples_of,
    sizes_of,
    symbols_of,
    variables_of,
    with_bounds,
)

#: Attribute of a function imported from ONNX: its inputs' own names.
INPUT_NAMES = "tvm_megcc.input_names"
FALLBACKS = ("symbolic", "none")


def dispatch(
    mod: tvm.IRModule,
    function: str,
    shapes: Shapes,
    dispatcher: Dispatcher,
    *,
    fallback: str = "symbolic",
    max_buckets: int = MAX_BUCKETS,
) -> tvm.IRModule:
    """Clone a function per bucket; `mod` is changed in place and returned.

    Parameters
    ----------
    mod : tvm.IRModule
    function : str
        Its name.
    shapes : mapping of input name to dims
        As the model has them: an int where a dim is fixed, `relay.Any` (or a name) where it is not.
    dispatcher : callable
        From `shapes` to ``{input: {axis: [(low, high), ...]}}``, half-open; see `relay.vm`.
    fallback : {"symbolic", "none"}
        Whether a program for all sizes takes those that no bucket takes.
    max_buckets : int
        More programs than this are refused.

    Raises
    ------
    InputError
        For shapes that are not the model's, buckets that make no sense, a function that is not
        there or dispatched already.
    """
    func = _function(mod, function)
    inputs = _inputs(func)
    _check_shapes(inputs, shapes)
    found = by_symbol(inputs, dispatcher(shapes))
    check_count(found, max_buckets)
    combinations = [dict(zip(found, row, strict=True)) for row in product(*found.values())]
    gaps = any(_has_gaps(symbol, intervals) for symbol, intervals in found.items())
    return _dispatched(mod, function, combinations, fallback if gaps else "none")


def list_shapes(mod: tvm.IRModule, function: str, listed: Sequence[Shapes]) -> tvm.IRModule:
    """Make a function serve exactly these shapes, each by a program of its own.

    Parameters
    ----------
    mod : tvm.IRModule
        Changed in place and returned.
    function : str
        Its dims that differ between the shapes are symbolic.
    listed : sequence of mapping of input name to dims
        Every size that is not fixed in the function, at least one set.

    Raises
    ------
    InputError
        For a shape that is not the function's, or a set that does not say the size of every dim.
    """
    func = _function(mod, function)
    inputs = _inputs(func)
    combinations: list[dict[Symbol, Interval]] = []
    for shapes in listed:
        _check_shapes(inputs, shapes)
        sizes: dict[Symbol, Interval] = {}
        for name, dims in inputs.items():
            for axis, dim in enumerate(dims):
                if isinstance(dim, int):
                    continue
                size: Any = shapes[name][axis] if name in shapes else None
                found = as_multiple(dim)
                if found is None or size is None or is_open(size):
                    continue
                (factor, symbol), size = found, int(size)
                if size % factor:
                    raise InputError(
                        f"'{name}': dim {axis} is {size}, which is no multiple of {factor}; give"
                        " one that is"
                    )
                known = sizes.setdefault(symbol, (size // factor, size // factor + 1))[0]
                if known * factor != size:
                    raise InputError(
                        f"'{name}': dim '{symbol.name}' is {size // factor} here and {known}"
                        " elsewhere in one set of shapes; give one size"
                    )
        for name, dims in inputs.items():
            for dim in dims:
                missing = [] if isinstance(dim, int) else [s for s in dim.symbols if s not in sizes]
                if missing:
                    raise InputError(
                        f"input '{name}': a set of listed shapes does not say the size of"
                        f" '{missing[0].name}'; give it in every --input-shapes"
                    )
        if fact := no_result(func, _dims(sizes)):
            raise InputError(
                f"the model has no result for {_listed(sizes)} of the listed shapes ({fact});"
                " list other shapes"
            )
        if sizes not in combinations:
            combinations.append(sizes)
    return _dispatched(mod, function, combinations, "none")


def _function(mod: tvm.IRModule, name: str) -> relax.Function:
    names = [gv.name_hint for gv, f in mod.functions_items() if isinstance(f, relax.Function)]
    if name not in names:
        raise InputError(f"dispatch: the module has no function '{name}'; it has {sorted(names)}")
    if plan_of(mod, name) is not None:
        raise InputError(f"dispatch: '{name}' is dispatched already; dispatch the module once")
    return mod[name]


def _inputs(func: relax.Function) -> dict[str, tuple[Size, ...]]:
    """Dims of the parameters that are the model's inputs, by the model's own names."""
    attrs = dict(func.attrs or {})
    params = list(func.params)[: int(attrs.get("num_input", len(func.params)))]
    names = [str(n) for n in attrs.get(INPUT_NAMES, [])]
    if len(names) != len(params):
        names = [p.name for p in params]
    bounds = symbols_of(func)
    shapes = [sizes_of(getattr(p.ty, "shape", None), bounds) for p in params]
    return {n: s for n, s in zip(names, shapes, strict=True) if s is not None}


def _check_shapes(inputs: Mapping[str, Sequence[Size]], shapes: Shapes) -> None:
    for name, dims in shapes.items():
        if name not in inputs:
            known = ", ".join(f"'{n}'" for n in inputs)
            raise InputError(f"dispatch: '{name}' is no input of the function; they are {known}")
        wanted = inputs[name]
        fits = len(dims) == len(wanted) and all(
            is_open(d) or not isinstance(w, int) or int(d) == w  # type: ignore[call-overload]
            for d, w in zip(dims, wanted, strict=True)
        )
        if not fits:
            raise InputError(
                f"dispatch: '{name}' is {list(dims)} here and {[str(w) for w in wanted]} in the"
                " function; give the shape that the model was imported with"
            )


def _has_gaps(symbol: Symbol, intervals: Sequence[Interval]) -> bool:
    """Whether there are sizes of a dim that no interval takes."""
    at: int | None = symbol.low
    for low, high in intervals:
        if at is None or low > at:
            return True
        at = high
    return at is not None and (symbol.high is None or at <= symbol.high)


def _dispatched(
    mod: tvm.IRModule,
    function: str,
    combinations: Sequence[Mapping[Symbol, Interval]],
    fallback: str,
) -> tvm.IRModule:
    if fallback not in FALLBACKS:
        raise InputError(f"fallback {fallback!r} is not known; choose from {', '.join(FALLBACKS)}")
    func = mod[function]
    names: list[str | None] = []
    for ranges in combinations:
        name = None
        if has_own_program(mod, func, _dims(ranges)):
            name = _unused(mod, function + "".join(_suffix(s, i) for s, i in ranges.items()))
            _add(mod, name, _clone(mod, name, func, ranges))
        names.append(name)
    rest = _unused(mod, f"{function}_any")
    if fallback == "symbolic" or None in names:
        _add(mod, rest, _clone(mod, rest, func, {}))
    variants = tuple(
        (name or rest, {s.name: interval for s, interval in ranges.items()})
        for name, ranges in zip(names, combinations, strict=True)
    )
    plan = DispatchPlan(variants, rest if fallback == "symbolic" else None)
    main = _Conditionals(mod, func, combinations, plan).function()
    mod.update_func(mod.get_global_var(function), main.with_attr(ATTRIBUTE, plan.to_json()))
    return mod


def _dims(ranges: Mapping[Symbol, Interval]) -> dict[str, Symbol | int]:
    """The dims by name: a size where there is one, else bounds."""
    return {
        s.name: low if high == low + 1 else Symbol(s.name, low, None if high is None else high - 1)
        for s, (low, high) in ranges.items()
    }


def _listed(ranges: Mapping[Symbol, Interval]) -> str:
    return ", ".join(f"'{symbol.name}' = {low}" for symbol, (low, _) in ranges.items())


def _suffix(symbol: Symbol, interval: Interval) -> str:
    low, high = interval
    name = "".join(c if c.isalnum() and c.isascii() else "_" for c in symbol.name)
    return f"_{name}{low}" + ("_" if high is None else "" if high == low + 1 else f"_{high}")


def _unused(mod: tvm.IRModule, name: str) -> str:
    taken = {gv.name_hint for gv in mod.get_global_vars()}
    return next(
        n for k in range(len(taken) + 1) if (n := f"{name}_{k}" if k else name) not in taken
    )


def _add(mod: tvm.IRModule, name: str, func: relax.Function) -> None:
    var = relax.GlobalVar(name)
    relax.expr._update_type(var, func.ty)
    mod[var] = func


def _clone(
    mod: tvm.IRModule, name: str, func: relax.Function, ranges: Mapping[Symbol, Interval]
) -> relax.Function:
    """Copy a function for ranges of sizes: a dim of one size is fixed, others get bounds."""
    dims = _dims(ranges)
    fixed = {name: size for name, size in dims.items() if isinstance(size, int)}
    bounded = [size for size in dims.values() if isinstance(size, Symbol)]

    def change(found: relax.Function) -> relax.Function:
        known = variables_of(found)
        sizes = {n: v for n, v in fixed.items() if isinstance(known.get(n), tirx.Var)}
        for name, multiple in multiples_of(found).items():
            if name in known and multiple.of.name in fixed:
                sizes[name] = fixed[multiple.of.name] * multiple.factor
        values = {known[n]: v for n, v in sizes.items()}
        found = with_bounds(found, bounded)
        return found.bind_symbolic_vars(values) if values else found

    clone = with_own_callees(mod, change(copy_with_new_vars(func)), f"_{name}", change)
    has_symbol = clone.attrs and "global_symbol" in clone.attrs
    return clone.without_attr("global_symbol") if has_symbol else clone


class _Conditionals:
    """Builds the function that tests the sizes and calls the clone for them."""

    def __init__(
        self,
        mod: tvm.IRModule,
        func: relax.Function,
        combinations: Sequence[Mapping[Symbol, Interval]],
        plan: DispatchPlan,
    ) -> None:
        self.mod, self.func, self.plan = mod, func, plan
        self.rows = list(zip(combinations, plan.variants, strict=True))
        self.builder = relax.BlockBuilder(mod)
        self.variables = variables_of(func)

    def function(self) -> relax.Function:
        old = self.func
        with self.builder.function("dispatched", list(old.params)):
            chosen = self.builder.emit(self._choice(self.rows, list(self.rows[0][0])))
            result = self.builder.match_cast(chosen, old.ret_ty)
            self.builder.emit_func_output(result)
        made = self.builder.get()["dispatched"].without_attr("global_symbol")
        return made.with_attrs(dict(old.attrs)) if old.attrs else made

    def _choice(
        self,
        rows: Sequence[tuple[Mapping[Symbol, Interval], tuple[str, object]]],
        symbols: Sequence[Symbol],
    ) -> relax.Expr:
        """The expression that chooses among `rows`, which agree on all but these symbols."""
        if not symbols:
            return self._call(rows[0][1][0])
        symbol, *others = symbols
        intervals = sorted({row[0][symbol] for row in rows}, key=lambda i: i[0])
        return self._chain(symbol, intervals, 0, symbol.low, rows, others)

    def _chain(
        self,
        symbol: Symbol,
        intervals: Sequence[Interval],
        number: int,
        known: int | None,
        rows: Sequence[tuple[Mapping[Symbol, Interval], tuple[str, object]]],
        others: Sequence[Symbol],
    ) -> relax.Expr:
        """Tests from interval `number` on, where the size is at least `known`."""
        if number == len(intervals):
            return self._rest()
        low, high = intervals[number]
        inside = [row for row in rows if row[0][symbol] == (low, high)]
        variable = self.variables[symbol.name]
        found = self._choice(inside, others)
        if high is not None and not (number + 1 == len(intervals) and symbol.high == high - 1):
            after = self._chain(symbol, intervals, number + 1, high, rows, others)
            found = self._if(variable < high, found, after)
        if known is None or low > known:
            found = self._if(variable < low, self._rest(), found)
        return found

    def _if(self, condition: tirx.PrimExpr, then: relax.Expr, other: relax.Expr) -> relax.Expr:
        return relax.If(relax.prim_value(condition), _sequence(then), _sequence(other))

    def _rest(self) -> relax.Expr:
        return self._call(self.plan.fallback or self.plan.variants[0][0])

    def _call(self, name: str) -> relax.Expr:
        """A call of a clone, its arguments cast to what it takes."""
        target = self.mod.get_global_var(name)
        bounds = symbols_of(self.func)  # the clone's dims have the names of this function's
        bindings: list[relax.Binding] = []
        args: list[relax.Expr] = []
        for param, wanted in zip(self.func.params, self.mod[name].params, strict=True):
            found, have = (sizes_of(getattr(p.ty, "shape", None), bounds) for p in (wanted, param))
            if found is None or found == have:
                args.append(param)
                continue
            shape = [
                w if isinstance(size, int) else h
                for w, h, size in zip(
                    wanted.ty.shape.values, param.ty.shape.values, found, strict=True
                )
            ]
            cast = relax.Var(param.name, relax.TensorType(shape, param.ty.dtype))
            bindings.append(relax.MatchCast(cast, param, cast.ty))
            args.append(cast)
        call = self.builder.normalize(relax.Call(target, args))
        result = relax.Var("result", call.ty)
        bindings.append(relax.VarBinding(result, call))
        return relax.SeqExpr([relax.BindingBlock(bindings)], result)


def _sequence(expr: relax.Expr) -> relax.SeqExpr:
    if isinstance(expr, relax.SeqExpr):
        return expr
    result = relax.Var("chosen", expr.ty)
    return relax.SeqExpr([relax.BindingBlock([relax.VarBinding(result, expr)])], result)
