"""FuseNamed: TVM's FuseOps, whose calls keep the name of the value that they compute.

Before: ``a = call_tir(add, ...)``, ``relu_out = call_tir(relu, (a,), ...)``. After: ``relu_out =
fused_add_relu(...)``, where FuseOps alone says ``lv``. Profiles, messages and `tvmc compare` call
a value by its name.

Two values are the same when the same functions compute them of the same values: each expression
gets a number, a fused function's body being looked through (value numbering: Alpern, Wegman and
Zadeck, POPL 1988).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import tvm
from tvm import relax, tirx
from tvm.ir import GenericConst
from tvm.relax.expr_functor import PyExprMutator, mutator

from tvm_megcc.relax_tools.names import ANONYMOUS
from tvm_megcc.relax_tools.rewriting import module_pass

#: TVM's kind of a function that is fused with nothing (``OpPatternKind::kOpaque``).
_OPAQUE = 8


@module_pass("tvm_megcc.FuseNamed")
def FuseNamed(mod: tvm.IRModule) -> tvm.IRModule:
    """Run FuseOps; each fused call keeps the name of the value that it computes."""
    numbers = _Numbers()
    names = {n: var.name for var, n in numbers.bindings(mod) if not ANONYMOUS.fullmatch(var.name)}
    mod = _fused(mod)
    found = list(numbers.bindings(mod))
    taken = {var.name for var, _ in found}
    renamed: dict[relax.Var, str] = {}
    for var, number in found:
        name = names.get(number)
        if name is not None and name not in taken and ANONYMOUS.fullmatch(var.name):
            renamed[var] = name
            taken.add(name)
    return _Renamer(mod, renamed).run() if renamed else mod


def set_apart(mod: tvm.IRModule, names: Iterable[tvm.ir.GlobalVar]) -> tvm.IRModule:
    """Mark these TIR functions of a module as never fused."""
    apart = {name: mod[name].with_attr("op_pattern", _OPAQUE) for name in names}
    if not apart:
        return mod
    mod = mod.clone()
    mod.update(tvm.IRModule(apart))
    return mod


def _fused(mod: tvm.IRModule) -> tvm.IRModule:
    """FuseOps, without groups that FuseTIR (TVM 0.27) cannot take.

    A dim that a TIR function takes as an argument is a parameter of its group, and one that only
    shapes have is told with all such dims. FuseTIR ends in an internal error (``VarRemapGet``)
    where a group has both kinds. It ends in another one (``Inconsistent buffers``) where a value
    inside has a known size, for which a function that was made for all sizes has ``n``.
    """
    while True:
        fused = relax.transform.FuseOps()(mod)
        groups = [f for _, f in fused.functions_items() if _is_fused(f)]
        called = {call.args[0] for f in groups if _tells_twice(f) for _, call in _calls(f)}
        taking = {gvar.name_hint for gvar in called if _takes_dims(mod[gvar])}
        taking |= {name for f in groups for name in _made_for_all_sizes(f, mod)}
        if not taking:
            return fused
        mod = set_apart(mod, [gvar for gvar in mod.get_global_vars() if gvar.name_hint in taking])


def _calls(func: relax.Function) -> Iterator[tuple[relax.Var, relax.Call]]:
    """Variables and calls of the TIR functions of a group, without items of tuples."""
    for block in func.body.blocks:
        yield from ((b.var, b.value) for b in block.bindings if isinstance(b.value, relax.Call))


def _made_for_all_sizes(func: relax.Function, mod: tvm.IRModule) -> Iterator[str]:
    """Names of a group's TIR functions that take as a variable a dim which the group knows.

    Only dims of values between the group's calls count.
    """
    bound = {b.var for block in func.body.blocks for b in block.bindings}
    inside = bound - set(relax.analysis.free_vars(func.body.body))
    for var, call in _calls(func):
        callee, operands = call.args[:2]
        values = [*operands, var]
        buffers = [p.ty for p in mod[callee].params if isinstance(p.ty, tirx.BufferType)]
        for value, buffer in zip(values, buffers, strict=False):
            if value in inside and _is_wider(buffer.shape, value.ty):
                yield callee.name_hint


def _is_wider(shape: Sequence[tvm.ir.Expr], ty: relax.Type) -> bool:
    """Whether a buffer has a variable where a tensor has a number."""
    known = ty.shape.values if isinstance(ty, relax.TensorType) else ()
    return any(
        isinstance(have, tirx.IntImm) and not isinstance(dim, tirx.IntImm)
        for dim, have in zip(shape, known, strict=False)
    )


def _takes_dims(func: relax.Function | tirx.PrimFunc) -> bool:
    return any(isinstance(p.ty, tvm.ir.PrimType) for p in func.params)


def _tells_twice(func: relax.Function) -> bool:
    """Whether a group has some dims as parameters, and others within a shape parameter."""
    return _takes_dims(func) and any(isinstance(p.ty, relax.ShapeType) for p in func.params)


class _Numbers:
    """Numbers of values: equal for equal computations of one module, before and after FuseOps."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], int] = {}
        self._mod: tvm.IRModule | None = None

    def bindings(self, mod: tvm.IRModule) -> Iterator[tuple[relax.Var, int]]:
        """Variables bound in functions that are not fused, with their numbers."""
        self._mod = mod
        for gvar, func in mod.functions_items():
            if isinstance(func, relax.Function) and not _is_fused(func):
                params = [
                    self._number("parameter", gvar.name_hint, k) for k in range(len(func.params))
                ]
                values, _ = self._function(func, params)
                for block in func.body.blocks:
                    yield from ((b.var, values[b.var]) for b in block.bindings)

    def _number(self, *key: Any) -> int:
        return self._known.setdefault(key, len(self._known))

    def _function(
        self, func: relax.Function, arguments: Sequence[int]
    ) -> tuple[dict[relax.Var, int], int]:
        values = dict(zip(func.params, arguments, strict=True))
        for block in func.body.blocks:
            for binding in block.bindings:
                value = self._expr(binding.value, values)
                if isinstance(binding, relax.MatchCast):
                    value = self._number("cast", value, str(binding.ty))
                values[binding.var] = value
        return values, self._expr(func.body.body, values)

    def _expr(self, expr: Any, values: dict[relax.Var, int]) -> int:
        if isinstance(expr, tvm.ir.GlobalVar):
            return self._number("global", expr.name_hint)
        if isinstance(expr, relax.Var):
            return values[expr] if expr in values else self._number("free", expr.name)
        if isinstance(expr, GenericConst):
            return self._number("constant", expr)
        if isinstance(expr, relax.Tuple):
            return self._number("tuple", *(self._expr(field, values) for field in expr.fields))
        if isinstance(expr, relax.TupleGetItem):
            return self._number("item", self._expr(expr.tuple_value, values), expr.index)
        if not isinstance(expr, relax.Call):
            return self._number("other", str(expr))
        arguments = [self._expr(argument, values) for argument in expr.args]
        if isinstance(expr.op, tvm.ir.GlobalVar):
            assert self._mod is not None
            func = self._mod[expr.op]
            if _is_fused(func):
                return self._function(func, arguments)[1]
            return self._number("call", expr.op.name_hint, *arguments)
        return self._number("call", str(expr.op), str(expr.attrs), *arguments)


def _is_fused(func: relax.Function | tirx.PrimFunc) -> bool:
    return isinstance(func, relax.Function) and bool(func.attrs) and "Primitive" in func.attrs


@mutator
class _Renamer(PyExprMutator):
    def __init__(self, mod: tvm.IRModule, names: dict[relax.Var, str]) -> None:
        super().__init__(mod)
        self.mod, self.names = mod, names

    def run(self) -> tvm.IRModule:
        for gvar, func in self.mod.functions_items():
            if isinstance(func, relax.Function) and not _is_fused(func):
                self.builder_.update_func(gvar, self.visit_expr(func))
        return self.builder_.get()

    def visit_var_binding_(self, binding: relax.VarBinding) -> None:
        old = binding.var
        if old not in self.names:
            super().visit_var_binding_(binding)
            return
        new = type(old)(self.names[old], old.ty)
        self.builder_.emit_normalized(relax.VarBinding(new, self.visit_expr(binding.value)))
        self.set_var_remap(old, new)
