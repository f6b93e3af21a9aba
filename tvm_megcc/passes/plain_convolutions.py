"""PlainConvolutions: transposed convolutions are convolutions whose outputs are interleaved.

    conv2d_transpose(x, W[I, O, KH, KW], strides=s)
      ->  interleaved(conv2d(x, phases(W)[SH * SW * O, I, KH / SH, KW / SW]))

An output at ``q * s + r`` reads each s-th tap from r on, which is a convolution of the input as it
is; a plain one has the channels of all r, and what is padding is cut off. Kernels that are no
multiple of the stride, groups, dilated kernels and steps of one are convolutions of the spread
input instead:

    conv2d(spread(x, s), mirrored(W)[O, I, KH, KW], padding=d * (K - 1) - p)

`spread` puts ``s - 1`` zeros between neighbours along each axis. The importer gives ONNX's
ConvTranspose the same forms, so that kernels of convolutions serve both. TVM's own code computes
in f32.

Weights are constants, also quantised ones; spatial sizes are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod

import numpy as np
import tvm
from tvm import relax

from tvm_megcc.dims import Size, fixed_dims, is_static
from tvm_megcc.relax_tools.calls import function_of, op_name
from tvm_megcc.relax_tools.control_flow import plain_functions
from tvm_megcc.relax_tools.exprs import expressions, shape_of
from tvm_megcc.relax_tools.moved_constants import Moved, moved_constant
from tvm_megcc.relax_tools.rewriting import Noting, on, rewriting_pass
from tvm_megcc.relax_tools.spatial import channels_first, layouts_of
from tvm_megcc.relax_tools.traits import TRANSPOSED_CONVOLUTIONS

#: Transposed convolution -> the plain one.
_PLAIN = {name: function_of(name.removesuffix("_transpose")) for name in TRANSPOSED_CONVOLUTIONS}


@dataclass(frozen=True, slots=True)
class _Tiles:
    """A value interleaved from pixels that have `channels` for each of `taps`, and cut."""

    pixels: relax.Var
    taps: int
    channels: int
    shapes: tuple[relax.ShapeExpr, relax.ShapeExpr]  # with taps as axes, and the value's, uncut
    axes: list[int]
    #: Where it begins and ends along each spatial dim; none where nothing is cut.
    cut: tuple[tuple[int, int], ...]


def _plain(weights: Moved, groups: int, mirrored: bool) -> Moved:
    """Weights of a transposed convolution as those of a plain one, flipped if `mirrored`.

    ``[g * I, O, K...]`` becomes ``[g * O, I, K...]``.
    """

    def turned(array: np.ndarray) -> np.ndarray:
        given, channels, *kernel = array.shape
        rows = array.reshape(groups, given // groups, channels, *kernel).swapaxes(1, 2)
        rows = rows.reshape(groups * channels, given // groups, *kernel)
        return np.flip(rows, tuple(range(2, rows.ndim))) if mirrored else rows

    return weights.map(turned)


def _phases(array: np.ndarray, strides: Sequence[int]) -> np.ndarray:
    """``[O, I, K...]``, multiples of strides, as ``[S... * O, I, (K / S)...]``, taps mirrored."""
    outputs, inputs, *kernel = array.shape
    taps = [k // s for k, s in zip(kernel, strides, strict=True)]
    parts = [n for pair in zip(taps, strides, strict=True) for n in pair]
    rank = len(kernel)
    order = [*(3 + 2 * k for k in range(rank)), 0, 1, *(2 + 2 * k for k in range(rank))]
    rows = array.reshape(outputs, inputs, *parts).transpose(order)
    return np.flip(rows.reshape(-1, inputs, *taps), tuple(range(2, 2 + rank)))


def _for_each_tap(bias: np.ndarray, tiles: _Tiles, rank: int) -> np.ndarray:
    """Repeat a bias for each tap, as the pixels' channels are."""
    return np.tile(bias.reshape(-1), tiles.taps).reshape(1, -1, *[1] * (rank - 2))


def _has_transposed(mod: tvm.IRModule) -> bool:
    calls = (expr for _, func in plain_functions(mod) for expr in expressions(func))
    return any(op_name(call) in _PLAIN for call in calls)


@rewriting_pass("tvm_megcc.PlainConvolutions", clean=True, where=_has_transposed)
class PlainConvolutions(Noting):
    """Replace transposed convolutions by plain ones, in channels-first layouts."""

    @on(*_PLAIN)
    def _convolution(self, call: relax.Call) -> relax.Expr:
        if layouts_of(call) != channels_first(call):
            return call
        weights = moved_constant(self, call.args[1], self.symbols)
        shape = shape_of(call.args[0], self.symbols)
        if weights is None or shape is None or not is_static(shape[2:]):
            return call
        attrs = call.attrs
        strides, dilation, padding, output_padding = (
            [int(v) for v in values]
            for values in (attrs.strides, attrs.dilation, attrs.padding, attrs.output_padding)
        )
        kernel = list(weights.values.shape[2:])
        rank = len(kernel)
        made = None
        even = not any(k % s for k, s in zip(kernel, strides, strict=True))
        if set(dilation) == {1} and int(attrs.groups) == 1 and max(strides) > 1 and even:
            sizes = [int(size) for size in fixed_dims(shape[2:])]
            whole = [(n - 1) * s + k for n, s, k in zip(sizes, strides, kernel, strict=True)]
            ends = zip(whole, padding[rank:], output_padding, strict=True)
            cut = list(zip(padding[:rank], (n - p + more for n, p, more in ends), strict=True))
            made = self._interleaved(call, weights, shape, strides, cut)
        if made is None:
            reach = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
            before = [r - p for r, p in zip(reach, padding[:rank], strict=True)]
            after = [
                r - p + more
                for r, p, more in zip(reach, padding[rank:], output_padding, strict=True)
            ]
            made = self._spread(call, weights, shape, before, after)
        return call if made is None else made

    def _interleaved(
        self,
        call: relax.Call,
        weights: Moved,
        shape: tuple[Size, ...],
        strides: list[int],
        cut: list[tuple[int, int]],
    ) -> relax.Expr | None:
        """The convolution of all phases; None where it does not reach to the end of `cut`."""
        rank, kernel = len(shape) - 2, list(weights.values.shape[2:])
        taps = [k // s for k, s in zip(kernel, strides, strict=True)]
        plain = _plain(weights, 1, mirrored=False)
        if 0 in shape or 0 in fixed_dims(shape[2:]):
            return None
        pixels = [int(n) + t - 1 for n, t in zip(fixed_dims(shape[2:]), taps, strict=True)]
        sizes = [n * s for n, s in zip(pixels, strides, strict=True)]
        if any(not first < last <= size for (first, last), size in zip(cut, sizes, strict=True)):
            return None
        made = plain.map(partial(_phases, strides=strides)).expression()
        if made is None:
            return None
        around = [t - 1 for t in taps]
        found = self.emit(
            _PLAIN[op_name(call)](
                call.args[0],
                self.emit(made),
                padding=[*around, *around],
                out_dtype=str(call.attrs.out_dtype) if call.attrs.out_dtype else None,
            )
        )
        channels = plain.values.shape[0]
        shapes = (
            self.shape([shape[0], *strides, channels, *pixels]),
            self.shape([shape[0], channels, *sizes]),
        )
        woven = [axis for k in range(rank) for axis in (2 + rank + k, 1 + k)]
        axes = [0, 1 + rank, *woven]
        kept = () if cut == [(0, size) for size in sizes] else tuple(cut)
        return self._whole(_Tiles(found, prod(strides), channels, shapes, axes, kept))

    def _whole(self, tiles: _Tiles) -> relax.Expr:
        self.note = tiles
        parts = self.emit(relax.op.reshape(tiles.pixels, tiles.shapes[0]))
        parts = self.emit(relax.op.permute_dims(parts, tiles.axes))
        value = relax.op.reshape(parts, tiles.shapes[1])
        if not tiles.cut:
            return value
        axes = [2 + k for k in range(len(tiles.cut))]
        begin, end = (list(side) for side in zip(*tiles.cut, strict=True))
        return relax.op.strided_slice(self.emit(value), axes, begin, end)

    @on("relax.add")
    def _biased(self, call: relax.Call) -> relax.Expr:
        """Add a bias to the pixels, whose kernel adds it to its sums."""
        for value, other in (call.args, reversed(call.args)):
            tiles = self.notes.get(value) if isinstance(value, relax.Var) else None
            bias = moved_constant(self, other, self.symbols)
            if tiles is None or bias is None or bias.values.ndim > int(value.ty.ndim):
                continue
            rank = int(value.ty.ndim)
            shape = [1] * (rank - bias.values.ndim) + list(bias.values.shape)
            if shape != [1, tiles.channels, *[1] * (rank - 2)]:
                continue
            repeated = bias.map(partial(_for_each_tap, tiles=tiles, rank=rank))
            made = repeated.expression(axis=1)
            assert made is not None  # each channel has its own step
            pixels = self.emit(relax.op.add(tiles.pixels, self.emit(made)))
            return self._whole(replace(tiles, pixels=pixels))
        return call

    def _spread(
        self,
        call: relax.Call,
        weights: Moved,
        shape: tuple[Size, ...],
        before: list[int],
        after: list[int],
    ) -> relax.Expr | None:
        attrs, data = call.attrs, call.args[0]
        made = _plain(weights, int(attrs.groups), mirrored=True).expression()
        if made is None or 0 in shape or 0 in fixed_dims(shape[2:]):
            return None
        sizes = [int(size) for size in fixed_dims(shape[2:])]
        strides = [int(s) for s in attrs.strides]
        rank = len(sizes)
        if set(strides) != {1}:
            data = self.emit(relax.op.expand_dims(data, [3 + 2 * k for k in range(rank)]))
            width = [0] * 4 + [n for s in strides for n in (0, 0, 0, s - 1)]
            data = self.emit(relax.op.nn.pad(data, width))
            whole = [size * s for size, s in zip(sizes, strides, strict=True)]
            data = self.emit(relax.op.reshape(data, self.shape([*shape[:2], *whole])))
            sizes = [size - s + 1 for size, s in zip(whole, strides, strict=True)]
        begin = [max(0, -n) for n in before]
        end = [size - max(0, -n) for size, n in zip(sizes, after, strict=True)]
        if any(first >= last for first, last in zip(begin, end, strict=True)):
            return None
        if set(strides) != {1} or any(begin) or end != sizes:
            data = self.emit(relax.op.strided_slice(data, [*range(2, 2 + rank)], begin, end))
        padding = [max(0, n) for n in (*before, *after)]
        return _PLAIN[op_name(call)](
            data,
            self.emit(made),
            padding=padding,
            dilation=[int(d) for d in attrs.dilation],
            groups=int(attrs.groups),
            out_dtype=str(attrs.out_dtype) if attrs.out_dtype else None,
        )
