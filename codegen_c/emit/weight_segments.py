"""Weights of all architectures -> deduplicated segments, and segments -> C text.

Equal bytes are stored once per package. Weights used by the same set of architectures lie together
in one *segment*, so that a build for one architecture contains exactly its own weights.

Example
-------
>>> lay_out({}).segments
()
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tvm_megcc.core.contents import Bytes, Parts
from tvm_megcc.core.machine import by_architecture
from tvm_megcc.core.program import ALIGNMENT, Program

MAX_SEGMENTS = 8  #: of one image: MEGCC_MAX_SEGMENTS

#: Bytes of data per line of a C literal: fewer, longer tokens compile faster (14 MB: 1 s with gcc).
LINE = 256

_ESCAPES = [chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in range(256)]


@dataclass(frozen=True, slots=True)
class Segment:
    """Weights that exactly the machines ``archs`` use, each aligned to `ALIGNMENT`.

    Where that would be too many segments, they are for all machines of some architectures.
    """

    archs: tuple[str, ...]
    data: Parts


@dataclass(frozen=True, slots=True)
class Layout:
    """The place of each weight.

    Attributes
    ----------
    segments : tuple of Segment
    placed : dict
        Machine -> for each of its programs, for each of that one's weights (index in
        ``segments``, byte offset).
    """

    segments: tuple[Segment, ...]
    placed: Mapping[str, tuple[tuple[tuple[int, int], ...], ...]]

    def of(self, arch: str) -> tuple[int, ...]:
        """Indices of the segments that ``arch`` uses, in order."""
        return tuple(k for k, s in enumerate(self.segments) if arch in s.archs)

    def local(self, arch: str) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Like ``placed[arch]``, with segments counted among those of ``arch`` only."""
        number = {k: n for n, k in enumerate(self.of(arch))}
        return tuple(
            tuple((number[k], offset) for k, offset in program) for program in self.placed[arch]
        )


def lay_out(programs: Mapping[str, Sequence[Program]]) -> Layout:
    """Deduplicate the weights of each machine's programs and give each its place."""
    users: dict[Bytes, set[str]] = {}  # in order of first use, so that the result is stable
    for arch in sorted(programs):
        for program in programs[arch]:
            for weight in program.weights:
                users.setdefault(weight.data, set()).add(arch)
    groups: dict[tuple[str, ...], list[Bytes]] = {}
    ends: dict[tuple[str, ...], int] = {}
    where: dict[Bytes, tuple[tuple[str, ...], int]] = {}
    keys = _segments_of(users)
    for data in users:
        key = keys[data]
        where[data] = key, ends.get(key, 0)
        padding = -len(data) % ALIGNMENT
        groups.setdefault(key, []).extend([data, bytes(padding)] if padding else [data])
        ends[key] = where[data][1] + len(data) + padding
    order = sorted(groups)
    number = {key: k for k, key in enumerate(order)}
    return Layout(
        tuple(Segment(key, Parts(groups[key])) for key in order),
        {
            arch: tuple(
                tuple((number[where[w.data][0]], where[w.data][1]) for w in program.weights)
                for program in programs[arch]
            )
            for arch in sorted(programs)
        },
    )


def _segments_of(users: Mapping[Bytes, set[str]]) -> dict[Bytes, tuple[str, ...]]:
    """For each weight, the machines that share its segment."""
    keys = {data: tuple(sorted(names)) for data, names in users.items()}
    most = max((sum(a in key for key in set(keys.values())) for a in set().union(*users.values())),
               default=0)  # fmt: skip
    if most <= MAX_SEGMENTS:
        return keys
    # Machines of one architecture are in one binary: what one of them has, the others may see.
    groups = by_architecture(set().union(*users.values()))
    arch = {name: a for a, names in groups.items() for name in names}
    return {
        data: tuple(sorted(n for a in {arch[name] for name in names} for n in groups[a]))
        for data, names in users.items()
    }


def c_literal(data: bytes) -> str:
    """``data`` as C string literals: the form that compilers read fastest by far."""
    escape = _ESCAPES.__getitem__
    rows = (data[i : i + LINE] for i in range(0, len(data), LINE))
    return "\n".join(f'    "{"".join(map(escape, row))}"' for row in rows) or '    ""'
