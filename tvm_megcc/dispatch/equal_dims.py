"""A further function for the usual case of broadcast dims: all are equal, and nothing is copied.

Before: ``z = stretched_size(n, m)``, and ``x: [n, 3]`` and ``y: [m, 3]`` are copied to ``[z, 3]``.
After, in the other function: ``z`` is ``n``, and a ``match_cast`` checks that ``y`` is ``[n, 3]``.
The package has both, weights and kernels once. If a cast fails, the VM takes the first function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import tvm
from tvm import relax, tirx
from tvm.relax.expr_functor import PyExprMutator, mutator
from tvm.relax.utils import copy_with_new_vars

from tvm_megcc.dims import Size, compare, effort, is_static, stretch, stretched_from, symbols
from tvm_megcc.relax_tools.control_flow import called_by
from tvm_megcc.relax_tools.shape_exprs import (
    Symbols,
    prim_of,
    size_of,
    sizes_of,
    symbols_of,
    variables_of,
)
from tvm_megcc.relax_tools.stretching import copied, copy, parts_of
from tvm_megcc.shapes.builder import cast_dim


def with_equal_dims(
    mod: tvm.IRModule, functions: Sequence[str]
) -> tuple[tvm.IRModule, dict[str, str]]:
    """Add a function for equal dims beside each of `functions` in which dims broadcast.

    Returns
    -------
    IRModule, dict
        The module, and the added functions' names by those of the functions beside them.
    """
    made: dict[str, str] = {}
    for name in functions:
        equal = _equal(mod, name)
        if equal is None:
            continue
        func, copies = equal
        made[name] = f"{name}_equal"
        gvar = relax.GlobalVar(made[name])
        relax.expr._update_type(gvar, func.ty)
        mod = mod.clone()
        mod.update({**copies, gvar: func.with_attr("global_symbol", made[name])})
    return mod, made


def _equal(
    mod: tvm.IRModule, name: str
) -> tuple[relax.Function, dict[relax.GlobalVar, tirx.PrimFunc]] | None:
    """The function for equal dims and the copies that it calls; None where no dims broadcast."""
    func = copy_with_new_vars(mod[name])
    dims = symbols_of(mod[name])
    settled = _Settled.of(mod, func, dims, called_by(mod, [name]))
    if not settled.some:
        return None
    variables = variables_of(func)
    values = {variables[z]: prim_of(size, variables) for z, size in settled.values.items()}
    copying = _Copies(mod, func, settled)
    found = copying.visit_expr(func)
    known = {gvar.name_hint for gvar in mod.get_global_vars()}
    all_of_them = copying.builder_.get().functions_items()
    copies = {gvar: made for gvar, made in all_of_them if gvar.name_hint not in known}
    return _Checks(mod, dims).visit_expr(_bound(found, values)), copies


def _bound(func: relax.Function, values: Mapping[tirx.Var, tvm.ir.Expr]) -> relax.Function:
    """The function with these values for dims that it no longer defines."""
    if not values:
        return func
    # TVM knows no dims but those of parameters.
    free = relax.Var("free", relax.ShapeType(list(values)))
    given = relax.Function([*func.params, free], func.body, func.ret_ty, func.is_pure, func.attrs)
    found = given.bind_symbolic_vars(values)
    return relax.Function(
        list(found.params)[:-1], found.body, found.ret_ty, found.is_pure, found.attrs
    )


@dataclass(slots=True)
class _Settled:
    """The dims that follow from the inputs' shapes, broadcast dims among them."""

    #: The function's bounds of its dims.
    dims: Symbols
    names: set[str]
    #: Whether a copy follows from them.
    some: bool = False
    #: A broadcast dim -> its size where the dims that it comes from are equal.
    values: dict[str, Size] = field(default_factory=dict)

    @classmethod
    def of(
        cls, mod: tvm.IRModule, func: relax.Function, dims: Symbols, callees: Sequence[str]
    ) -> _Settled:
        shapes = [sizes_of(getattr(p.ty, "shape", None), dims) or () for p in func.params]
        found = cls(dims, {s.name for shape in shapes for size in shape for s in symbols(size)})
        # A function that is called knows a size by its name.
        named = {name for callee in callees for name in variables_of(mod[callee])}
        calls: dict[relax.Var, relax.Expr] = {}
        for block in func.body.blocks:
            for binding in block.bindings:
                if isinstance(binding, relax.VarBinding):
                    calls[binding.var] = binding.value
                    source = copied(mod, binding.value)
                    if source is not None:
                        pair = (sizes_of(v.ty.shape, dims) or () for v in (source, binding.var))
                        found.some |= found.needs(*pair)
                elif parts := parts_of(calls.get(binding.value)):
                    z = str(binding.ty.values[0].name)
                    if z not in named:
                        found.add(z, *parts)
        return found

    def needs(self, have: Sequence[Size], sizes: Sequence[Size]) -> bool:
        """Whether a copy to these dims may be a cast, and follows from the inputs' open shapes."""
        found = [self.values.get(str(size), size) for size in sizes]
        pairs = [pair for pair in zip(have, sizes, strict=True) if pair[0] != pair[1]]
        return self.knows(sizes) and not is_static(found) and not all(map(_never, pairs))

    def knows(self, sizes: Sequence[Size]) -> bool:
        return all(s.name in self.names for size in sizes for s in symbols(size))

    def add(self, name: str, *parts: tvm.ir.Expr) -> None:
        """Add a broadcast dim, if its parts are known."""
        sizes = []
        for part in parts:
            size = size_of(part, self.dims)
            assert size is not None, part
            sizes.append(self.values.get(str(size), size))
        if self.knows(sizes):
            known = stretch(*sizes)
            self.names.add(name)
            self.values[name] = min(stretched_from(known), default=known, key=effort)


def _beside(size: Size) -> Size:
    """The other operand's dim, of a dim that was broadcast to `size`."""
    return (stretched_from(size) or (0, size))[1]


def _never(pair: tuple[Size, Size]) -> bool:
    """Whether a dim never equals the other operand's dim: ``min(n, 1)`` is not 2."""
    have, size = pair
    return compare("eq", have, _beside(size)) == 0


@mutator
class _Copies(PyExprMutator):
    """Turn copies into casts, and drop the definitions of settled dims."""

    def __init__(self, mod: tvm.IRModule, func: relax.Function, settled: _Settled) -> None:
        super().__init__(mod)
        self.mod, self.settled = mod, settled
        self.variables = variables_of(func)

    def _sizes(self, value: relax.Expr) -> tuple[Size, ...]:
        return sizes_of(value.ty.shape, self.settled.dims) or ()

    def visit_match_cast_(self, binding: relax.MatchCast) -> None:
        is_shape = isinstance(binding.ty, relax.ShapeType) and binding.ty.values
        if is_shape and str(binding.ty.values[0]) in self.settled.values:
            return
        super().visit_match_cast_(binding)

    def visit_var_binding_(self, binding: relax.VarBinding) -> None:
        value = copied(self.mod, binding.value)
        if value is None or not self.settled.knows(self._sizes(binding.var)):
            super().visit_var_binding_(binding)
            return
        # A dim is the other operand's, except where it is always 1, or never the other's.
        have_dims, new_dims = (self._sizes(v) for v in (value, binding.var))
        dims: list[Size] = []
        copies: dict[int, Size] = {}
        for k, (have, size) in enumerate(zip(have_dims, new_dims, strict=True)):
            wanted = _beside(size)
            if have == 1 != size:
                copies[k] = wanted
            elif _never((have, size)):
                copies[k] = size
            dims.append(have if k in copies else wanted)
        ty = relax.TensorType([cast_dim(prim_of(d, self.variables)) for d in dims],
                              binding.var.ty.dtype)  # fmt: skip
        result = self.builder_.match_cast(self.visit_expr(value), ty, binding.var.name)
        if copies:
            result = copy(
                self.builder_, result, {k: prim_of(d, self.variables) for k, d in copies.items()}
            )
        self.set_var_remap(binding.var, result)


@mutator
class _Checks(PyExprMutator):
    """Let casts to settled dims define none, and drop casts to the same shape."""

    def __init__(self, mod: tvm.IRModule, dims: Symbols) -> None:
        super().__init__(mod)
        self.dims = dims

    def visit_match_cast_(self, binding: relax.MatchCast) -> None:
        if not isinstance(binding.ty, relax.TensorType):
            super().visit_match_cast_(binding)
            return
        value = self.visit_expr(binding.value)
        if sizes_of(value.ty.shape, self.dims) != sizes_of(binding.ty.shape, self.dims):
            ty = relax.TensorType(list(map(cast_dim, binding.ty.shape.values)), binding.ty.dtype)
            value = self.builder_.match_cast(value, ty, binding.var.name)
        elif not isinstance(value, relax.Var):  # a weight
            value = self.builder_.emit(value, binding.var.name)
        self.set_var_remap(binding.var, value)
