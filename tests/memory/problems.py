"""Random problems, and a plan by trying everything."""

from __future__ import annotations

import itertools
import random

from hypothesis import strategies as st

from tvm_megcc.memory import Gap, Interval, Problem
from tvm_megcc.memory.block import align


def _interval(
    first: int, length: int, size: int, power: int, gap: tuple[int, int] | None, part: int | None
) -> Interval:
    gaps: tuple[Gap, ...] = ()
    if gap is not None:
        window = None if part is None else (size * part // 4, size * (part + 1) // 4)
        gaps = (Gap(first + gap[0], first + gap[0] + gap[1], window),)
    return Interval("t", first, first + length, size, 1 << power, None, gaps)


plain = st.builds(
    _interval, st.integers(0, 15), st.integers(0, 8), st.integers(0, 300), st.integers(0, 7),
    st.none(), st.none(),
)  # fmt: skip
gapped = st.builds(
    _interval, st.integers(0, 15), st.integers(0, 8), st.integers(0, 300), st.integers(0, 5),
    st.none() | st.tuples(st.integers(0, 5), st.integers(1, 4)), st.none() | st.integers(0, 3),
)  # fmt: skip


def _numbered(rows: list[Interval]) -> Problem:
    return Problem(
        tuple(
            Interval(f"t{k}", b.first, b.last, b.size, b.alignment, b.offset, b.gaps)
            for k, b in enumerate(rows)
        )
    )


@st.composite
def with_fixed(draw: st.DrawFn) -> Problem:
    """Some blocks are fixed where a valid plan has them, so that there is a plan."""
    rows = draw(st.lists(plain, max_size=12))
    end, fixed = 0, []
    for block in rows:
        offset = align(end + draw(st.integers(0, 40)), block.alignment)
        if draw(st.booleans()):
            fixed.append(
                Interval("t", block.first, block.last, block.size, block.alignment, offset)
            )
            end = offset + block.size
        else:
            fixed.append(block)
    return _numbered(fixed)


free_problems = st.lists(plain, max_size=20).map(_numbered)
problems = st.one_of(free_problems, st.lists(gapped, max_size=14).map(_numbered), with_fixed())

#: Small enough for `brute_force`.
small_problems = st.lists(
    st.builds(
        _interval, st.integers(0, 5), st.integers(1, 4), st.integers(1, 9), st.integers(0, 2),
        st.none(), st.none(),
    ),
    min_size=1, max_size=6,
).map(_numbered)  # fmt: skip


def brute_force(problem: Problem) -> int:
    """The smallest arena: some order, placed at the lowest free offsets, gives an optimal plan."""
    blocks = problem.intervals
    arenas = []
    for order in itertools.permutations(range(len(blocks))):
        placed: list[tuple[int, Interval]] = [(b.offset, b) for b in blocks if b.offset is not None]
        for k in order:
            block = blocks[k]
            if block.offset is None:
                placed.append((_lowest(block, placed), block))
        arenas.append(max(offset + b.size for offset, b in placed))
    return min(arenas)


def _lowest(block: Interval, placed: list[tuple[int, Interval]]) -> int:
    near = [(o, o + b.size) for o, b in placed if b.first < block.last and block.first < b.last]
    starts = sorted(align(end, block.alignment) for _, end in [(0, 0), *near])
    return next(
        s for s in starts if not any(s < end and start < s + block.size for start, end in near)
    )


def scattered(count: int, seed: int, life: int = 60) -> Problem:
    """`count` blocks with lives of up to `life` steps, sizes over three magnitudes."""
    chance = random.Random(seed)
    rows = []
    for k in range(count):
        first = chance.randrange(count)
        last = first + 1 + int(chance.random() ** 3 * life)
        rows.append(Interval(f"t{k}", first, last, int(10 ** chance.uniform(1, 5))))
    return Problem(tuple(rows))
