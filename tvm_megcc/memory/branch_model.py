"""The problem as the search of `branch` takes it: blocks by sections, and one attempt."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np
from numpy.typing import NDArray

from tvm_megcc.memory.flat import Flat, Ints

Indices = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Model:
    """Blocks (sorted by time), sections, and blocks live at once: lists ``x[x0[b]:x0[b + 1]]``.

    Attributes
    ----------
    order : array
        The block of the `Flat` behind each block here.
    whole : array
        Sizes rounded up to ``unit``, the common divisor of all alignments.
    twin : array
        The next block that is equal in everything, or -1.
    first, last : array
        Sections touched, as a half-open range (the hull when the block has gaps).
    lifetime : array
        Equal for blocks that may be swapped where they lie on each other, else -1.
    pressure, span : array
        Per block, the most bytes of a section that it is in, and its lifetime in instructions.
    step : int
        Arenas worth asking for are multiples of it.
    """

    order: Ints
    size: Ints
    whole: Ints
    alignment: Ints
    fixed: Ints
    sections_of0: Indices
    sections_of: Indices
    blocks_in0: Indices
    blocks_in: Indices
    near0: Indices
    near: Indices
    twin: Indices
    first: Indices
    last: Indices
    lifetime: Indices
    pressure: Ints
    span: Ints
    step: int

    @property
    def n(self) -> int:
        return len(self.order)

    @property
    def sections(self) -> int:
        return len(self.blocks_in0) - 1


@dataclass(frozen=True, slots=True)
class Attempt:
    """One search: the arena to fit into, how to branch, and when to give up.

    ``tightest`` branches where a section has the least room, else at the lowest address; ties go to
    the block of lowest ``rank``. Ranks are different numbers, increasing from twin to twin.
    """

    cap: int
    rank: Indices
    tightest: bool
    work: int


def build(flat: Flat) -> Model:
    """The search's view of a problem, which must not be empty."""
    order = np.lexsort((flat.last, flat.first))
    moments = _sections(flat)
    live = np.zeros((flat.n, len(moments)), dtype=bool)
    for block in range(flat.n):
        for piece in range(int(flat.start[block]), int(flat.start[block + 1])):
            low, high = np.searchsorted(moments, (flat.t0[piece], flat.t1[piece]))
            live[block, low:high] = True
    live = live[order]
    meet = _meet(flat)[np.ix_(order, order)]
    size, alignment, fixed = flat.size[order], flat.alignment[order], flat.fixed[order]
    unit = gcd(*alignment.tolist())
    whole = -(-size // unit) * unit
    classes = [row.tobytes() for row in np.packbits(live, axis=1)]
    sums = whole @ live
    sections_of0, sections_of = _lists(live)
    blocks_in0, blocks_in = _lists(live.T)
    near0, near = _lists(meet)
    return Model(
        order, size, whole, alignment, fixed, sections_of0, sections_of, blocks_in0, blocks_in,
        near0, near, _twins(classes, size, alignment, fixed),
        _indices(live.argmax(axis=1)),
        _indices(live.shape[1] - live[:, ::-1].argmax(axis=1)),
        _lifetimes(classes, (whole == size) & (alignment == unit) & (fixed < 0)),
        np.where(live, sums, 0).max(axis=1),
        (flat.last - flat.first)[order],
        _step(size, alignment, fixed),
    )  # fmt: skip


def _sections(flat: Flat) -> Ints:
    """Moments at which maximal sets are live: starts that are followed by an end before a start."""
    starts = np.unique(flat.t0)
    ends = np.unique(flat.t1)
    following = np.append(starts[1:], np.iinfo(np.int64).max)
    after = np.searchsorted(ends, starts, side="right")
    nearest = np.append(ends, np.iinfo(np.int64).max)[after]
    kept: Ints = starts[nearest <= following]
    return kept


def _meet(flat: Flat) -> NDArray[np.bool_]:
    """Whether two blocks are live at once; false for a block and itself."""
    pieces = (flat.t0[:, None] < flat.t1) & (flat.t0 < flat.t1[:, None])
    starts = flat.start[:-1]
    rows = np.logical_or.reduceat(pieces, starts, axis=0)
    meet: NDArray[np.bool_] = np.logical_or.reduceat(rows, starts, axis=1)
    np.fill_diagonal(meet, False)
    return meet


def _step(size: Ints, alignment: Ints, fixed: Ints) -> int:
    """Arenas of plans whose blocks stand on each other are multiples of this."""
    common = gcd(*size.tolist(), *fixed[fixed > 0].tolist())
    units = set(alignment.tolist())
    return common if all(common % unit == 0 for unit in units) else gcd(common, *units)


def _lists(matrix: NDArray[np.bool_]) -> tuple[Indices, Indices]:
    counts = np.concatenate([[0], np.cumsum(matrix.sum(axis=1))])
    return _indices(counts), _indices(np.nonzero(matrix)[1])


def _indices(values: NDArray[np.int64]) -> Indices:
    return np.ascontiguousarray(values, dtype=np.int32)


def _twins(classes: list[bytes], size: Ints, alignment: Ints, fixed: Ints) -> Indices:
    twin = np.full(len(classes), -1, dtype=np.int32)
    seen: dict[tuple[bytes, int, int], int] = {}
    for block, key in enumerate(zip(classes, size.tolist(), alignment.tolist(), strict=True)):
        if fixed[block] >= 0:
            continue
        if key in seen:
            twin[seen[key]] = block
        seen[key] = block
    return twin


def _lifetimes(classes: list[bytes], free: NDArray[np.bool_]) -> Indices:
    numbers: dict[bytes, int] = {}
    return np.array(
        [numbers.setdefault(key, len(numbers)) if ok else -1
         for key, ok in zip(classes, free.tolist(), strict=True)],
        dtype=np.int32,
    )  # fmt: skip
