"""DepthwiseMultiples: depthwise convolutions with several outputs a channel become plain ones.

    conv2d(x[N, C, H, W], w[C * m, 1, KH, KW], groups=C)
      ->  m convolutions of C groups, whose results are interleaved: output c * m + j is row c of
          the convolution by w[j::m]

so that kernels of depthwise convolutions serve them. A bias goes to each of the convolutions.
Layouts are channels first, weights constants that are not quantised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import tvm
from tvm import relax

from tvm_megcc.dims import Size, product
from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.control_flow import plain_functions
from tvm_megcc.relax_tools.exprs import constant, expressions, make_constant, shape_of
from tvm_megcc.relax_tools.rewriting import Noting, bound, on, rewriting_pass
from tvm_megcc.relax_tools.spatial import channels_first, layouts_of

_CONVOLUTION = "relax.nn.conv2d"
#: Fewest channels, and most outputs of one, for which reading the input once for each output of a
#: channel costs less than the reference kernel.
FEWEST_CHANNELS, MOST = 4, 8


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

    @on("relax.add")
    def _biased(self, call: relax.Call) -> relax.Expr:
        """Add a bias to the parts, whose kernels add it to their sums."""
        for value, other in (call.args, reversed(call.args)):
            woven = self.notes.get(value) if isinstance(value, relax.Var) else None
            bias = constant(bound(self, other))
            if woven is None or bias is None:
                continue
            count, channels = len(woven.parts), woven.shape[1]
            shape = (1,) * (4 - bias.ndim) + bias.shape
            if shape != (1, count * channels, 1, 1):
                continue
            rows = [make_constant(bias.reshape(shape)[:, j::count].copy()) for j in range(count)]
            sums = [self.emit(relax.op.add(p, r)) for p, r in zip(woven.parts, rows, strict=True)]
            return self._whole(replace(woven, parts=tuple(sums)))
        return call

    def _whole(self, woven: _Woven) -> relax.Expr:
        self.note = woven
        batch, channels, *image = woven.shape
        count = len(woven.parts)
        parts = self.emit(relax.op.concat([*woven.parts], 1))
        rows = self.shape([batch, count, channels, *image])
        parts = self.emit(relax.op.reshape(parts, rows))
        parts = self.emit(relax.op.permute_dims(parts, [0, 2, 1, 3, 4]))
        return relax.op.reshape(parts, self.shape([batch, product([count, channels]), *image]))
