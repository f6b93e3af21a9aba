"""ConvTranspose, as a plain convolution whose result is interleaved, or of the spread input."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tvm import relax

from ...dims import Size, compare, maximum
from ...shapes.constraints import convolution
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common import weights
from ..common.convolution import convolve
from ..common.operands import with_bias
from ..common.slices import sliced
from ..common.weights import Weight
from ..common.window import Window, plain_window


class ConvTranspose(OnnxOp):
    """Three forms, all of them plain convolutions that the kernels know.

    * the kernel is a multiple of the stride: an output at ``q * s + r`` reads each s-th tap from r
      on; a convolution with ``C * prod(strides)`` channels has those of all r, and its result is
      interleaved and cut;
    * stride 1: a convolution with the mirrored kernel;
    * else the input is spread with zeros to the stride first.

    ``auto_pad`` SAME gives ``input * stride`` elements, as ONNX's text has it. Where the kernel is
    shorter than the stride, the last ones are only the bias: padding is never below 0. ONNX's
    equations would pad by less than 0, its shape inference and ONNX Runtime leave these elements
    out; with ``output_shape`` ONNX Runtime computes what is computed here.
    """

    slow = True
    labels = staticmethod(convolution(0, 1, transposed=True))

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape = inputs.shape(0)
        weight = weights.weight(inputs, 1)
        groups = attrs.get("group", 1)
        rank = len(shape) - 2
        extra = list(attrs.get("output_padding", [0] * rank))
        win = _resolve(ctx, attrs, list(inputs.static_shape(1)[2:]), shape[2:], extra)
        if groups == 1 and _is_even(win, extra):
            return _interleaved(ctx, inputs, weight, win, extra)
        result = _spread(ctx, inputs[0], weight, inputs.dtype(1), win, extra, groups, shape)
        return with_bias(ctx, inputs, 2, result) if inputs.has(2) else result


def _is_even(win: Window, extra: list[int]) -> bool:
    """Whether kernels are multiples of strides, and reach to the end of the result."""
    rows = zip(win.kernel, win.strides, win.after, extra, strict=True)
    return (
        max(win.strides) > 1
        and set(win.dilations) == {1}
        and all(k % s == 0 and compare("lt", after, more) == 0 for k, s, after, more in rows)
    )


def _resolve(
    ctx: Context, attrs: Attrs, kernel: list[int], dims: tuple[Size, ...], extra: list[int]
) -> Window:
    rank = len(kernel)
    win = plain_window(ctx, attrs, kernel)
    strides = win.strides
    steps = zip(extra, strides, win.dilations, strict=True)
    if any(n >= max(step, apart) for n, step, apart in steps):
        raise ctx.ill_typed(f"its output_padding {extra} is not below its strides or dilations")
    auto = attrs.get("auto_pad", "NOTSET")
    wanted = attrs.get("output_shape")
    if wanted is None:
        if auto in ("NOTSET", "VALID"):
            return win
        wanted = [size * stride for size, stride in zip(dims, strides, strict=True)]
    before: list[Size] = []
    after: list[Size] = []
    for axis in range(rank):
        full = strides[axis] * (dims[axis] - 1) + extra[axis] + win.reach(axis)
        (total,) = ctx.static([full - wanted[axis - rank]])
        if total < 0:
            # An output larger than what the kernel reaches is filled with the bias.
            extra[axis] -= total
            total = 0
        small, large = total // 2, total - total // 2
        # ONNX Runtime puts the odd element after for SAME_UPPER and before otherwise.
        before.append(small if auto == "SAME_UPPER" else large)
        after.append(large if auto == "SAME_UPPER" else small)
    return replace(win, before=before, after=after)


def _interleaved(
    ctx: Context, inputs: Inputs, weight: Weight, win: Window, extra: list[int]
) -> relax.Expr:
    """The result of `_is_even` kernels, its bias included."""
    batch, _, *dims = inputs.shape(0)
    given, channels, *_ = weights.dims(ctx, weight)
    rank, strides = len(dims), win.strides
    taps = [k // s for k, s in zip(win.kernel, strides, strict=True)]
    # [in, out, (tap, phase)...] -> [phase... * out, in, tap...]
    parts = [n for pair in zip(taps, strides, strict=True) for n in pair]
    phases = weights.reshaped(ctx, weight, [given, channels, *parts])
    order = [*(3 + 2 * k for k in range(rank)), 1, 0, *(2 + 2 * k for k in range(rank))]
    phases = weights.permuted(ctx, phases, order)
    phases = weights.reshaped(ctx, phases, [prod(strides) * channels, given, *taps])
    phases = weights.mirrored(ctx, phases, range(2, 2 + rank))
    around: list[Size] = [t - 1 for t in taps]
    unit = Window(taps, [1] * rank, [1] * rank, around, around)
    kernels = weights.expression(ctx, phases, inputs.dtype(1))
    result = convolve(ctx, inputs[0], kernels, unit, 1)
    if inputs.has(2):
        result = with_bias(ctx, inputs, 2, result, prod(strides))
    pixels = [dim + n for dim, n in zip(dims, around, strict=True)]
    parted = ctx.reshape(result, [batch, *strides, channels, *pixels])
    order = [0, 1 + rank]
    for axis in range(rank):
        order += [2 + rank + axis, 1 + axis]
    parted = ctx.emit(relax.op.permute_dims(parted, order))
    sizes = [dim * s for dim, s in zip(pixels, strides, strict=True)]
    whole = ctx.reshape(parted, [batch, channels, *sizes])
    after = [a - more for a, more in zip(win.after, extra, strict=True)]
    if not any([*win.before, *after]):
        return whole
    return _crop(ctx, whole, win.before, after)


def _spread(
    ctx: Context,
    data: relax.Expr,
    weight: Weight,
    dtype: str,
    win: Window,
    extra: list[int],
    groups: int,
    shape: tuple[Size, ...],
) -> relax.Expr:
    rank = len(win.kernel)
    # [g * in, out, k...] -> [g * out, in, mirrored k...]
    given, channels, *kernel = weights.dims(ctx, weight)
    mirrored = weights.reshaped(ctx, weight, [groups, given // groups, channels, *kernel])
    mirrored = weights.permuted(ctx, mirrored, [0, 2, 1, *range(3, 3 + rank)])
    whole = [groups * channels, given // groups, *kernel]
    mirrored = weights.reshaped(ctx, mirrored, whole)
    mirrored = weights.mirrored(ctx, mirrored, range(2, 2 + rank))
    data = _insert_zeros(ctx, data, shape, win.strides)
    unit = Window(win.kernel, [1] * rank, win.dilations, win.before, win.after)
    before = [win.reach(axis) - 1 - win.before[axis] for axis in range(rank)]
    after = [win.reach(axis) - 1 - win.after[axis] + extra[axis] for axis in range(rank)]
    if min(before + after) < 0:
        data = _crop(ctx, data, [maximum(0, -b) for b in before], [maximum(0, -a) for a in after])
        before, after = [maximum(0, b) for b in before], [maximum(0, a) for a in after]
    kernels = weights.expression(ctx, mirrored, dtype)
    return convolve(ctx, data, kernels, unit, groups, [*before, *after])


def _insert_zeros(
    ctx: Context, data: relax.Expr, shape: tuple[Size, ...], strides: list[int]
) -> relax.Expr:
    """Put ``stride - 1`` zeros between neighbours along each spatial axis."""
    if set(strides) == {1}:
        return data
    split: list[Size] = list(shape[:2])
    width = [0] * 4
    for dim, stride in zip(shape[2:], strides, strict=True):
        split += [dim, 1]
        width += [0, 0, 0, stride - 1]
    data = ctx.reshape(data, split)
    data = ctx.emit(relax.op.nn.pad(data, width))
    whole = [dim * stride for dim, stride in zip(shape[2:], strides, strict=True)]
    data = ctx.reshape(data, [*shape[:2], *whole])
    return _crop(ctx, data, [0] * len(strides), [stride - 1 for stride in strides])


def _crop(ctx: Context, data: relax.Expr, before: list[Size], after: list[Size]) -> relax.Expr:
    rows = zip(before, ctx.shape(data)[2:], after, strict=True)
    return sliced(
        ctx, data, [(2 + k, cut, size - end, 1) for k, (cut, size, end) in enumerate(rows)]
    )
