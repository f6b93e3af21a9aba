"""LastPosition: an output has the last position of a sequence only, and so has what leads to it.

    y = matmul(norm(x), w)     ->  y = matmul(norm(x[:, -1:]), w)     x: [batch, length, width]

A language model that reads a prompt needs the logits of the last token alone: the head, and the
last layer's products behind its attention, are then for one row. Runs on a whole module, before
anything else has changed it, and expands composite operators such as MatMulNBits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import tvm
from tvm import relax

from tvm_megcc import dims
from tvm_megcc.dims import Symbol
from tvm_megcc.errors import UnsupportedError
from tvm_megcc.passes.expand_quantised import ExpandQuantised
from tvm_megcc.relax_tools.calls import op_name, reduced_axes, with_args
from tvm_megcc.relax_tools.exprs import use_counts
from tvm_megcc.relax_tools.rewriting import cleaned, module_pass, with_functions
from tvm_megcc.relax_tools.shape_exprs import size_of, symbols_of, with_bounds
from tvm_megcc.relax_tools.traits import BROADCAST, MATMUL, REDUCE, UNARY

#: The axis of the positions, of tensors ``[batch, length, width]``.
_AXIS, _RANK = 1, 3

#: Operators of lines of the last axis -> how many of their operands have positions.
_OF_LINES = {"relax.nn.softmax": 1, "relax.nn.log_softmax": 1}

#: Normalisations over the axes that they name.
_NORMS = ("relax.nn.layer_norm", "relax.nn.rms_norm")


@module_pass("tvm_megcc.LastPosition")
def LastPosition(
    mod: tvm.IRModule, functions: Sequence[str], outputs: Sequence[str], output: str
) -> tvm.IRModule:
    """Keep the last position of an output.

    Parameters
    ----------
    functions : sequence of str
        Names of the functions.
    outputs : sequence of str
        Names of their results.
    output : str
        The result ``[batch, length, width]``, which becomes ``[batch, 1, width]``.

    Raises
    ------
    UnsupportedError
        There is no such result, or it has other dims.
    """
    if output not in outputs:
        raise UnsupportedError(
            f"the model has no output '{output}' whose last position could be kept, but"
            f" {', '.join(outputs)}; rename it, or give --logits all"
        )
    mod = relax.transform.ToNonDataflow()(ExpandQuantised()(mod))
    mod = relax.transform.CanonicalizeBindings()(mod)
    place = list(outputs).index(output)
    made = {mod.get_global_var(f): _Function(mod[f], place, output).made() for f in functions}
    return cleaned(with_functions(mod, made))


class _Function:
    """One function, and which of its values are needed for the last position only."""

    def __init__(self, func: relax.Function, place: int, output: str) -> None:
        self.func = func
        self.bindings = [b for block in func.body.blocks for b in block.bindings]
        self.values = {b.var: b.value for b in self.bindings if isinstance(b, relax.VarBinding)}
        self.whole = self._found(func.body.body)
        is_tuple = isinstance(self.whole, relax.Tuple)
        self.results = list(self.whole.fields) if is_tuple else [self.whole]
        self.place = place
        self.output = self._found(self.results[place]) if place < len(self.results) else None
        shape = getattr(getattr(self.output, "ty", None), "shape", None)
        if not isinstance(shape, relax.ShapeExpr) or len(shape.values) != _RANK:
            raise UnsupportedError(
                f"output '{output}' has other dims than batch, length and width, so it has no"
                " last position; give --logits all"
            )
        self.lengths = self._lengths(shape.values[_AXIS], output)
        self.last = self._needed_last()
        self.now: dict[relax.Var, relax.Expr] = {}
        self.bound: list[relax.Binding] = []

    def _found(self, expr: relax.Expr) -> relax.Expr:
        while expr in self.values and isinstance(self.values[expr], relax.Var | relax.Tuple):
            expr = self.values[expr]
        return expr

    def _lengths(self, length: relax.Expr, output: str) -> list[Symbol]:
        """The open dims with which there is a last position: none of them may be 0."""
        symbols = symbols_of(self.func)
        size = size_of(length, symbols)
        if size is not None and dims.bounds(size)[0] >= 1:
            return []
        symbol = None if size is None else dims.as_symbol(size)
        if symbol is None:
            raise UnsupportedError(
                f"output '{output}' may have no position, as its length is"
                f" {length if size is None else size}; give"
                " --input-shapes, or --logits all"
            )
        return [replace(symbol, low=1)]

    def _needed_last(self) -> set[relax.Var]:
        """Results of calls that can compute the last position alone, and that need no other."""
        counts = use_counts(self.func)
        counts.update(b.value for b in self.bindings if isinstance(b.value, relax.Var))
        uses: Counter[relax.Expr] = Counter({self.output: 1})
        last: set[relax.Var] = set()
        for binding in reversed(self.bindings):
            var, value = binding.var, binding.value
            if uses[var] == 0 or uses[var] < counts[var]:
                continue
            operands = _positions(value)
            if operands is not None:
                last.add(var)
                uses.update(value.args[k] for k in operands)
        return last

    def made(self) -> relax.Function:
        """The function whose result has the last position."""
        for binding in self.bindings:
            if binding.var in self.last:
                self._narrowed(binding)
            else:
                self.bound.append(binding)
        result = self._last(self.output)
        self.results[self.place] = result
        one = not isinstance(self.whole, relax.Tuple)
        whole = self.results[0] if one else relax.Tuple(self.results)
        body = relax.SeqExpr([relax.BindingBlock(self.bound)], whole)
        types = list(self.func.ret_ty.fields) if not one else [self.func.ret_ty]
        types[self.place] = result.ty
        ty = types[0] if one else relax.TupleType(types)
        func = self.func
        made = relax.Function(func.params, body, ty, func.is_pure, func.attrs)
        return with_bounds(made, self.lengths)

    def _narrowed(self, binding: relax.VarBinding) -> None:
        """Bind the call's last position, to a variable of its own."""
        call = binding.value
        operands = _positions(call) or ()
        args = [self._last(a) if k in operands else a for k, a in enumerate(call.args)]
        self.now[binding.var] = self._bound(binding.var.name, with_args(call, args))

    def _last(self, expr: relax.Expr) -> relax.Expr:
        """The last position of a value that is computed whole, or of which that is all there is."""
        expr = self._found(expr)
        if expr not in self.now:
            shape = expr.ty.shape.values
            axis = len(shape) + _AXIS - _RANK
            begin, end = [shape[axis] - 1], [shape[axis]]
            cut = relax.op.strided_slice(expr, [axis], begin, end, [1], assume_inbound=True)
            name = getattr(expr, "name", "whole")
            self.now[expr] = self._bound(f"{name}_last", cut)
        return self.now[expr]

    def _bound(self, name: str, value: relax.Expr) -> relax.Var:
        call = relax.BlockBuilder().normalize(value)
        var = relax.Var(name, call.ty)
        self.bound.append(relax.VarBinding(var, call))
        return var


def _positions(call: relax.Expr) -> list[int] | None:
    """Operands of whose positions each is computed by itself; None where a call mixes them."""
    name = op_name(call)
    if not isinstance(call, relax.Call) or not _has_positions(call):
        return None
    if name in UNARY or name in _OF_LINES:
        axis = getattr(call.attrs, "axis", -1) if name in _OF_LINES else -1
        return [0] if int(axis) % _RANK == _RANK - 1 else None
    if name in BROADCAST:
        return [k for k, arg in enumerate(call.args) if _reaches(arg)]
    if name == MATMUL:
        right = call.args[1].ty
        return [0] if _has_positions(call.args[0]) and right.ndim == 2 else None
    if name in REDUCE:
        apart = call.attrs.keepdims and _AXIS not in reduced_axes(call)
        return [0] if apart and _has_positions(call.args[0]) else None
    if name in _NORMS:
        axes = {int(axis) % _RANK for axis in call.attrs.axes}
        return [0] if _AXIS not in axes else None
    return None


def _has_positions(expr: relax.Expr) -> bool:
    """Whether an expression has dims ``[batch, length, width]``."""
    shape = getattr(expr.ty, "shape", None)
    return isinstance(shape, relax.ShapeExpr) and len(shape.values) == _RANK


def _reaches(operand: relax.Expr) -> bool:
    """Whether an operand has a row for each position, and not one for all."""
    shape = getattr(operand.ty, "shape", None)
    values = [] if shape is None else list(shape.values)
    if len(values) < _RANK - _AXIS:
        return False
    length = values[_AXIS - _RANK]
    return not (isinstance(length, tvm.tirx.IntImm) and int(length) == 1)
