"""The blocks of an image: a program's storages, and parts of them at symbolic offsets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..dims import Dim, Size, Symbol
from ..program import Location, Program, Storage, Tensor
from .scalars import Scalars

PLACED, ALIAS, DYNAMIC = range(3)  #: kinds of blocks


@dataclass(slots=True)
class Blocks:
    """The blocks of a program with symbols: its storages, and parts of them at symbolic offsets.

    An alias comes after its block; those of dynamic blocks after them, by the `Load` that sizes
    them.
    """

    program: Program
    scalars: Scalars
    words: list[int] = field(default_factory=list)
    below: list[int] = field(default_factory=list)
    #: (storage, symbolic offset or 0) -> number of the block.
    numbers: dict[tuple[int, Size], int] = field(default_factory=dict)
    #: First and last + 1 block of each Load, from stage 1 on.
    spans: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        storages = self.program.storages
        stage = [self._stage(k) for k in range(len(storages))]
        for k, storage in enumerate(storages):
            if stage[k] == 0:
                self._placed(k, storage)
        self._aliases(lambda k: stage[k] == 0)
        for load in range(1, len(self.scalars.stages)):
            start = len(self.numbers)
            for k in range(len(storages)):
                if stage[k] == load:
                    self._add(k, 0, [DYNAMIC, 0, 0, 0])
            self._aliases(lambda k, load=load: stage[k] == load)  # type: ignore[misc]
            self.spans.append((start, len(self.numbers)))

    def number(self, location: Location) -> tuple[int, int]:
        """The block of a tensor, and its offset there."""
        offset = location.offset
        if isinstance(offset, int):
            return self.numbers[location.index, 0], offset
        return self.numbers[location.index, offset], 0

    def _stage(self, storage: int) -> int:
        """0 where the arena has it, else the Load that says its size."""
        if not self.program.storages[storage].dynamic:
            return 0
        inside = (t for t in self._tensors() if t.location.index == storage)
        return max(self.scalars.stage_of(t.location.offset + t.nbytes) for t in inside)

    def _tensors(self) -> list[Tensor]:
        return [t for t in self.program.tensors if t.location.space == "block"]

    def _placed(self, number: int, storage: Storage) -> None:
        first = len(self.below)
        self.below += [self.numbers[b, 0] for b in storage.below]
        shift = storage.alignment.bit_length() - 1
        self._add(number, 0, [PLACED | shift << 8, first, len(storage.below), 0])

    def _aliases(self, wanted: Callable[[int], bool]) -> None:
        for t in self._tensors():
            key = (t.location.index, t.location.offset)
            if isinstance(key[1], Dim) and key not in self.numbers and wanted(key[0]):
                parent = self.numbers[key[0], 0]
                self._add(*key, [ALIAS, parent, self.scalars.number(key[1]), 0])

    def _add(self, storage: int, offset: Size, words: list[int]) -> None:
        self.numbers[storage, offset] = len(self.numbers)
        self.words += words


def counts(program: Program, inputs: tuple[Symbol, ...]) -> tuple[int, int]:
    """Values and blocks of a program."""
    scalars = Scalars(program, inputs)
    return len(scalars.first), len(Blocks(program, scalars).numbers)


def placed_blocks(program: Program, inputs: tuple[Symbol, ...]) -> list[tuple[Storage, int]]:
    """The storages of a program with symbols, and the number of each one's block."""
    numbers = Blocks(program, Scalars(program, inputs)).numbers
    return [(s, numbers[k, 0]) for k, s in enumerate(program.storages)]
