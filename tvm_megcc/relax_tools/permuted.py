"""Permuted values: how `channels_first` and `channels_last` change layouts.

A variable of the graph stands for ``permute_dims(raw, axes)``, where only ``raw`` is computed.
Operators that work in any order of axes read ``raw`` and pass the permutation on; ``permute_dims``
only composes permutations; other operators get one explicit transpose. So nothing is permuted
between two convolutions, and the model's own transposes cancel with ours.

TVM's ``ConvertLayout`` does the same from layout names and fails where a rank changes ("can't find
S in source layout ABCDE"); permutations of axes have no such case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import tvm
from tvm import relax
from tvm.relax.expr_functor import mutator

from tvm_megcc.dims import Undecided
from tvm_megcc.relax_tools.axis_runs import regrouped
from tvm_megcc.relax_tools.calls import op_name, permutation_of, rebuilt, reduced_axes, with_args
from tvm_megcc.relax_tools.exprs import as_int, constant, make_constant, shape_of
from tvm_megcc.relax_tools.rewriting import Rewriter, bound, cleaned, rewritten
from tvm_megcc.relax_tools.spatial import Layouts, relaid
from tvm_megcc.relax_tools.traits import BROADCAST, REDUCE, UNARY


@dataclass(frozen=True, slots=True)
class Permuted:
    """The value ``permute_dims(raw, axes)``, of which only `raw` is computed."""

    raw: relax.Var
    axes: tuple[int, ...]

    def raw_axis(self, logical: int) -> int:
        """Axis of `raw` that is axis `logical` of the value; of a scalar any number."""
        return self.axes[logical % len(self.axes)] if self.axes else logical


#: Call -> the layouts that it gets; None if it keeps its own.
Wanted = Callable[[relax.Expr], Layouts | None]


def with_layouts(
    mod: tvm.IRModule, wanted: Wanted, turned: Mapping[relax.Var, tuple[int, ...]] | None = None
) -> tvm.IRModule:
    """Bring convolutions, pooling and resizing of `mod` to the layouts that `wanted` gives.

    Variables of `turned` are permuted by these axes before their first use.
    """
    rewriter = _Rewriter(mod, wanted, turned or {})
    return cleaned(rewritten(mod, rewriter))


def _inverse(axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argsort(axes))


def _left(axes: Sequence[int], dropped: Sequence[int]) -> list[int]:
    """Permutation of ``permute_dims(raw, axes)`` after its axes `dropped` have been removed."""
    left = [axis for i, axis in enumerate(axes) if i not in dropped]
    order = sorted(left)
    return [order.index(axis) for axis in left]


def _rank(expr: relax.Expr) -> int:
    return int(expr.ty.ndim)


@mutator
class _Rewriter(Rewriter):
    def __init__(
        self, mod: tvm.IRModule, wanted: Wanted, turned: Mapping[relax.Var, tuple[int, ...]]
    ) -> None:
        super().__init__(mod)
        self.wanted, self.turned = wanted, turned
        self.turned_here: set[relax.Var] | None = None  # in a block of dataflow
        self.held: dict[relax.Var, Permuted] = {}
        self.tuples: dict[relax.Var, list[Permuted]] = {}
        self.logical: dict[relax.Var, relax.Var] = {}
        self.name = ""  # of the variable being bound: what is emitted in its place keeps it

    # A use of a permuted variable without a rule below gets the variable transposed.

    def visit_dataflow_var_(self, var: relax.DataflowVar) -> relax.Expr:
        return self._logical(var) if var in self.held else super().visit_dataflow_var_(var)

    def visit_var_(self, var: relax.Var) -> relax.Expr:
        return self._logical(var) if var in self.held else super().visit_var_(var)

    def visit_dataflow_block_(self, block: relax.DataflowBlock) -> relax.BindingBlock:
        self.turned_here = set()
        made = super().visit_dataflow_block_(block)
        for var in self.turned_here:  # what was made of it ends with the block
            self.held.pop(var)
            self.logical.pop(var, None)
        self.turned_here = None
        return made

    def visit_var_binding_(self, binding: relax.VarBinding) -> None:
        self.name = binding.var.name
        result = self._convert(binding.value)
        if result is None:
            if isinstance(binding.value, relax.Var) and binding.value in self.tuples:
                self.tuples[binding.var] = self.tuples[binding.value]
            super().visit_var_binding_(binding)
        elif isinstance(result, list):
            self.tuples[binding.var] = result
            whole = relax.Tuple([self._permuted(field) for field in result])
            super().visit_var_binding_(relax.VarBinding(binding.var, whole))
        elif isinstance(binding.var, relax.DataflowVar):
            self.held[binding.var] = result
        else:
            super().visit_var_binding_(relax.VarBinding(binding.var, self._permuted(result)))

    def visit_match_cast_(self, binding: relax.MatchCast) -> None:
        held = self._held(binding.value)
        if held is None or not isinstance(binding.var, relax.DataflowVar):
            super().visit_match_cast_(binding)
            return
        shape = [binding.ty.shape.values[i] for i in _inverse(held.axes)]
        ty = relax.TensorType(shape, binding.ty.dtype)
        raw = self.builder_.match_cast(held.raw, ty, binding.var.name)
        self.held[binding.var] = Permuted(raw, held.axes)

    def _held(self, expr: relax.Expr | None) -> Permuted | None:
        """Permutation of a variable, or None; variables of `turned` get theirs here."""
        if not isinstance(expr, relax.Var):
            return None
        here = self.turned_here
        if expr in self.turned and here is not None and expr not in here:
            here.add(expr)
            is_new, axes = expr not in self.held, self.turned[expr]
            raw = self._raw(expr, axes)
            if is_new:
                self.logical[expr] = self.visit_expr(expr)
            self.held[expr] = Permuted(raw, axes)
        return self.held.get(expr)

    def _logical(self, var: relax.Var) -> relax.Var:
        if var not in self.logical:
            self.logical[var] = self.emit(self._permuted(self.held[var]))
        return self.logical[var]

    @staticmethod
    def _permuted(value: Permuted) -> relax.Expr:
        if value.axes == tuple(range(len(value.axes))):
            return value.raw
        return relax.op.permute_dims(value.raw, list(value.axes))

    def _raw(self, expr: relax.Expr, axes: tuple[int, ...]) -> relax.Expr:
        """Value ``raw`` for which ``permute_dims(raw, axes)`` is `expr`."""
        array = constant(expr)
        if array is not None:
            return make_constant(np.ascontiguousarray(array.transpose(_inverse(axes))))
        held = self._held(expr)
        if held is not None and held.axes == axes:
            return held.raw
        source = held.raw if held is not None else self.visit_expr(expr)
        order = _inverse(axes)
        if held is None and (turned := self._turned_weights(source, order)) is not None:
            return turned
        if held is not None:
            order = tuple(held.axes[i] for i in order)
        return (
            source
            if order == tuple(range(len(order)))
            else self.emit(relax.op.permute_dims(source, list(order)))
        )

    def _turned_weights(self, expr: relax.Expr, order: tuple[int, ...]) -> relax.Expr | None:
        """``permute_dims(expr, order)`` of a dequantised constant, applied to its integers."""
        call = bound(self, expr)
        if op_name(call) != "relax.dequantize" or (numbers := constant(call.args[0])) is None:
            return None
        turned = make_constant(np.ascontiguousarray(numbers.transpose(order)))
        axis = order.index(int(call.attrs.axis) % numbers.ndim)
        return self.emit(rebuilt(call, [turned, *call.args[1:]], axis=axis))

    def _hold(self, expr: relax.Expr, axes: Sequence[int]) -> Permuted:
        return Permuted(self.builder_.emit(expr, name_hint=self.name), tuple(axes))

    # The rules.

    def _convert(self, value: relax.Expr) -> Permuted | list[Permuted] | None:
        if isinstance(value, relax.Var):
            return self.held.get(value)
        if isinstance(value, relax.TupleGetItem):
            fields = self.tuples.get(value.tuple_value)
            return fields[value.index] if fields else None
        name = op_name(value)
        if not name:
            return None
        if (relaid_call := self._relaid(value)) is not None:
            return relaid_call
        if name == "relax.permute_dims":
            return self._compose(value)
        if name in BROADCAST:
            return self._broadcast(value)
        held = self._held_argument(value)
        if held is None:
            return None
        if name in UNARY:
            args = [held.raw, *value.args[1:]]
            return self._hold(with_args(value, args), held.axes)
        rule = _RULES.get(name)
        return getattr(self, rule)(value, held) if rule else None

    def _held_argument(self, call: relax.Call) -> Permuted | None:
        """Permutation of the first argument, or of a tuple's first permuted field."""
        first = call.args[0] if call.args else None
        fields = first.fields if isinstance(first, relax.Tuple) else [first]
        return next((held for f in fields if (held := self._held(f)) is not None), None)

    def _relaid(self, call: relax.Call) -> Permuted | None:
        found = relaid(self._raw, call, self.wanted(call))
        return None if found is None else self._hold(*found)

    def _compose(self, call: relax.Call) -> Permuted:
        order, source = permutation_of(call), call.args[0]
        held = self._held(source)
        if held is not None:
            return Permuted(held.raw, tuple(held.axes[i] for i in order))
        visited = self.visit_expr(source)
        raw = visited if isinstance(visited, relax.Var) else self.emit(visited)
        return Permuted(raw, tuple(order))

    def _broadcast(self, call: relax.Call) -> Permuted | None:
        rank = _rank(call)
        found = map(self._held, call.args)
        held = [h for h in found if h is not None and len(h.axes) == rank]
        if not held or any(_rank(a) > rank for a in call.args):
            return None
        axes = held[0].axes
        args = [
            self._raw(self._of_rank(a, rank), axes) if _rank(a) else self.visit_expr(a)
            for a in call.args
        ]
        return self._hold(with_args(call, args), axes)

    def _of_rank(self, expr: relax.Expr, rank: int) -> relax.Expr:
        """Add leading axes of extent 1 to `expr`, as broadcasting would."""
        missing = rank - _rank(expr)
        if not missing:
            return expr
        array = constant(expr)
        if array is not None:
            return make_constant(array.reshape((1,) * missing + array.shape))
        return self.emit(relax.op.expand_dims(self.visit_expr(expr), axis=list(range(missing))))

    def _concat(self, call: relax.Call, held: Permuted) -> Permuted | None:
        fields = call.args[0].fields if isinstance(call.args[0], relax.Tuple) else None
        axis = as_int(call.attrs.axis)
        if fields is None or axis is None:
            return None
        raws = [self._raw(f, held.axes) for f in fields]
        return self._hold(relax.op.concat(raws, axis=held.raw_axis(axis)), held.axes)

    def _split(self, call: relax.Call, held: Permuted) -> list[Permuted]:
        cuts = call.attrs.indices_or_sections
        sections = as_int(cuts)
        where = sections if sections is not None else [as_int(c) for c in cuts]
        whole = self.emit(relax.op.split(held.raw, where, axis=held.raw_axis(int(call.attrs.axis))))
        count = len(call.ty.fields)
        return [self._hold(relax.TupleGetItem(whole, i), held.axes) for i in range(count)]

    def _reduce(self, call: relax.Call, held: Permuted) -> Permuted:
        logical = reduced_axes(call)
        result = rebuilt(call, [held.raw], axis=sorted(map(held.raw_axis, logical)))
        return self._hold(result, _left(held.axes, () if call.attrs.keepdims else logical))

    def _arg_extreme(self, call: relax.Call, held: Permuted) -> Permuted | None:
        """Along one axis, as the first of equal elements is the first in `raw`, too."""
        if call.attrs.axis is None:  # over all elements, in the logical order
            return None
        axis = int(call.attrs.axis)
        gone = () if call.attrs.keepdims else (axis % len(held.axes),)
        result = rebuilt(call, [held.raw], axis=held.raw_axis(axis))
        return self._hold(result, _left(held.axes, gone))

    def _reshape(self, call: relax.Call, held: Permuted) -> Permuted | None:
        """Keep each group of axes that a reshape splits or merges contiguous in memory."""
        raw_shape, out = (shape_of(v, self.symbols) for v in (held.raw, call))
        if raw_shape is None or out is None or 0 in raw_shape:
            return None
        try:
            groups = regrouped([raw_shape[a] for a in held.axes], out)
        except (Undecided, IndexError):  # the shapes at run time may have such runs, or others
            return None
        runs = [[held.axes[i] for i in source] for source, _ in groups]
        first = [min((a for a in run if raw_shape[a] != 1), default=-1) for run in runs]
        order = sorted(range(len(groups)), key=lambda g: (first[g], g))
        wanted = [a for g in order for a in runs[g]]
        moving = [a for a in wanted if raw_shape[a] != 1]
        raw = held.raw
        if moving != sorted(moving):
            raw = self.emit(relax.op.permute_dims(raw, wanted))
        made = [j for g in order for j in groups[g][1]]
        shape = self.shape(out[j] for j in made)
        return self._hold(relax.op.reshape(raw, shape), _inverse(made))

    def _along(self, call: relax.Call, held: Permuted) -> relax.Call:
        """Rebuild a call with an ``axis`` of its first operand for `raw`."""
        args = [held.raw, *map(self.visit_expr, call.args[1:])]
        return rebuilt(call, args, axis=held.raw_axis(int(call.attrs.axis)))

    def _along_axis(self, call: relax.Call, held: Permuted) -> Permuted:
        return self._hold(self._along(call, held), held.axes)

    def _batch_norm(self, call: relax.Call, held: Permuted) -> list[Permuted]:
        whole = self.emit(self._along(call, held))
        axes = (held.axes, (0,), (0,))  # the value, and what becomes of the statistics
        return [self._hold(relax.TupleGetItem(whole, k), a) for k, a in enumerate(axes)]

    def _pad(self, call: relax.Call, held: Permuted) -> Permuted:
        width = [int(v) for v in call.attrs.pad_width]
        moved = [v for i in _inverse(held.axes) for v in width[2 * i : 2 * i + 2]]
        return self._hold(rebuilt(call, [held.raw], pad_width=moved), held.axes)

    def _strided_slice(self, call: relax.Call, held: Permuted) -> Permuted | None:
        axes = call.args[1]
        if not isinstance(axes, relax.Tuple):
            return None
        logical = [as_int(getattr(f, "value", f)) for f in axes.fields]
        if any(a is None for a in logical):
            return None
        moved = relax.Tuple([relax.prim_value(held.raw_axis(a)) for a in logical])  # type: ignore[arg-type]
        args = [held.raw, moved, *call.args[2:]]
        return self._hold(with_args(call, args), held.axes)


#: Operator -> method of `_Rewriter` (by name: the decorator hides the class's own functions).
_RULES = {
    "relax.concat": "_concat",
    "relax.reshape": "_reshape",
    "relax.squeeze": "_reshape",
    "relax.expand_dims": "_reshape",
    "relax.split": "_split",
    "relax.nn.softmax": "_along_axis",
    "relax.nn.log_softmax": "_along_axis",
    "relax.nn.prelu": "_along_axis",
    "relax.nn.batch_norm": "_batch_norm",
    "relax.nn.pad": "_pad",
    "relax.quantize": "_along_axis",
    "relax.dequantize": "_along_axis",
    "relax.strided_slice": "_strided_slice",
    "relax.argmax": "_arg_extreme",
    "relax.argmin": "_arg_extreme",
    **dict.fromkeys(REDUCE, "_reduce"),
}
