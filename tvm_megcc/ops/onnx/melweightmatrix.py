"""MelWeightMatrix: a constant where its numbers are, else computed when the model runs."""

from __future__ import annotations

from math import log

import numpy as np
import onnx
from tvm import relax

from ...dims import Size, floordiv
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.indexing import in_bounds
from ..common.operands import scalar

#: mel = 2595 * log10(1 + hertz / 700)
_MEL, _HERTZ = 2595.0, 700.0


class MelWeightMatrix(OnnxOp):
    """Triangles between neighbouring edges, which are as far apart in mel, in whole bins."""

    single = {
        0: "num_mel_bins",
        1: "dft_length",
        2: "sample_rate",
        3: "lower_edge_hertz",
        4: "upper_edge_hertz",
    }

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        op = relax.op
        dtype = onnx.helper.tensor_dtype_to_np_dtype(attrs.get("output_datatype", 1)).name
        known = (inputs.known(k) for k in range(5))
        numbers = [float(v.reshape(-1)[0]) for v in known if v is not None and v.size == 1]
        weights = _weights(*numbers) if len(numbers) == 5 else None
        if weights is not None:
            return ctx.const(weights, dtype)
        (count,) = inputs.need_ints(0, "num_mel_bins", low=0)
        (length,) = inputs.need_ints(1, "dft_length", low=0)
        bins = floordiv(length, 2) + 1
        size, rate, low, high = (
            ctx.emit(op.astype(scalar(ctx, inputs, k), "float64")) for k in (1, 2, 3, 4)
        )
        edges = self._edges(ctx, count, low, high)
        place = op.divide(op.multiply(op.add(size, ctx.const(1, "float64")), edges), rate)
        edges = self._inside(ctx, ctx.emit(op.floor(ctx.emit(place))), count, bins)
        left, middle, right = (
            ctx.reshape(op.strided_slice(edges, [0], [k], [ctx.prim(count + k)], [1]), [1, count])
            for k in range(3)
        )
        row = ctx.emit(op.astype(op.arange(0, ctx.prim(bins), 1, "int64"), "float64"))
        row = ctx.reshape(row, [bins, 1])
        result = self._triangles(ctx, row, left, middle, right)
        return op.astype(result, dtype)

    @staticmethod
    def _inside(ctx: Context, edges: relax.Expr, count: Size, bins: Size) -> relax.Expr:
        """The edges, for a run in which each filter has bins between its own."""
        middles = relax.op.strided_slice(edges, [0], [1], [ctx.prim(count + 1)], [1])
        holds = in_bounds(ctx, ctx.emit(middles), 0, bins - 1)
        both = relax.op.logical_and(holds, in_bounds(ctx, edges, 0, bins))
        return ctx.checked(edges, ctx.emit(both))

    @staticmethod
    def _edges(ctx: Context, count: Size, low: relax.Expr, high: relax.Expr) -> relax.Expr:
        """The edges of all filters in hertz."""
        op = relax.op

        def mel(hertz: relax.Expr) -> relax.Expr:
            ratio = op.add(ctx.const(1, "float64"), op.divide(hertz, ctx.const(_HERTZ, "float64")))
            return ctx.emit(op.multiply(op.log(ratio), ctx.const(_MEL / log(10), "float64")))

        first, last = mel(low), mel(high)
        steps = count + 2
        number = ctx.emit(op.astype(op.arange(0, ctx.prim(steps), 1, "int64"), "float64"))
        step = op.divide(op.subtract(last, first), ctx.reshape(ctx.sizes([steps], "float64"), []))
        mels = ctx.emit(op.add(op.multiply(number, ctx.emit(step)), first))
        power = op.exp(op.multiply(mels, ctx.const(log(10) / _MEL, "float64")))
        return op.multiply(
            op.subtract(power, ctx.const(1, "float64")), ctx.const(_HERTZ, "float64")
        )

    @staticmethod
    def _triangles(
        ctx: Context, row: relax.Expr, left: relax.Expr, middle: relax.Expr, right: relax.Expr
    ) -> relax.Expr:
        """Up from the left edge to the middle, down to the right one; at least the middle is 1."""
        op, zero, one = relax.op, ctx.const(0.0, "float64"), ctx.const(1.0, "float64")

        def ratio(top: relax.Expr, bottom: relax.Expr) -> relax.Expr:
            bottom = ctx.emit(bottom)
            # Where an edge is the middle the quotient is not used.
            safe = op.where(op.equal(bottom, zero), one, bottom)
            return ctx.emit(op.divide(top, safe))

        up = ratio(op.subtract(row, left), op.subtract(middle, left))
        down = ratio(op.subtract(right, row), op.subtract(right, middle))
        rising = op.logical_and(op.less_equal(left, row), op.less(row, middle))
        falling = op.logical_and(op.less(middle, row), op.less(row, right))
        result = ctx.emit(op.where(ctx.emit(falling), down, zero))
        result = ctx.emit(op.where(ctx.emit(rising), up, result))
        return ctx.emit(op.where(op.equal(row, middle), one, result))


def _weights(
    count: float, length: float, rate: float, low: float, high: float
) -> np.ndarray | None:
    """The matrix, as the graph of `MelWeightMatrix` computes it; None where that ends the run."""
    bins, steps = int(length) // 2 + 1, int(count) + 2
    with np.errstate(all="ignore"):
        first, last = (_MEL / log(10) * np.log(1 + hertz / _HERTZ) for hertz in (low, high))
        mels = np.arange(steps) * ((last - first) / steps) + first
        hertz = _HERTZ * (np.exp(mels * (log(10) / _MEL)) - 1)
        edges = np.floor((length + 1) * hertz / rate)
        left, middle, right = edges[:-2], edges[1:-1], edges[2:]
        if not np.all((edges >= 0) & (edges <= bins)) or not np.all(middle < bins):
            return None
        row = np.arange(bins)[:, None]
        falls = np.where((middle < row) & (row < right), (right - row) / (right - middle), 0)
        rises = np.where((left <= row) & (row < middle), (row - left) / (middle - left), falls)
    return np.where(row == middle, 1.0, rises)
