"""HalfPrecision: weights and activations in f16; what f16 cannot hold, or add up, in f32.

Before: ``nn.conv2d(x, w)``, ``exp`` in f32. After: ``x`` and ``w`` as f16, ``nn.conv2d`` in f16,
``astype`` to f32, ``exp``. Parameters and results of a function keep their types. The pass runs
after constants have been folded, so that a weight is rounded once.

* Operators of `PRODUCTS` and `_HALF` have operands and result in f16.
* Operators of `_FULL` have them in f32: f16 cannot hold their results (``exp`` exceeds 65504 from
  11.1 on), or would lose their sums. A mean over pixels is one, unless only products read it: it
  has few elements, and its rounding would show in a softmax of logits near 20.
* Other operators are in f32 while all their sources are: integers, inputs of the model, results of
  `_FULL`. Otherwise they are in f16. The same holds for `_HALF` with such an operand.
* A value is in f32 until its mean has been subtracted; the difference is in f16. The elements may
  be so alike that only the mean's rounding would be left.
* Quantised weights become f16 where their product is in f16, with scales in f16 if it holds them.
  Readers of other dequantised values are in f32.
* A sum of f16 with f32, or with a number beyond f16 such as a mask's -1e9, is made in f32 and then
  rounded: in f16 it could be an infinity, and a softmax of a row of these is NaN. The result counts
  as such a number, until an operator of another kind reads it. HoldCasts keeps finite numbers
  finite in conversions. Neither applies to a model that has f16 itself.
* Functions and ``call_tir`` keep the types that they were written for. Those of a cache
  (`relax_tools.attention_calls`) are in f16 if the cache is.

A model in f16 (`relax_tools.half`) sets its own types: operators of `PRODUCTS` and `_HALF` are as
any other, and values that the model has in f32 stay so. There are three exceptions:

* A product is in f16 if its operand is f32 by these rules alone, such as the rows of an embedding,
  which come from integers. So no weight becomes larger than in the model.
* A table that integers choose from is in f16, if f16 holds its constants.
* A comparison with a number that f16 does not hold, such as an attribute's 0.3, is in f32.

TVM's ``ToMixedPrecision`` (0.27) is for other machines: it has ``exp``, ``power`` and
``nn.layer_norm`` in f16 wherever their operands are, and leaves ``clip``, ``nn.prelu``, ``nn.pad``
and ``where``, for which it has no rule, in f32 between conversions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import tvm
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator
from tvm.relax.utils import copy_with_new_vars

from tvm_megcc.core.machine import machine
from tvm_megcc.relax_tools import half, int8_rows, traits
from tvm_megcc.relax_tools.attention_calls import OF_ROWS, cache_of, is_of_cache, with_operands
from tvm_megcc.relax_tools.calls import op_name, rebuilt, reduced_axes, with_args
from tvm_megcc.relax_tools.control_flow import plain_functions
from tvm_megcc.relax_tools.exprs import constant, expressions, make_constant
from tvm_megcc.relax_tools.half_loops import Loops, loops
from tvm_megcc.relax_tools.rewriting import module_pass
from tvm_megcc.relax_tools.traits import ARITHMETIC, COMPARISONS, MOVES, REDUCE, named

HALF, FULL = half.HALF, "float32"
_LARGEST = half.LARGEST

#: Operators whose result may be past the largest f16.
_SUMS = named("add subtract")
#: Operators that pass such a number on: arithmetic except division, and copies.
_HANDS_ON = (
    MOVES | ARITHMETIC - named("divide") | named("negative where broadcast_to concat tile repeat")
)

#: Operators that multiply by weights or read rows of them.
PRODUCTS = traits.PRODUCTS | named("take")
_HALF = named("""
    nn.avg_pool2d nn.max_pool2d nn.adaptive_avg_pool2d nn.prelu nn.softmax nn.log_softmax
    nn.layer_norm nn.rms_norm
""")
#: Reductions except extremes, whose results are elements. `image.grid_sample`, as TVM writes f32
#: into an image of f16 where the grid is f32.
_FULL = REDUCE - named("max min") | named("""
    exp log power square sqrt rsqrt cumsum cumprod einsum sinh cosh tan image.grid_sample
    nn.batch_norm nn.group_norm nn.instance_norm nn.softplus
""")


@module_pass("tvm_megcc.HalfPrecision")
def HalfPrecision(mod: tvm.IRModule, precision: str = "fp16") -> tvm.IRModule:
    """Compute in f16 wherever f16 can hold the numbers, else in f32.

    Parameters
    ----------
    precision : {"model", "fp32", "fp16", "mixed"}
        ``fp32`` leaves a module as it is; so does ``model``, if it is not of a model in f16.
    """
    said = half.said(mod)
    if precision == "fp32" or (precision == "model" and said is None):
        return mod
    if said is None and not _has_half(mod):
        mod = mod.with_attr(half.HELD, True)
    rewriter = _Rewriter(mod, said)
    for name, region in loops(mod):
        rewriter.loops.add(mod, name, region, rewriter)
    for gvar, func in plain_functions(mod):
        if gvar.name_hint not in rewriter.loops.replaced:
            states = rewriter.loops.bodies.get(gvar.name_hint, range(0))
            new = rewriter.body(func, states, frozenset(), frozenset())
            rewriter.builder_.update_func(gvar, new)
    mod = rewriter.builder_.get()
    rewriter.loops.into(mod)
    return relax.transform.DeadCodeElimination()(mod)


def wide_machine(arch: str) -> str:
    """Machine `arch` without the feature that adds and multiplies in f16."""
    found = machine(arch)
    return replace(found, features=tuple(f for f in found.features if f.name != "fp16")).name


def narrowed(array: np.ndarray) -> np.ndarray:
    """Round an f32 array to f16; finite numbers stay finite."""
    finite = np.where(np.isfinite(array), np.clip(array, -_LARGEST, _LARGEST), array)
    return finite.astype(np.float16, order="C").reshape(array.shape)


def _is_held(expr: relax.Expr) -> bool:
    """Whether f16 holds all floats of an operand, as far as they are constant."""
    array = constant(expr)
    if array is None or array.dtype != np.float32:
        return True
    return np.array_equal(narrowed(array).astype(np.float32), array, equal_nan=True)


def _has_half(mod: tvm.IRModule) -> bool:
    """Whether the module has a conversion to f16 already."""
    return any(
        op_name(expr) == "relax.astype" and str(expr.attrs.dtype) == HALF
        for _, func in plain_functions(mod)
        for expr in expressions(func)
    )


def _is_past_half(expr: relax.Expr) -> bool:
    """Whether a constant has a finite number beyond the largest f16."""
    array = constant(expr)
    if array is None or array.dtype != np.float32:
        return False
    return bool((np.isfinite(array) & (np.abs(array) > _LARGEST)).any())


def _padded(call: relax.Call, data: relax.Expr) -> relax.Call:
    """``nn.pad`` of `data` in f16, with its fill value narrowed as constants are."""
    fill = float(narrowed(np.asarray(call.attrs.pad_value, np.float64)))
    return rebuilt(call, [data], pad_value=fill)


def _is(expr: relax.Expr, dtype: str) -> bool:
    return isinstance(expr.ty, relax.TensorType) and str(expr.ty.dtype) == dtype


def _dtypes(ty: relax.Type) -> list[object]:
    """The element types of a tensor, or of the tensors of a tuple."""
    if isinstance(ty, relax.TupleType):
        return [_dtypes(field) for field in ty.fields]
    return [str(ty.dtype)] if isinstance(ty, relax.TensorType) else []


def _with_narrow_results(
    func: relax.Function, numbers: frozenset[int]
) -> tuple[relax.Function, set[relax.Var]]:
    """Round the results of these numbers to f16 and back; also return their new variables."""
    result = func.body.body
    fields = list(result.fields) if isinstance(result, relax.Tuple) else [result]
    rounded: dict[relax.Var, relax.Expr] = {}
    for k in sorted(numbers):
        half = relax.op.astype(fields[k], HALF)
        fields[k] = relax.Var(f"{fields[k].name}_rows", fields[k].ty)
        rounded[fields[k]] = relax.op.astype(half, FULL)
    if not rounded:
        return func, set()
    block = relax.DataflowBlock([relax.VarBinding(v, value) for v, value in rounded.items()])
    whole = relax.Tuple(fields) if isinstance(result, relax.Tuple) else fields[0]
    body = relax.SeqExpr([*func.body.blocks, block], whole)
    made = relax.Function(func.params, body, func.ret_ty, func.is_pure, func.attrs)
    return relax.transform.Normalize()(tvm.IRModule({"made": made}))["made"], set(rounded)


@mutator
class _Rewriter(PyExprMutator):
    def __init__(self, mod: tvm.IRModule, said: half.Said | None) -> None:
        super().__init__(mod)
        #: Types that a model in f16 gives its values; None for a model without f16.
        self.said = said
        #: Variables of this function that the model has in f32.
        self.full: set[relax.Var] = set()
        self.var: relax.Var | None = None  # the one being bound
        #: Of this block: (value, type) -> the same value in that type.
        self.forms: dict[tuple[relax.Var, str], relax.Var] = {}
        #: Results of a block that were computed in f16, and are f32 by the function's type.
        self.rounded: set[relax.Var] = set()
        #: Values that the rules for operators keep in f32, and values computed from these alone.
        self.kept: set[relax.Var] = set()
        #: Whether the value being bound belongs to `kept`, and to `carried`.
        self.is_kept = self.is_carried = False
        #: Values that may be beyond f16, as a mask's -1e9, and whether the one being bound is.
        self.large: set[relax.Var] = set()
        self.is_large = False
        #: Whether this function is the body of a loop.
        self.repeats = False
        #: States of a loop, and values computed from them without a product.
        self.carried: set[relax.Var] = set()
        #: Results of a function that become f16, and are f32 by its type.
        self.narrow: set[relax.Var] = set()
        self.loops = Loops()
        #: Of this block: value -> (variable, expression) that reads it.
        self.users: dict[relax.Var, list[tuple[relax.Var, relax.Expr]]] = {}

    def body(
        self, func: relax.Function, states: range, halves: frozenset[int], results: frozenset[int]
    ) -> relax.Function:
        """See `half_loops.Rewriter`."""
        func = copy_with_new_vars(func)
        self.full = self.said.variables(func) if self.said else set()
        self.carried = {func.params[k] for k in states}
        self.repeats = states.start > 0  # before the states is the number of the step
        func, self.narrow = _with_narrow_results(func, results)
        params = list(func.params)
        for k in halves:
            params[k] = relax.Var(params[k].name, relax.TensorType(params[k].ty.shape, HALF))
            self.set_var_remap(func.params[k], params[k])
        body = self.visit_with_new_scope(func.body)
        return relax.Function(params, body, is_pure=func.is_pure, attrs=func.attrs)

    def visit_dataflow_block_(self, block: relax.DataflowBlock) -> relax.BindingBlock:
        self._enter(block)
        return super().visit_dataflow_block_(block)

    def visit_binding_block_(self, block: relax.BindingBlock) -> relax.BindingBlock:
        self._enter(block)
        return super().visit_binding_block_(block)

    def _enter(self, block: relax.BindingBlock) -> None:
        self.forms, self.rounded, self.kept, self.users = {}, set(), set(), {}
        self.large = set()
        for binding in block.bindings:
            for used in relax.analysis.free_vars(binding.value):
                self.users.setdefault(used, []).append((binding.var, binding.value))

    def visit_var_binding_(self, binding: relax.VarBinding) -> None:
        var = binding.var
        self.var, self.is_kept, self.is_carried, self.is_large = var, False, False, False
        value = self.builder_.normalize(self.visit_expr(binding.value))
        if self.is_kept:
            self.kept.add(var)
        if self.is_carried:
            self.carried.add(var)
        if self.is_large:
            self.large.add(var)
        if _dtypes(value.ty) == _dtypes(var.ty):
            self.builder_.emit_normalized(relax.VarBinding(var, value))
        elif var in self.narrow:
            self._rebound(var, relax.Var(var.name, value.ty), value)
        elif isinstance(var, relax.DataflowVar):
            self._rebound(var, relax.DataflowVar(var.name, value.ty), value)
        else:  # a result of the block
            made = value if isinstance(value, relax.Var) else self.builder_.emit(value)
            result = self.builder_.normalize(self._like(made, var))
            self.builder_.emit_normalized(relax.VarBinding(var, result))
            if _is(made, HALF):
                self.forms[var, HALF] = made
                self.rounded.add(var)

    def _rebound(self, var: relax.Var, new: relax.Var, value: relax.Expr) -> None:
        """Bind `value` to `new`, which replaces `var`."""
        self.builder_.emit_normalized(relax.VarBinding(new, value))
        self.set_var_remap(var, new)
        if self.is_large:
            self.large.add(new)

    def visit_match_cast_(self, binding: relax.MatchCast) -> None:
        value = self._like(self.visit_expr(binding.value), binding.value)
        self.builder_.emit_normalized(relax.MatchCast(binding.var, value, binding.ty))

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        name = op_name(call)
        args = [self.visit_expr(arg) for arg in call.args]
        if name == "relax.astype":
            return self._cast(call, args[0])
        if isinstance(call.op, relax.GlobalVar) and call.op.name_hint in self.loops.callees:
            callee = self.loops.callees[call.op.name_hint]
            pairs = zip(args, callee.ty.params, strict=True)
            return relax.Call(callee, [self._typed(arg, ty) for arg, ty in pairs])
        if int8_rows.allowed_of(call) is not None:
            return int8_rows.allowing(args[1])
        if is_of_cache(call) and not self._is_said_full():
            cache = cache_of(call, args[1].fields)
            if _is(cache, HALF):
                return with_operands(self.builder_, call, self._of_cache(args[1], call.args[1]))
        if not name or name.startswith(("relax.call_", "relax.vm.", "relax.builtin.")):
            args = [self._like(new, old) for new, old in zip(args, call.args, strict=True)]
        elif name == "relax.dequantize" and all(constant(arg) is not None for arg in args):
            return self._weights(call, args)
        else:
            dtype = self._wanted(call, args) or self._followed(args)
            self.is_carried = dtype == FULL and self._has_any(args, self.carried)
            self.is_kept = (
                dtype == FULL
                and not self._is_said_full()
                and (self._widens(name, args) or self._has_any(args, self.kept))
            )
            apart = dtype == HALF and self._is_apart(name, args)
            self.is_large = name in _HANDS_ON and self._may_be_large(args)
            inner = FULL if apart else dtype
            args = [self._in(new, old, inner) for new, old in zip(args, call.args, strict=True)]
            if apart:
                wide = with_args(call, args)
                return relax.op.astype(self.builder_.emit(wide), HALF)
            if dtype == HALF and name == "relax.nn.pad":
                return _padded(call, args[0])
        return with_args(call, args)

    def _of_cache(self, new: relax.Tuple, old: relax.Tuple) -> list[relax.Expr]:
        """Operands of a call over a cache in f16: biases and sinks behind them stay in f32."""
        rows = list(zip(new.fields, old.fields, strict=True))
        halves = [self._in(a, b, HALF) for a, b in rows[:OF_ROWS]]
        return [*halves, *(self._like(a, b) for a, b in rows[OF_ROWS:])]

    def _is_apart(self, name: str, args: list[relax.Expr]) -> bool:
        """Whether an operator of f16 is computed in f32, and its result rounded.

        So are differences from a mean and, unless the model has f16 itself, operands beyond f16.
        """
        if name == "relax.subtract" and self._is_full_result(args[1], "relax.mean"):
            return True
        if self.said is not None or name not in {*_SUMS, "relax.multiply"}:
            return False
        # A row of a loop is rounded before the loop.
        sums = name in _SUMS and not self.repeats
        sums_full = sums and any(_is(a, FULL) and constant(a) is None for a in args)
        return sums_full or self._may_be_large(args)

    def _may_be_large(self, args: list[relax.Expr]) -> bool:
        """Whether an operand is a constant beyond the largest f16, or was made of one."""
        parts = (p for a in args for p in (a.fields if isinstance(a, relax.Tuple) else [a]))
        return any(p in self.large or _is_past_half(p) for p in parts)

    def _cast(self, call: relax.Call, arg: relax.Expr) -> relax.Expr:
        before, after = str(call.args[0].ty.dtype), str(call.ty.dtype)
        if before == FULL and after == HALF:
            return self._as(arg, HALF)
        if after == FULL and before in (HALF, FULL):  # holds no more than it did
            return arg
        return with_args(call, [arg])

    def _wanted(self, call: relax.Call, args: list[relax.Expr]) -> str | None:
        """The operator's fixed type, or None where its operands decide."""
        name = op_name(call)
        if self._is_said_full():
            return FULL
        if any(self._is_full_result(arg, "relax.dequantize") for arg in args):
            return FULL  # between integer kernels
        if name == "relax.mean" and call.args[0].ty.ndim == 4 and reduced_axes(call) == [2, 3]:
            if all(op_name(value) in PRODUCTS for _, value in self._readers()):
                return None  # a global pool, whose kernels add in f32
        if name in _FULL:
            return FULL
        if name in COMPARISONS and self.said is not None and not all(map(_is_held, args)):
            return FULL
        if name in PRODUCTS:
            # A loop's states that the model says nothing of stay in f32, as do their products.
            carries = self.said is not None and self._has_any(args, self.carried)
            return None if carries and not self._has_any(args, self.kept) else HALF
        if self._has_any(args, self.carried):
            return FULL
        is_kept = self._has_any(args, self.kept)
        return HALF if name in _HALF and self.said is None and not is_kept else None

    def _widens(self, name: str, args: list[relax.Expr]) -> bool:
        """Whether the rules keep an operator in f32, rather than the f32 operands of the model."""
        return name in _FULL and (self.said is None or self._followed(args) == HALF)

    def _is_said_full(self) -> bool:
        """Whether a model in f16 has the value being bound in f32."""
        return self.var in self.full

    @staticmethod
    def _has_any(args: list[relax.Expr], values: set[relax.Var]) -> bool:
        return any(v in values for arg in args for v in relax.analysis.free_vars(arg))

    def _readers(self) -> Iterator[tuple[relax.Var | None, relax.Expr | None]]:
        """Readers of the value being bound, also permuted or sliced; None for a block's result."""
        waiting = [self.var]
        while waiting:
            var = waiting.pop()
            if not isinstance(var, relax.DataflowVar):
                yield None, None
            for user, value in self.users.get(var, ()):
                if op_name(value) in MOVES or int8_rows.allowed_of(value) is not None:
                    waiting.append(user)
                else:
                    yield user, value

    def _weights(self, call: relax.Call, args: list[relax.Expr]) -> relax.Expr:
        """Dequantise constant weights to f16, unless a reader is in f32."""
        readers = [user for user, _ in self._readers() if user is not None]
        if any(user in self.full for user in readers):
            return call
        numbers, scale, zero = args
        wide = constant(scale)
        assert wide is not None
        if _is_held(scale):
            scale = make_constant(narrowed(wide))
        return relax.op.dequantize(numbers, scale, zero, int(call.attrs.axis), HALF)

    def _is_full_result(self, arg: relax.Expr, name: str) -> bool:
        """Whether `arg` is the result of the operator `name`, in f32."""
        value = self.lookup_binding(arg) if isinstance(arg, relax.Var) else None
        return op_name(value) == name and _is(arg, FULL)

    def _followed(self, args: list[relax.Expr]) -> str:
        """Type of an operator without a rule: f16 if an operand was computed in f16."""
        flat = [v for a in args for v in (a.fields if isinstance(a, relax.Tuple) else [a])]
        values = [v for v in flat if constant(v) is None]
        halves = any(_is(v, HALF) or v in self.rounded for v in values)
        return HALF if halves or self._is_of_tables(flat) else FULL

    def _is_of_tables(self, values: list[relax.Expr]) -> bool:
        """Whether integers choose elements of constants here, in a model in f16."""
        floats = [v for v in values if _is(v, FULL) or _is(v, HALF)]
        arrays = [a for a in map(constant, floats) if a is not None]
        if self.said is None or len(arrays) < len(floats) or not all(map(_is_held, floats)):
            return False
        return any(array.size > 1 for array in arrays)

    def _in(self, new: relax.Expr, old: relax.Expr, dtype: str) -> relax.Expr:
        """Cast an operand of f16 or f32 to `dtype`."""
        if isinstance(old, relax.Tuple):
            pairs = zip(new.fields, old.fields, strict=True)
            return relax.Tuple([self._in(n, o, dtype) for n, o in pairs])
        return self._as(new, dtype) if _is(new, HALF) or _is(new, FULL) else new

    def _like(self, new: relax.Expr, old: relax.Expr) -> relax.Expr:
        """Cast an operand back to the types that it had in the given module."""
        if isinstance(old.ty, relax.TupleType) and _dtypes(new.ty) != _dtypes(old.ty):
            fields = [
                new.fields[k]
                if isinstance(new, relax.Tuple)
                else self.builder_.emit(relax.TupleGetItem(new, k))
                for k in range(len(old.ty.fields))
            ]
            wanted = [relax.Var("_", ty) for ty in old.ty.fields]
            return relax.Tuple([self._like(n, o) for n, o in zip(fields, wanted, strict=True)])
        return self._as(new, FULL) if _is(old, FULL) and _is(new, HALF) else new

    def _typed(self, expr: relax.Expr, ty: relax.Type) -> relax.Expr:
        """Cast an operand to the type of a parameter, if that is f16 or f32."""
        for dtype in (HALF, FULL):
            if isinstance(ty, relax.TensorType) and str(ty.dtype) == dtype:
                return self._as(expr, dtype)
        return expr

    def _as(self, expr: relax.Expr, dtype: str) -> relax.Expr:
        """Cast a tensor of f16 or f32; equal casts of a block are one."""
        if _is(expr, dtype):
            return expr
        array = constant(expr)
        if array is not None:
            return make_constant(narrowed(array) if dtype == HALF else array.astype(np.float32))
        if not isinstance(expr, relax.Var):
            expr = self.builder_.emit(expr)
        if (expr, dtype) not in self.forms:
            self.forms[expr, dtype] = self.builder_.emit(relax.op.astype(expr, dtype))
        return self.forms[expr, dtype]
