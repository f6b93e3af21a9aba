"""Random problems, and a plan by trying everything."""

from __future__ import annotations

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
    """The smallest arena: some order, placed at the lowest free offsets, gives an optimal plan.

    All orders are tried. Those that have the same blocks at the same offsets go on as one, and an
    order ends where it reaches the best arena so far.
    """
    offsets = tuple(b.offset for b in problem.intervals)
    best, plans = 1 << 62, [offsets]
    reached = {offsets}
    while plans:
        offsets = plans.pop()
        placed = [(o, b) for o, b in zip(offsets, problem.intervals, strict=True) if o is not None]
        top = max((o + b.size for o, b in placed), default=0)
        if top >= best:
            continue
        if len(placed) == len(offsets):
            best = top
        for k, block in enumerate(problem.intervals):
            if offsets[k] is not None:
                continue
            longer = (*offsets[:k], _lowest(block, placed), *offsets[k + 1 :])
            if longer not in reached:
                reached.add(longer)
                plans.append(longer)
    return best


def _lowest(block: Interval, placed: list[tuple[int, Interval]]) -> int:
    near = [(o, o + b.size) for o, b in placed if b.first < block.last and block.first < b.last]
    lowest = 0
    for start, end in sorted(near):
        if start >= lowest + block.size:
            break
        lowest = max(lowest, align(end, block.alignment))
    return lowest


def scattered(count: int, seed: int, life: int = 60) -> Problem:
    """`count` blocks with lives of up to `life` steps, sizes over three magnitudes."""
    chance = random.Random(seed)
    rows = []
    for k in range(count):
        first = chance.randrange(count)
        last = first + 1 + int(chance.random() ** 3 * life)
        rows.append(Interval(f"t{k}", first, last, int(10 ** chance.uniform(1, 5))))
    return Problem(tuple(rows))


def alike(seed: int) -> Problem:
    """Three to six blocks, some of them equal but for when they begin or end, or their alignment.

    Sizes and alignments are below 65, or sizes are multiples of 64 and alignments are 64.
    """
    chance = random.Random(seed)
    steps, choice = chance.randint(2, 5), chance.randint(1, 3)
    if chance.randrange(4):
        sizes = [chance.randint(1, 64 if chance.randrange(2) else 8) for _ in range(choice)]
        alignments = [1 << chance.randint(0, 6) for _ in range(chance.randint(1, 2))]
    else:
        sizes, alignments = [64 * chance.randint(1, 6) for _ in range(choice)], [64]
    rows = []
    for _ in range(chance.choice((3, 4, 4, 5, 5, 5, 6, 6, 6, 6))):
        first = chance.randrange(steps)
        last = chance.randint(first + 1, steps)
        rows.append(Interval("t", first, last, chance.choice(sizes), chance.choice(alignments)))
    return _numbered(rows)
