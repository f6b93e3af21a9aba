"""QuantisedMoves: copies and permutations work on 8 bits; steps that undo each other vanish.

    reshape(dequantize(x))                 ->  dequantize(reshape(x))
    quantize(reshape(v))                   ->  reshape(quantize(v))
    quantize(concat(a, b))                 ->  concat(quantize(a), quantize(b))
    quantize(dequantize(x, s, z), s, z)    ->  x
    pad(dequantize(x, s, z), 0)            ->  dequantize(pad(x, z), s, z)
    clip(quantize(v, s, z), low, high)     ->  quantize(clip(v, s*(low-z), s*(high-z)), s, z)

so that quantising and dequantising stand where integer kernels begin and end. Copies are operators
whose result is unchanged elements of their operand: also max pooling and nearest resizing. Scales
are constants, one for the whole tensor. Limits of bytes, as TFLite has them for activations, become
limits of the number, which kernels take; limits that keep all bytes vanish.
"""

from __future__ import annotations

from math import inf

import numpy as np
import tvm
from tvm import relax
from tvm.relax.expr_functor import mutator

from tvm_megcc.core.dtypes import EIGHT_BITS, numpy_dtype
from tvm_megcc.relax_tools.calls import op_name, rebuilt, with_args
from tvm_megcc.relax_tools.exprs import as_float, constant, dtype_of, step_of, use_counts
from tvm_megcc.relax_tools.rewriting import Rewriter, bound, cleaned, module_pass, on, rewritten
from tvm_megcc.relax_tools.traits import COPIES, MAX_POOLS, named

_PAD = "relax.nn.pad"
#: Operators whose result is unchanged elements of the first operand, some by their attributes.
_COPIES = COPIES | MAX_POOLS | named("image.resize2d take")


def _copies(call: relax.Expr) -> bool:
    """Whether the result of a call is unchanged elements of its first operand."""
    name = op_name(call)
    if name == "relax.image.resize2d":
        return str(call.attrs.method) == "nearest_neighbor"
    return name in _COPIES and not (name == "relax.take" and str(call.attrs.mode) == "nan")


@module_pass("tvm_megcc.QuantisedMoves")
def QuantisedMoves(mod: tvm.IRModule) -> tvm.IRModule:
    """Permute and copy 8-bit tensors in place of floats; drop steps that undo each other."""
    # A quantize moves up by one operator in each round.
    while True:
        rewriter = _Moves(mod)
        made = rewritten(mod, rewriter)
        if not rewriter.changed:
            return mod
        mod = cleaned(made)


@mutator
class _Moves(Rewriter):
    def enter(self, func: relax.Function) -> None:
        super().enter(func)
        self.uses = use_counts(func)

    @property
    def is_only_user(self) -> bool:
        """Whether nothing else reads the first operand of the call at hand."""
        return self.uses[self.given.args[0]] == 1

    @on(*_COPIES)
    def _moved(self, call: relax.Call) -> relax.Expr:
        source = self._dequantised(call.args[0]) if _copies(call) else None
        if source is None:
            return call
        args = [source.args[0], *call.args[1:]]
        moved = self.emit(with_args(call, args))
        return relax.op.dequantize(moved, *source.args[1:], axis=0)

    @on(_PAD)
    def _padded(self, call: relax.Call) -> relax.Expr:
        source = self._dequantised(call.args[0])
        fill = None if source is None else _fill(call, source)
        if source is None or fill is None:
            return call
        moved = self.emit(_pad(source.args[0], call, fill))
        return relax.op.dequantize(moved, *source.args[1:], axis=0)

    @on("relax.concat")
    def _joined(self, call: relax.Call) -> relax.Expr:
        """Dequantise the joined parts, where all have the same scale and zero point."""
        fields = call.args[0].fields if isinstance(call.args[0], relax.Tuple) else []
        sources = [s for f in fields if (s := self._dequantised(f)) is not None]
        if not sources or len(sources) < len(fields) or call.attrs.axis is None:
            return call
        first, *others = sources
        if not all(_same_steps(first, other) for other in others):
            return call
        joined = relax.op.concat([s.args[0] for s in sources], axis=int(call.attrs.axis))
        return relax.op.dequantize(self.emit(joined), *first.args[1:], axis=0)

    @on("relax.quantize")
    def _quantised(self, call: relax.Call) -> relax.Expr:
        if not _is_by_one_step(call) or dtype_of(call) not in EIGHT_BITS:
            return call
        source = bound(self, call.args[0])
        if op_name(source) == "relax.dequantize" and _same_steps(source, call):
            same = dtype_of(source.args[0]) == dtype_of(call)
            return source.args[0] if same and _is_by_one_step(source) else call
        if not self.is_only_user:
            return call
        if _copies(source) and int(source.args[0].ty.ndim) > 0:
            args = [self._step(source.args[0], call), *source.args[1:]]
            return with_args(source, args)
        if op_name(source) == _PAD and (fill := _fill(source, call)) is not None:
            return _pad(self._step(source.args[0], call), source, fill)
        if op_name(source) == "relax.concat" and isinstance(source.args[0], relax.Tuple):
            if source.attrs.axis is None:
                return call
            parts = [self._step(part, call) for part in source.args[0].fields]
            return relax.op.concat(parts, axis=int(source.attrs.axis))
        return call

    @on("relax.clip")
    def _limited(self, call: relax.Call) -> relax.Expr:
        """Limits of bytes as limits of the number: each is a whole step, so both round alike."""
        if dtype_of(call) not in EIGHT_BITS:
            return call
        info = np.iinfo(numpy_dtype(dtype_of(call)))
        low, high = (as_float(limit) for limit in call.args[1:])
        if low is None or high is None:
            return call
        if low <= info.min and high >= info.max:
            return call.args[0]
        source = bound(self, call.args[0])
        whole = low.is_integer() and high.is_integer() and info.min <= low <= high <= info.max
        if not whole or not self.is_only_user or op_name(source) != "relax.quantize":
            return call
        step = step_of(source)
        if step is None or step[0] <= 0:
            return call
        scale, zero = step
        first = -inf if low == info.min else float(scale) * (low - zero)
        last = inf if high == info.max else float(scale) * (high - zero)
        number = self.emit(relax.op.clip(source.args[0], first, last))
        return with_args(source, [number, *source.args[1:]])

    def _step(self, part: relax.Expr, like: relax.Call) -> relax.Expr:
        dtype = str(like.attrs.out_dtype)
        return self.emit(relax.op.quantize(part, *like.args[1:], axis=0, out_dtype=dtype))

    def _dequantised(self, expr: relax.Expr) -> relax.Call | None:
        """The ``dequantize`` that computes a value, if it has one constant scale; else None."""
        call = bound(self, expr)
        if op_name(call) != "relax.dequantize" or not _is_by_one_step(call):
            return None
        held = constant(call.args[0]) is None and dtype_of(call.args[0]) in EIGHT_BITS
        return call if held and dtype_of(call) == "f32" else None


def _fill(call: relax.Call, steps: relax.Call) -> int | None:
    """Fill value of a padding of bytes with the steps of a ``quantize`` or ``dequantize``.

    None where no byte stands for the number. Of constants only 0 is taken, as its zero point.
    """
    step = step_of(steps)
    raw = steps.args[0] if op_name(steps) == "relax.dequantize" else steps
    info = np.iinfo(numpy_dtype(dtype_of(raw)))
    if str(call.attrs.pad_mode) != "constant":
        return 0
    if step is None or float(call.attrs.pad_value) != 0 or not info.min <= step[1] <= info.max:
        return None
    return step[1]


def _pad(data: relax.Expr, like: relax.Call, fill: int) -> relax.Call:
    return rebuilt(like, [data], pad_value=fill)


def _is_by_one_step(call: relax.Call) -> bool:
    step = step_of(call)
    return step is not None and bool(step[0] > 0)


def _same_steps(one: relax.Call, other: relax.Call) -> bool:
    """Whether scales and zero points are equal."""
    return all(
        (a := constant(x)) is not None and (b := constant(y)) is not None
        and a.size == b.size == 1 and a.item() == b.item() and a.dtype == b.dtype
        for x, y in zip(one.args[1:], other.args[1:], strict=True)
    )  # fmt: skip
