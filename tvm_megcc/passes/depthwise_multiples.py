"""DepthwiseMultiples: depthwise convolutions with several outputs a channel become plain ones.

    conv2d(x[N, C, H, W], w[C * m, 1, KH, KW], groups=C)
      ->  m convolutions of C groups, whose results are interleaved: output c * m + j is row c of
          the convolution by w[j::m]

so that kernels of depthwise convolutions serve them. What follows element by element, with
constants of channels, is done before they are interleaved: a bias, an activation, a step of bytes.
Layouts are channels first, weights constants that are not quantised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import tvm
from tvm import relax

from tvm_megcc.dims import Size, product
from tvm_megcc.relax_tools.calls import op_name, with_args
from tvm_megcc.relax_tools.control_flow import plain_functions
from tvm_megcc.relax_tools.exprs import constant, expressions, make_constant, shape_of, use_counts
from tvm_megcc.relax_tools.rewriting import Noting, bound, on, rewriting_pass
from tvm_megcc.relax_tools.spatial import channels_first, layouts_of
from tvm_megcc.relax_tools.traits import ARITHMETIC, UNARY

_CONVOLUTION = "relax.nn.conv2d"
#: Fewest channels, and most outputs of one, for which reading the input once for each output of a
#: channel costs less than the reference kernel.
FEWEST_CHANNELS, MOST = 4, 8
_ELEMENTWISE = UNARY | ARITHMETIC | {"relax.quantize"}


@dataclass(frozen=True, slots=True)
class _Woven:
    """A value interleaved from the results of convolutions with as many channels each."""

    parts: tuple[relax.Expr, ...]
    shape: tuple[Size, ...]  # of one part


def _multiple(call: relax.Call, dims: Sequence[Size] | None, weights: np.ndarray | None) -> int:
    """Outputs of a channel of a depthwise convolution; 0 of any other."""
    channels = dims[1] if dims is not None and len(dims) == 4 else 0
    if weights is None or not isinstance(channels, int) or int(call.attrs.groups) != channels:
        return 0
    outputs, given = weights.shape[:2]
    return int(outputs) // channels if given == 1 and channels >= FEWEST_CHANNELS else 0


def _has_groups(mod: tvm.IRModule) -> bool:
    calls = (expr for _, func in plain_functions(mod) for expr in expressions(func))
    return any(op_name(call) == _CONVOLUTION and int(call.attrs.groups) > 1 for call in calls)


@rewriting_pass("tvm_megcc.DepthwiseMultiples", clean=True, where=_has_groups)
class DepthwiseMultiples(Noting):
    """Replace depthwise convolutions with several outputs a channel by plain ones."""

    def enter(self, func: relax.Function) -> None:
        super().enter(func)
        self.uses = use_counts(func)

    @on(_CONVOLUTION)
    def _convolution(self, call: relax.Call) -> relax.Expr:
        if layouts_of(call) != channels_first(call):
            return call
        weights = constant(bound(self, call.args[1]))
        count = _multiple(call, shape_of(call.args[0], self.symbols), weights)
        shape = shape_of(call, self.symbols)
        if weights is None or not 1 < count <= MOST or shape is None or 0 in shape:
            return call
        parts = []
        for j in range(count):
            kernel = make_constant(np.ascontiguousarray(weights[j::count]))
            parts.append(self.emit(relax.Call(call.op, [call.args[0], kernel], call.attrs)))
        channels = weights.shape[0] // count
        return self._whole(_Woven(tuple(parts), (shape[0], channels, *shape[2:])))

    @on(*_ELEMENTWISE)
    def _of_parts(self, call: relax.Call) -> relax.Expr:
        """Apply to the parts what their kernels apply to their sums."""
        operands = [k for k, a in enumerate(call.args) if isinstance(a.ty, relax.TensorType)]
        values = [k for k in operands if call.args[k] in self.notes]
        if len(values) != 1 or self.uses[self.given.args[values[0]]] > 1:
            return call
        woven = self.notes[call.args[values[0]]]
        columns = []
        for k, arg in enumerate(call.args):
            rows = woven.parts if k in values else [arg] * len(woven.parts)
            if k in operands and k not in values:
                rows = self._rows(arg, woven)
            if rows is None:
                return call
            columns.append(rows)
        parts = [self.emit(with_args(call, args)) for args in zip(*columns, strict=True)]
        return self._whole(replace(woven, parts=tuple(parts)))

    def _rows(self, side: relax.Expr, woven: _Woven) -> Sequence[relax.Expr] | None:
        """An operand for each of the parts; None of one that is not constant along images."""
        values = constant(bound(self, side))
        if values is None or values.ndim > 4:
            return None
        count = len(woven.parts)
        if values.size == 1:
            return [side] * count
        spread = values.reshape((1,) * (4 - values.ndim) + values.shape)
        if spread.shape != (1, count * woven.shape[1], 1, 1):
            return None
        return [make_constant(spread[:, j::count].copy()) for j in range(count)]

    def _whole(self, woven: _Woven) -> relax.Expr:
        self.note = woven
        batch, channels, *image = woven.shape
        count = len(woven.parts)
        parts = self.emit(relax.op.concat([*woven.parts], 1))
        rows = self.shape([batch, count, channels, *image])
        parts = self.emit(relax.op.reshape(parts, rows))
        parts = self.emit(relax.op.permute_dims(parts, [0, 2, 1, 3, 4]))
        return relax.op.reshape(parts, self.shape([batch, product([count, channels]), *image]))
