"""Discrete Fourier transforms of rows as products with matrices of twiddle factors.

Complex numbers are pairs in the last dim, so that a transform of ``[rows, n, 2]`` is one product of
``[rows, 2n]`` and ``[2n, 2m]``; real signals, and real results, have a last dim of 1 instead.
Lengths that are known are split into factors (Cooley and Tukey, 1965), large primes go through a
convolution of a length with small factors (Bluestein, 1970). The angles are reduced in integers and
their sines are computed in f64, so that a twiddle factor is exact to its last place.
"""

from __future__ import annotations

import numpy as np
from tvm import relax

from ...dims import Size, maximum, minimum
from .context import Context, expr_dtype
from .slices import padded, sliced

#: Lengths up to here are one product, and so are primes up to the second.
_DIRECT = 64
_DIRECT_PRIME = 512


def transform(
    ctx: Context, rows: relax.Expr, bins: Size, inverse: bool, length: Size
) -> relax.Expr:
    """The first `bins` results ``[rows, bins, 2]`` of the transform of ``[rows, n, 1 or 2]``."""
    if not isinstance(length, int) or not isinstance(bins, int):
        return _by_matrix(ctx, rows, _matrix_of_sizes(ctx, rows, length, bins, inverse), bins, 2)
    factor = _factor(length)
    if length <= _DIRECT or (factor is None and length <= _DIRECT_PRIME):
        count = ctx.shape(rows)[2]
        blocks = _rotations(np.outer(np.arange(length), np.arange(bins)), length, inverse)
        return _by_matrix(ctx, rows, _constant(ctx, rows, blocks[:, :, :count]), bins, 2)
    if factor is None:
        whole = _by_convolution(ctx, rows, length, inverse)
    else:
        whole = _split(ctx, rows, length, factor, inverse)
    if bins == length:
        return whole
    return ctx.emit(relax.op.strided_slice(whole, [1], [0], [bins], [1]))


def real_signal(ctx: Context, spectrum: relax.Expr, length: Size) -> relax.Expr:
    """The signal ``[rows, n, 1]`` whose first ``n // 2 + 1`` bins are `spectrum`, times n.

    The imaginary parts of the first bin, and of that in the middle, do not count.
    """
    dtype = expr_dtype(spectrum)
    if not isinstance(length, int):
        matrix = _matrix_of_sizes(ctx, spectrum, length, length, True, ctx.shape(spectrum)[1])
        signal = ctx.emit(relax.op.take(matrix, ctx.const([0], "int64"), axis=3))
        # The matrix has the bins once; all but the first and the middle one stand for two.
        doubled = _doubled(ctx, spectrum, length)
        return _by_matrix(ctx, doubled, signal, length, 1)
    bins = length // 2 + 1
    if length <= _DIRECT:
        blocks = _rotations(np.outer(np.arange(bins), np.arange(length)), length, True)
        weight = np.full(bins, 2.0)
        weight[[0, *([length // 2] if length % 2 == 0 else [])]] = 1
        blocks = blocks[..., :1] * weight[:, None, None, None]
        return _by_matrix(ctx, spectrum, _constant(ctx, spectrum, blocks), length, 1)
    number = np.arange(length)
    mirrored = ctx.const(np.minimum(number, length - number), "int64")
    sign = np.stack([np.ones(length), np.where(number < bins, 1, -1)], 1)
    sign[[0, *([length // 2] if length % 2 == 0 else [])], 1] = 0
    full = ctx.emit(relax.op.take(spectrum, mirrored, axis=1))
    full = ctx.emit(relax.op.multiply(full, ctx.const(sign, dtype)))
    whole = transform(ctx, full, length, True, length)
    return ctx.emit(relax.op.strided_slice(whole, [2], [0], [1], [1]))


def _factor(length: int) -> int | None:
    """The divisor nearest the square root, None for a prime."""
    found = [d for d in range(2, int(length**0.5) + 1) if length % d == 0]
    return found[-1] if found else None


def _rotations(steps: np.ndarray, length: int, inverse: bool) -> np.ndarray:
    """``[..., 2, 2]``: matrices that turn a pair by so many n-th parts of a circle."""
    turns = np.mod(steps, length) * (2 * np.pi / length)
    cos, sin = np.cos(turns), np.sin(turns) * (1 if inverse else -1)
    # At quarters of a circle rounding leaves small numbers instead of 0.
    cos[np.abs(cos) < 1e-15] = 0
    sin[np.abs(sin) < 1e-15] = 0
    return np.stack([np.stack([cos, sin], -1), np.stack([-sin, cos], -1)], -2)


def _constant(ctx: Context, rows: relax.Expr, blocks: np.ndarray) -> relax.Expr:
    return ctx.const(blocks, expr_dtype(rows))


def _by_matrix(
    ctx: Context, rows: relax.Expr, blocks: relax.Expr, bins: Size, parts: int
) -> relax.Expr:
    """The product of ``[rows, n, c]`` and blocks ``[n, bins, c, parts]``."""
    count, length, given = ctx.shape(rows)
    if isinstance(blocks, relax.Var):
        matrix = ctx.emit(relax.op.permute_dims(blocks, [0, 2, 1, 3]))
    else:
        matrix = ctx.const(blocks.value.numpy().transpose(0, 2, 1, 3), expr_dtype(rows))
    matrix = ctx.reshape(matrix, [length * given, bins * parts])
    flat = ctx.reshape(rows, [count, length * given])
    return ctx.reshape(ctx.emit(relax.op.matmul(flat, matrix)), [count, bins, parts])


def _turned(ctx: Context, values: relax.Expr, rotations: np.ndarray) -> relax.Expr:
    """Pairs ``[rows, ..., 2]``, each multiplied by its rotation ``[..., 2, 2]``."""
    wide = ctx.emit(relax.op.expand_dims(values, -1))
    product = ctx.emit(relax.op.multiply(wide, ctx.const(rotations, expr_dtype(values))))
    return ctx.emit(relax.op.sum(product, axis=[-2]))


def _split(ctx: Context, rows: relax.Expr, length: int, first: int, inverse: bool) -> relax.Expr:
    """A length of two factors: transforms of the one, rotations, transforms of the other.

    With ``j = second * j1 + j2`` and ``k = k1 + first * k2`` the sum over j1 is a transform for
    each j2, and the sum over j2 one for each k1.
    """
    second = length // first
    count, _, given = ctx.shape(rows)
    parts = ctx.reshape(rows, [count, first, second, given])
    parts = ctx.emit(relax.op.permute_dims(parts, [0, 2, 1, 3]))
    parts = ctx.reshape(parts, [count * second, first, given])
    inner = transform(ctx, parts, first, inverse, first)
    inner = ctx.reshape(inner, [count, second, first, 2])
    steps = np.outer(np.arange(second), np.arange(first))
    inner = _turned(ctx, inner, _rotations(steps, length, inverse))
    inner = ctx.emit(relax.op.permute_dims(inner, [0, 2, 1, 3]))
    inner = ctx.reshape(inner, [count * first, second, 2])
    outer = transform(ctx, inner, second, inverse, second)
    outer = ctx.reshape(outer, [count, first, second, 2])
    outer = ctx.emit(relax.op.permute_dims(outer, [0, 2, 1, 3]))
    return ctx.reshape(outer, [count, length, 2])


def _by_convolution(ctx: Context, rows: relax.Expr, length: int, inverse: bool) -> relax.Expr:
    """A prime length: ``jk = (j*j + k*k - (k-j)**2) / 2`` makes it a convolution with a chirp."""
    room = 1 << (2 * length - 2).bit_length()
    squares = np.array([j * j % (2 * length) for j in range(length)])
    chirp = _rotations(squares, 2 * length, inverse)
    if ctx.shape(rows)[2] == 1:
        first = ctx.emit(relax.op.multiply(rows, ctx.const(chirp[:, 0], expr_dtype(rows))))
    else:
        first = _turned(ctx, rows, chirp)
    pads = [0, 0, 0, room - length, 0, 0]
    wide = ctx.emit(relax.op.nn.pad(first, pads))
    spectrum = transform(ctx, wide, room, False, room)
    other = np.zeros(room, np.complex128)
    other[:length] = chirp[:, 0, 0] - 1j * chirp[:, 0, 1]
    other[room - length + 1 :] = other[length - 1 : 0 : -1]
    kernel = np.fft.fft(other) / room
    pairs = np.stack([np.stack([kernel.real, kernel.imag], -1),
                      np.stack([-kernel.imag, kernel.real], -1)], -2)  # fmt: skip
    back = transform(ctx, _turned(ctx, spectrum, pairs), room, True, room)
    head = ctx.emit(relax.op.strided_slice(back, [1], [0], [length], [1]))
    return _turned(ctx, head, chirp)


def _matrix_of_sizes(
    ctx: Context, rows: relax.Expr, length: Size, bins: Size, inverse: bool,
    count: Size | None = None,
) -> relax.Expr:  # fmt: skip
    """The blocks ``[count, bins, c, 2]`` of a transform whose length is known when it runs.

    `count` is the length where it is left out.
    """
    op, dtype = relax.op, expr_dtype(rows)
    n = ctx.reshape(ctx.sizes([length], "int64"), [])
    j, k = (
        ctx.emit(op.arange(0, ctx.prim(size), 1, "int64"))
        for size in (length if count is None else count, bins)
    )
    steps = ctx.emit(op.multiply(ctx.emit(op.expand_dims(j, 1)), ctx.emit(op.expand_dims(k, 0))))
    steps = ctx.emit(op.floor_mod(steps, n))
    parts = ctx.emit(op.astype(ctx.emit(op.arange(0, ctx.prim(length), 1, "int64")), "float64"))
    unit = op.divide(ctx.const(2 * np.pi, "float64"), op.astype(n, "float64"))
    turns = ctx.emit(op.multiply(parts, ctx.emit(unit)))
    cos, sin = ctx.emit(op.cos(turns)), ctx.emit(op.sin(turns))
    back = ctx.emit(op.negative(sin))
    up, down = (sin, back) if inverse else (back, sin)
    table = ctx.emit(op.stack([cos, up, down, cos], axis=1))
    table = ctx.emit(op.astype(ctx.reshape(table, [length, 2, 2]), dtype))
    given = ctx.shape(rows)[2]
    if given == 1:
        table = ctx.emit(op.strided_slice(table, [1], [0], [1], [1]))
    return ctx.emit(op.take(table, steps, axis=0, mode="clip"))


def _doubled(ctx: Context, spectrum: relax.Expr, length: Size) -> relax.Expr:
    """The bins that stand for two, twice; the others without their imaginary parts."""
    op, dtype = relax.op, expr_dtype(spectrum)
    bins = ctx.shape(spectrum)[1]
    number = ctx.emit(op.arange(0, ctx.prim(bins), 1, "int64"))
    twice = ctx.emit(op.multiply(number, ctx.const(2, "int64")))
    n = ctx.reshape(ctx.sizes([length], "int64"), [])
    single = op.logical_or(op.equal(twice, n), op.equal(twice, ctx.const(0, "int64")))
    single = ctx.reshape(ctx.emit(single), [bins, 1])
    once = ctx.const([[1, 0]], dtype)
    weight = ctx.emit(op.where(single, once, ctx.const([[2, 2]], dtype)))
    return ctx.emit(op.multiply(spectrum, weight))


def resized(ctx: Context, rows: relax.Expr, length: Size) -> relax.Expr:
    """``[rows, length, c]``: cut, or with zeros behind."""
    have = ctx.shape(rows)[1]
    kept = minimum(have, length)
    if kept != have:
        rows = ctx.emit(sliced(ctx, rows, [(1, 0, kept, 1)]))
    behind = maximum(length - have, 0)
    if behind != 0:
        zero = ctx.const(0, expr_dtype(rows))
        rows = padded(ctx, rows, [0, 0, 0], [0, behind, 0], zero)
    count, _, parts = ctx.shape(rows)
    return ctx.cast(rows, [count, length, parts])
