"""The calls whose results each call reads, from the addresses of a planned program.

Views, results in place, and copies into place have numbers of their own as tensors; so a call reads
another one's result where their bytes are the same.

Enters: a planned program. Leaves: for each step the calls whose results it reads, in order; the
model's input k counts as call -1 - k.
"""

from __future__ import annotations

from tvm_megcc.core.program import Call, Location, Program, ends_of
from tvm_megcc.dims import typical

#: From, to, and who wrote what is there.
_Piece = tuple[int, int, frozenset[int]]


def sources(program: Program) -> list[list[int]]:
    """For each step the numbers of the calls (as profiles count them) whose results it reads.

    In a loop: of its first iteration.
    """
    memory = _Memory(program)
    for k, port in enumerate(program.inputs):
        memory.write(port.tensor, frozenset({-1 - k}))
    found: list[list[int]] = []
    number = 0
    for step in program.calls:
        reads, writes = ends_of(step)
        read = frozenset[int]().union(*(memory.read(t) for t in reads))
        found.append(sorted(read))
        for tensor in writes:
            memory.write(tensor, frozenset({number}) if isinstance(step, Call) else read)
        number += isinstance(step, Call)
    return found


class _Memory:
    """The calls that wrote each byte last."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.pieces: dict[Location, list[_Piece]] = {}

    def _range(self, tensor: int) -> tuple[Location, int, int]:
        found = self.program.tensors[tensor]
        at = found.location
        first = typical(at.offset)
        return Location(at.space, at.index), first, first + max(1, typical(found.nbytes))

    def read(self, tensor: int) -> frozenset[int]:
        place, lo, hi = self._range(tensor)
        pieces = self.pieces.get(place, ())
        return frozenset[int]().union(*(who for a, b, who in pieces if a < hi and lo < b))

    def write(self, tensor: int, who: frozenset[int]) -> None:
        place, lo, hi = self._range(tensor)
        kept: list[_Piece] = [(lo, hi, who)]
        for a, b, other in self.pieces.get(place, ()):
            kept += [(x, y, other) for x, y in ((a, min(b, lo)), (max(a, hi), b)) if x < y]
        self.pieces[place] = kept
