"""Packers: constant operands in the layout that a kernel reads, named by its ``pack:`` line.

Enters: the operand as the op header describes it, the call that it is of, the options of the header
line. Leaves: an array whose bytes, in order, are the packed weights.

Example
-------
>>> w = np.arange(6, dtype=np.float32).reshape(3, 1, 1, 2)      # OHWI
>>> gemm_panels(w, Call({"g": 1}), nr=2).tolist()               # [group][panel][k][lane]
[[[[0.0, 2.0], [1.0, 3.0]], [[4.0, 0.0], [5.0, 0.0]]]]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tvm_megcc.core.dtypes import packed_rows

if TYPE_CHECKING:
    from tvm_megcc.kernels.kernel_file import Packing

Array = np.ndarray[Any, np.dtype[Any]]
Packer = Callable[..., Array]

#: Name in a ``pack:`` line -> packer.
PACKERS: dict[str, Packer] = {}


@dataclass(frozen=True, slots=True)
class Call:
    """The call that an operand is packed for: its facts, and its constants before packing.

    A packer may read other operands than its own: a bias may be packed with sums of the weights.
    """

    facts: Mapping[str, Any]
    constants: Mapping[str, Array] = field(default_factory=dict)


def packer(function: Packer) -> Packer:
    """Register a function ``(array, call, **options) -> array`` under its name."""
    PACKERS[function.__name__] = function
    return function


def apply(packings: tuple[tuple[str, Packing], ...], call: Call) -> dict[str, Array]:
    """The constant operands of a call as a kernel reads them: its header's ``pack`` line.

    Raises
    ------
    ValueError
        When there is no packer of a name, or an operand to be packed is not constant.
    """
    packed = dict(call.constants)
    for operand, how in packings:
        if how.name not in PACKERS:
            names = ", ".join(PACKERS)
            raise ValueError(f"no packer {how.name!r} in packing.py; there are {names}")
        if operand not in call.constants:
            raise ValueError(
                f"the operand {operand!r} is computed at run time, so {how.name} cannot pack it:"
                " the kernel's `when` has to refuse such a call"
            )
        array = PACKERS[how.name](call.constants[operand], call, **dict(how.options))
        packed[operand] = np.ascontiguousarray(array)
    return packed


def byte_zero(centred: Array) -> int | None:
    """The number to add to integers to make them signed bytes; None where none does."""
    low, high = int(centred.min(initial=0)), int(centred.max(initial=0))
    if high - low > 255:
        return None
    return min(0, 127 - high) if high > 127 else max(0, -128 - low)


def _panels(rows: Array, nr: int) -> Array:
    """``[..., N, K]`` -> ``[..., ceil(N / nr), K, nr]``, zeros in the lanes past N."""
    *lead, n, k = rows.shape
    count = -(-n // nr)
    padded = np.zeros((*lead, count * nr, k), rows.dtype)
    padded[..., :n, :] = rows
    return np.ascontiguousarray(np.swapaxes(padded.reshape(*lead, count, nr, k), -1, -2))


@packer
def gemm_panels(array: Array, call: Call, nr: int) -> Array:
    """Convolution weights for the implicit matrix product, in panels of `nr` channels.

    ``[OC, KH, KW, IC/G]`` as ``[G, ceil(OC/G / nr), KH * KW * IC/G, nr]``; reads the fact ``g``.
    """
    groups = int(call.facts["g"])
    oc = array.shape[0]
    depth = int(np.prod(array.shape[1:]))
    return _panels(array.reshape(groups, oc // groups, depth), nr)


@packer
def planes_panels(array: Array, call: Call, nr: int) -> Array:
    """Weights ``[OC, KH, KW, IC]`` for rows of planes: ``[ceil(OC / nr), IC, KH, KW, nr]``."""
    oc, kh, kw, ic = array.shape
    return _panels(array.transpose(0, 3, 1, 2).reshape(oc, ic * kh * kw), nr)


#: Largest form of Winograd's transform -> the factor of each of its points, in the order in which
#: they stand (`codegen_c/include/megcc_winograd_lines.h`): what the inputs' polynomials lack.
_WINOGRAD_FACTORS = {
    2: (1, 1 / 2, 1 / 2, 1),
    4: (1 / 4, -1 / 6, -1 / 6, 1, 1 / 24, 1 / 24),
    6: (1, -2 / 9, -2 / 9, 1, 1 / 180, 1 / 180, 16 / 45, 16 / 45),
}
_WINOGRAD_POINTS = (0.0, 1.0, -1.0, np.inf, 2.0, -2.0, 0.5, -0.5)


@packer
def winograd_panels(array: Array, call: Call, m: int, nr: int) -> Array:
    """3 x 3 weights at the points of Winograd's F(m x m, 3 x 3), in double, rounded once.

    ``[OC, 3, 3, IC/G]`` as ``[m + 2, m + 2, G, ceil(OC/G / nr), IC/G, nr]``, where `m` (2, 4 or 6)
    is the outputs of a tile along one dim, and `nr` channels are a panel; reads the fact ``g``.
    """
    groups = int(call.facts["g"])
    oc, _, _, icg = array.shape
    powers = [[0.0, 0.0, 1.0] if p == np.inf else [1.0, p, p * p] for p in _WINOGRAD_POINTS]
    at = np.array(_WINOGRAD_FACTORS[m])[:, None] * np.array(powers[: m + 2])
    values = np.einsum("ki,oijc,lj->kloc", at, array.astype(np.float64), at)
    rows = values.astype(array.dtype).reshape(m + 2, m + 2, groups, oc // groups, icg)
    return _panels(rows, nr)


def _strassen(rows: Array, nr: int) -> Array:
    """``[N, K]`` for a level of Strassen's product, Winograd's variant: in double, rounded once.

    The result is ``[7, N / 2 / nr, K / 2, nr]``. Of the quarters ``W[k half][n half]``: W11, W21,
    W22, T4, T1, T2, T3 with T1 = W12 - W11, T2 = W22 - T1, T3 = W22 - W12, T4 = W21 - T2.
    """
    halves = np.split(rows.astype(np.float64), 2)
    (w11, w21), (w12, w22) = (np.split(half, 2, axis=1) for half in halves)
    t1 = w12 - w11
    t2 = w22 - t1
    matrices = np.stack([w11, w21, w22, w21 - t2, t1, t2, w22 - w12])
    return _panels(matrices.astype(rows.dtype), nr)


@packer
def strassen_panels(array: Array, call: Call, nr: int) -> Array:
    """Weights ``[OC, 1, 1, IC]`` of a convolution of one tap: `_strassen`; both dims are even."""
    return _strassen(array.reshape(array.shape[0], -1), nr)


@packer
def strassen_matmul_panels(array: Array, call: Call, nr: int) -> Array:
    """The constant right-hand side of a product, as `matmul_panels` gets it: `_strassen`."""
    return _strassen(_columns(array, call), nr)


def _columns(array: Array, call: Call) -> Array:
    """The columns of a right-hand side: ``[N, K]``."""
    matrix = array.reshape(array.shape[-2:])
    return matrix if call.facts["trans_b"] else matrix.T


@packer
def matmul_panels(array: Array, call: Call, nr: int) -> Array:
    """The constant right-hand side of a product, in panels of `nr` columns.

    ``[..., K, N]``, or ``[..., N, K]`` where the fact ``trans_b`` is 1, with leading dims of 1, as
    ``[ceil(N / nr), K, nr]``.
    """
    return _panels(_columns(array, call), nr)


def rows_in_panels(name: str, array: Array, call: Call) -> tuple[Array, bool]:
    """The columns of a product's constant, ``[N, K]``, and whether packing keeps its elements.

    True where the packer of this name makes ``[ceil(N / nr), K, nr]`` of the very elements.
    """
    if name.startswith("wq_"):
        return array, name == "wq_panels" and int(call.facts["bits"]) == 8
    return _columns(array, call), name == "matmul_panels"


def _grouped(rows: Array, nr: int, kr: int, chunk: int) -> Array:
    """``[..., N, runs, K]`` -> ``[..., panels, bytes]`` for products of 8-bit integers.

    K of a run becomes a multiple of `kr`, N one of `nr`, with zeros. Of every `chunk` of a run, and
    of every `kr` in what is left of it, the columns of a panel stand side by side.
    """
    *lead, n, runs, k = rows.shape
    panels, depth = -(-n // nr), -(-k // kr) * kr
    padded = np.zeros((*lead, panels * nr, runs, depth), rows.dtype)
    padded[..., :n, :, :k] = rows
    whole = depth // chunk * chunk
    columns = np.moveaxis(padded.reshape(*lead, panels, nr, runs, depth), -3, -2)
    parts = []
    for part, size in ((columns[..., :whole], chunk), (columns[..., whole:], kr)):
        length = part.shape[-1]
        split = part.reshape(*part.shape[:-1], length // size, size)
        parts.append(np.swapaxes(split, -3, -2).reshape(*lead, panels, runs, nr * length))
    return np.concatenate(parts, -1).reshape(*lead, panels, runs * nr * depth)


def _runs(shape: tuple[int, ...], call: Call, few: int) -> int:
    """Into how many runs megcc_conv_table.h divides the weights of an output channel."""
    _, kh, kw, icg = shape
    row_taps = call.facts["g"] == 1 and call.facts["dw"] == 1 and kw > 1 and icg <= few
    return kh if row_taps else kh * kw


@packer
def qgemm_panels(array: Array, call: Call, nr: int, kr: int, chunk: int, few: int) -> Array:
    """8-bit convolution weights for the implicit matrix product, in panels of `nr` channels.

    ``[OC, KH, KW, IC/G]`` as ``[G, ceil(OC/G / nr), bytes]``; `kr` and `chunk` are consecutive k of
    a channel (`_grouped`), and up to `few` channels a row of a kernel is one run. Reads the facts
    ``g`` and ``dw``.
    """
    groups = int(call.facts["g"])
    oc, runs = array.shape[0], _runs(array.shape, call, few)
    length = int(np.prod(array.shape[1:])) // runs
    return _grouped(array.reshape(groups, oc // groups, runs, length), nr, kr, chunk)


@packer
def qgemm_lines(array: Array, call: Call, nr: int, kr: int) -> Array:
    """8-bit convolution weights in panels of `nr` channels, all taps of a channel one run.

    ``[OC, KH, KW, IC/G]`` as ``[G, ceil(OC/G / nr), bytes]``, `kr` consecutive k of a channel side
    by side (`_grouped`). Reads the fact ``g``.
    """
    groups = int(call.facts["g"])
    length = int(np.prod(array.shape[1:]))
    return _grouped(array.reshape(groups, array.shape[0] // groups, 1, length), nr, kr, kr)


@packer
def qmatmul_panels(array: Array, call: Call, nr: int, kr: int, chunk: int) -> Array:
    """A constant right-hand side of 8 bits, as `matmul_panels` gets it: one run of K."""
    return _grouped(_columns(array, call)[:, None], nr, kr, chunk)


def _centred_bias(bias: Array, sums: Array, zero: int | None, less: int) -> Array:
    """The bias ``[N]`` with what the zero point of the data adds, modulo 2^32.

    `sums` are those of the weights of each output, less their zero point; they follow the bias
    where `zero` is None, known at run time only. The kernel subtracts `less` from the data, and so
    from its zero point.
    """
    total = bias.astype(np.int64)
    if zero is not None:
        total = total - (zero - less) * sums
    parts = [total] if zero is not None else [total, sums]
    return np.concatenate(parts).astype(np.uint32).view(np.int32)


def _flipped(flip: int, dtype: object) -> int:
    """Number that a kernel subtracts from 8-bit data to change its sign: 128, -128 or 0.

    `flip` is 1 for kernels that compute in i8, 2 for those in u8.
    """
    return {(1, "u8"): 128, (2, "i8"): -128}.get((flip, str(dtype)), 0)


@packer
def qgemm_bias(array: Array, call: Call, flip: int) -> Array:
    """The bias of a convolution, less the zero point times the sum of the weights.

    ``[OC]``, or ``[2, OC]`` with the sums where the zero point is an operand. `flip` is 1 where the
    kernel subtracts 128 from unsigned data, 2 where it adds 128 to signed data. Reads the facts
    ``x_zero``, ``w_zero`` and ``zero_operand``, the type ``X`` and the constant ``w``.
    """
    sums = (call.constants["w"].astype(np.int64) - call.facts["w_zero"]).sum((1, 2, 3))
    zero = None if call.facts["zero_operand"] else int(call.facts["x_zero"])
    return _centred_bias(array, sums, zero, _flipped(flip, call.facts["X"]))


@packer
def qmatmul_bias(array: Array, call: Call, flip: int) -> Array:
    """The same for a product with a constant right-hand side."""
    columns = _columns(call.constants["rhs"], call).astype(np.int64)
    sums = (columns - call.facts["rhs_zero"]).sum(1)
    zero = None if call.facts["zero_operand"] else int(call.facts["lhs_zero"])
    return _centred_bias(array, sums, zero, _flipped(flip, call.facts["L"]))


@packer
def wq_panels(array: Array, call: Call, nr: int) -> Array:
    """Quantised weights ``[N, K]`` by blocks of k, as ``[ceil(N / nr), bytes of K, nr]``.

    Two k of a block share a byte where the fact ``bits`` is 4, the first in the lower half. Reads
    ``block``, too.
    """
    block, bits = int(call.facts["block"]), int(call.facts["bits"])
    if bits == 8:
        return _panels(array, nr)
    parts = np.split(array, range(block, array.shape[1], block), axis=1)
    bytes_ = [packed_rows(part, "i4").view(np.int8) for part in parts]  # a block begins with a byte
    return _panels(np.concatenate(bytes_, axis=1), nr)


#: Columns of a panel of `wq_dots`.
WQ_COLUMNS = 16


@packer
def wq_dots(array: Array, call: Call, kr: int, flip: int) -> Array:
    """Quantised weights ``[N, K]`` for dot products with rows in int8: ``[ceil(N / 16), bytes]``.

    Of 16 columns, 16 k follow 16 k; of these the groups of `kr` k of eight columns, then those of
    the others. Where the fact ``bits`` is 4, groups of the upper eight k are the upper halves of
    bytes; with `flip`, 8 is added to each number.
    """
    n, k = array.shape
    panels, steps, groups = -(-n // 16), -(-k // 16), 16 // kr
    padded = np.zeros((panels * 16, steps * 16), np.int8)
    padded[:n, :k] = array
    split = padded.reshape(panels, 2, 8, steps, groups, kr)
    rows = split.transpose(0, 3, 1, 4, 2, 5)  # panel, step, half, group, column, k
    if int(call.facts["bits"]) == 4:
        rows = rows ^ 8 if flip else rows
        low, high = rows[:, :, :, : groups // 2], rows[:, :, :, groups // 2 :]
        rows = low & 15 | high << 4
    return np.ascontiguousarray(rows).reshape(panels, -1)


@packer
def wq_blocks(array: Array, call: Call, nr: int) -> Array:
    """Scales or zero points of blocks, ``[N * blocks]``, as ``[ceil(N / nr), blocks, nr]``.

    One for all stays as it is: where the fact ``channel_scales`` is 0.
    """
    if not call.facts["channel_scales"]:
        return array
    blocks = -(-int(call.facts["k"]) // int(call.facts["block"]))
    return _panels(array.reshape(-1, blocks), nr)


@packer
def wq_rows(array: Array, call: Call) -> Array:
    """A quantised table ``[N, K]`` as the product packs it from which its rows are read.

    `wq_panels` where the fact ``kr`` is 0, else `wq_dots`; reads ``nr`` and ``flip``, too.
    """
    nr, kr, flip = (int(call.facts[name]) for name in ("nr", "kr", "flip"))
    return wq_dots(array, call, kr, flip) if kr else wq_panels(array, call, nr)


@packer
def wq_row_blocks(array: Array, call: Call) -> Array:
    """Scales or zero points of the blocks of a table's rows, as `wq_blocks` has a product's."""
    return _panels(array.reshape(int(call.facts["axis"]), -1), int(call.facts["nr"]))


@packer
def dw_taps(array: Array, call: Call) -> Array:
    """Depthwise weights ``[C, KH, KW, 1]`` as ``[KH * KW, C]``: one row of channels per tap."""
    return np.ascontiguousarray(array.reshape(array.shape[0], -1).T)


@packer
def dw_columns(array: Array, call: Call, lanes: int) -> Array:
    """Depthwise weights ``[C, 3, 3, 1]`` as ``[ceil(C / lanes), 3, lanes, 4]``, for dot products.

    The taps of a kernel's column stand side by side; the fourth byte is 0. A block has `lanes`
    channels, at most C; the last block ends with the last channel.
    """
    channels = array.shape[0]
    starts = np.minimum(np.arange(0, channels, lanes), channels - lanes)
    taps = np.zeros((channels, 3, 4), array.dtype)
    taps[:, :, :3] = array[..., 0].swapaxes(1, 2)
    return np.stack([taps[at : at + lanes].swapaxes(0, 1) for at in starts])


@packer
def dw_blocks(array: Array, call: Call, lanes: int) -> Array:
    """Depthwise weights ``[C, KH, KW, 1]`` as ``[blocks, taps, lanes]`` for blocks of channels.

    The last block ends with the last channel, so it may begin within the one before; fewer channels
    than `lanes` have zeros behind them.
    """
    c, taps = array.shape[0], array.shape[1] * array.shape[2]
    rows = np.zeros((taps, max(c, lanes)), array.dtype)
    rows[:, :c] = array.reshape(c, taps).T
    starts = [min(k, max(c - lanes, 0)) for k in range(0, c, lanes)]
    return np.stack([rows[:, start : start + lanes] for start in starts])
