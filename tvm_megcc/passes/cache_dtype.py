"""CacheDtype: the caches that attention appends to are stored in another type.

    kept = append(new, before, past)             past, kept: f32   ->  f16, or int8
    y = attend(q, keys, values, before)          q, y: f32

Rows are rounded once, when they are appended, and widened when they are read. A row of int8 has
four elements more, in which is the float by which its numbers are multiplied. Runs on a whole
module, before anything else has changed it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax, tirx
from tvm.relax.expr_functor import PyExprMutator, mutator

from tvm_megcc.errors import UnsupportedError
from tvm_megcc.relax_tools.attention_calls import (
    FACTOR_BYTES,
    Attended,
    is_append,
    with_operands,
)
from tvm_megcc.relax_tools.calls import op_name, tir_name
from tvm_megcc.relax_tools.rewriting import cleaned, module_pass

#: Casts and changes of dims between a port and the calls of a cache.
_MOVES = ("relax.reshape", "relax.astype")

_SHOULD = "give --state 'past_key_values.*=present.*' for a model of GroupQueryAttention"


@module_pass("tvm_megcc.CacheDtype")
def CacheDtype(
    mod: tvm.IRModule,
    dtype: str,
    function: str,
    pairs: Sequence[tuple[int, int]],
    inputs: Sequence[str],
) -> tvm.IRModule:
    """Store caches in another type.

    Parameters
    ----------
    dtype : {"float32", "float16", "int8"}
    function : str
        Name of the function.
    pairs : sequence of (int, int)
        Its states: numbers of the parameter and of the result. Other states than caches stay.
    inputs : sequence of str
        Names of its parameters, for errors.

    Raises
    ------
    UnsupportedError
        No state is a cache, something else reads one, or the size of its heads is not known.
    """
    mod = relax.transform.ToNonDataflow()(mod)
    mod = relax.transform.CanonicalizeBindings()(mod)
    func = mod[function]
    found = _Caches(func, dtype, inputs)
    caches = [cache for pair in pairs if (cache := found.cache(*pair)) is not None]
    if not caches:
        raise UnsupportedError(
            f"--cache-dtype: none of the model's states is a cache that attention appends to;"
            f" {_SHOULD}"
        )
    found.check(caches)
    rewriter = _Rewriter(mod, caches, dtype)
    rewriter.builder_.update_func(mod.get_global_var(function), rewriter.function(func))
    return cleaned(rewriter.builder_.get())


@dataclass(frozen=True, slots=True)
class _Cache:
    """A parameter that `append` writes behind, and the dims that it will have."""

    name: str
    param: relax.Var
    made: relax.Var  # the result of `append`
    shape: Sequence[tirx.PrimExpr]
    size: int  # elements of a row that are numbers


class _Caches:
    """The caches of a function, and what reads them."""

    def __init__(self, func: relax.Function, dtype: str, names: Sequence[str]) -> None:
        self.func, self.dtype, self.names = func, dtype, names
        bindings = [b for block in func.body.blocks for b in block.bindings]
        self.values: dict[relax.Expr, Any] = {b.var: b.value for b in bindings}
        whole = self._source(func.body.body)
        whole = self.values.get(whole, whole)
        is_tuple = isinstance(whole, relax.Tuple)
        self.results = list(whole.fields) if is_tuple else [func.body.body]

    def _source(self, expr: relax.Expr) -> relax.Expr:
        """What an expression is a copy of, in other dims or of another type."""
        while True:
            value: Any = self.values.get(expr)
            if isinstance(value, relax.Var):
                expr = value
            elif op_name(value) in _MOVES:
                expr = value.args[0]
            else:
                return expr

    def cache(self, number: int, result: int) -> _Cache | None:
        """The cache that a state is; None for any other state."""
        param, made = self.func.params[number], self._source(self.results[result])
        call: Any = self.values.get(made)
        if not is_append(tir_name(call)):
            return None
        past = call.args[1].fields[2]
        if not self._source(past).same_as(param):
            return None
        size = past.ty.shape.values[-1]
        name = self.names[number]
        if not isinstance(size, tirx.IntImm):
            raise UnsupportedError(
                f"--cache-dtype: the size of the heads of cache '{name}' is not known; give it"
                f" by --input-shapes"
            )
        more = FACTOR_BYTES if self.dtype == "int8" else 0
        shape = [*param.ty.shape.values[:-1], tirx.IntImm("int64", int(size) + more)]
        return _Cache(name, param, made, shape, int(size))

    def check(self, caches: Sequence[_Cache]) -> None:
        """Refuse caches that are read by other calls than those of attention."""
        roots = {root: c for c in caches for root in (c.param, c.made)}
        for var, value in self.values.items():
            if isinstance(value, relax.Var) or op_name(value) in _MOVES or value is None:
                continue
            allowed = _cache_operands(value)
            for used in relax.analysis.free_vars(value):
                cache = roots.get(self._source(used))
                if cache is None or isinstance(value, relax.Tuple):
                    continue
                if not any(used.same_as(operand) for operand in allowed):
                    raise UnsupportedError(
                        f"--cache-dtype: cache '{cache.name}' is read by more than attention"
                        f" ('{var.name}'); leave out --cache-dtype"
                    )
            which = [roots.get(self._source(operand)) for operand in allowed]
            if any(which) and not all(which):
                name = next(c.name for c in which if c is not None)
                raise UnsupportedError(
                    f"--cache-dtype: attention reads cache '{name}' beside one that is no state;"
                    f" {_SHOULD}"
                )


def _cache_operands(call: relax.Expr) -> list[relax.Expr]:
    """Operands of a call of `append` or `attend` that are caches; empty for other expressions."""
    name = tir_name(call)
    if is_append(name):
        return [call.args[1].fields[2]]
    return list(call.args[1].fields[1:3]) if Attended.of(name) is not None else []


@mutator
class _Rewriter(PyExprMutator):
    def __init__(self, mod: tvm.IRModule, caches: Iterable[_Cache], dtype: str) -> None:
        super().__init__(mod)
        self.dtype = dtype
        self.caches = list(caches)
        #: Old variable -> the cache that it is.
        self.of: dict[relax.Var, _Cache] = {}

    def function(self, func: relax.Function) -> relax.Function:
        params: Mapping[relax.Var, relax.Var] = {
            c.param: relax.Var(c.param.name, relax.TensorType(relax.ShapeExpr(c.shape), self.dtype))
            for c in self.caches
        }
        for cache in self.caches:
            self.of[cache.param] = self.of[cache.made] = cache
            self.set_var_remap(cache.param, params[cache.param])
        body = self.visit_with_new_scope(func.body)
        made = [params.get(param, param) for param in func.params]
        return relax.Function(made, body, is_pure=func.is_pure, attrs=func.attrs)

    def visit_var_binding_(self, binding: relax.VarBinding) -> None:
        var, value = binding.var, binding.value
        source = value.args[0] if op_name(value) in _MOVES else value
        cache = self.of.get(source) if isinstance(source, relax.Var) else None
        if cache is not None:
            self.of[var] = cache
            self._bind(var, self._moved(value, self.visit_expr(source)))
        elif _cache_operands(value) and any(c in self.of for c in _cache_operands(value)):
            operands = [self.visit_expr(operand) for operand in value.args[1].fields]
            if is_append(tir_name(value)):
                operands[0] = self._given(operands[0])
            made = with_operands(self.builder_, value, operands)
            self._bind(var, self.builder_.normalize(made))
        else:
            super().visit_var_binding_(binding)

    def visit_match_cast_(self, binding: relax.MatchCast) -> None:
        cache = self.of.get(binding.value)
        if cache is None:
            super().visit_match_cast_(binding)
            return
        self.of[binding.var] = cache
        ty = self._type(binding.ty)
        new = relax.Var(binding.var.name, ty)
        self.builder_.emit_normalized(relax.MatchCast(new, self.visit_expr(binding.value), ty))
        self.set_var_remap(binding.var, new)

    def _type(self, ty: relax.TensorType) -> relax.TensorType:
        """The type of a cache that is in the dims of `ty`."""
        rows = list(ty.shape.values)
        size = int(rows[-1]) + (FACTOR_BYTES if self.dtype == "int8" else 0)
        return relax.TensorType([*rows[:-1], tirx.IntImm("int64", size)], self.dtype)

    def _moved(self, value: relax.Expr, new: relax.Expr) -> relax.Expr:
        if op_name(value) != "relax.reshape":
            return new
        return self.builder_.normalize(relax.op.reshape(new, self._type(value.ty).shape))

    def _given(self, rows: relax.Expr) -> relax.Expr:
        """Rows of f32 for a cache of another type."""
        if str(rows.ty.dtype) in (self.dtype, "float32"):
            return rows
        return self.builder_.emit(relax.op.astype(rows, "float32"))

    def _bind(self, var: relax.Var, value: relax.Expr) -> None:
        new = relax.Var(var.name, value.ty)
        self.builder_.emit_normalized(relax.VarBinding(new, value))
        self.set_var_remap(var, new)
