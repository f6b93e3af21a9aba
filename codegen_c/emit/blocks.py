"""The blocks of an image: a program's storages, and parts of them at symbolic offsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tvm_megcc.codegen_c.emit.scalars import Scalars
from tvm_megcc.core.program import Location, Program, Storage, Tensor, operands_of
from tvm_megcc.dims import Dim, Size, Symbol

PLACED, ALIAS, DYNAMIC = range(3)  #: kinds of blocks


@dataclass(slots=True)
class Blocks:
    """The blocks of a program with symbols: its storages, and parts of them at symbolic offsets.

    An alias comes after its block, among those of the stage that knows its offset, too; dynamic
    blocks come by the stage that sizes them.
    """

    program: Program
    scalars: Scalars
    words: list[int] = field(default_factory=list)
    below: list[int] = field(default_factory=list)
    #: (storage, symbolic offset or 0) -> number of the block.
    numbers: dict[tuple[int, Size], int] = field(default_factory=dict)
    #: First and last + 1 block of each stage from 1 on.
    spans: list[tuple[int, int]] = field(default_factory=list)
    _first: dict[int, Tensor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        storages = self.program.storages
        self._first = self._first_tensors()
        stage = [self._stage(k) for k in range(len(storages))]
        for k, storage in enumerate(storages):
            if stage[k] == 0:
                self._placed(k, storage)
        self._aliases(stage, 0)
        for number in range(1, len(self.scalars.stages)):
            start = len(self.numbers)
            for k in range(len(storages)):
                if stage[k] == number:
                    self._add(k, 0, [DYNAMIC, 0, 0, 0])
            self._aliases(stage, number)
            self.spans.append((start, len(self.numbers)))

    def number(self, location: Location) -> tuple[int, int]:
        """The block of a tensor, and its offset there."""
        offset = location.offset
        if isinstance(offset, int):
            return self.numbers[location.index, 0], offset
        return self.numbers[location.index, offset], 0

    def _stage(self, storage: int) -> int:
        """0 where the arena has it, else the stage that says its size."""
        if not self.program.storages[storage].dynamic:
            return 0
        first = self._first[storage]
        return self.scalars.stage_of(first.location.offset + first.nbytes)

    def _first_tensors(self) -> dict[int, Tensor]:
        """The tensor of each storage that is used first: what comes later has room in it."""
        found: dict[int, Tensor] = {}
        for step in self.program.calls:
            for number in operands_of(step):
                tensor = self.program.tensors[number]
                if tensor.location.space == "block":
                    found.setdefault(tensor.location.index, tensor)
        # A copy of an output is made when all steps have been run.
        for tensor in self._tensors():
            found.setdefault(tensor.location.index, tensor)
        return found

    def _tensors(self) -> list[Tensor]:
        return [t for t in self.program.tensors if t.location.space == "block"]

    def _placed(self, number: int, storage: Storage) -> None:
        first = len(self.below)
        self.below += [self.numbers[b, 0] for b in storage.below]
        shift = storage.alignment.bit_length() - 1
        self._add(number, 0, [PLACED | shift << 8, first, len(storage.below), 0])

    def _aliases(self, stage: Sequence[int], wanted: int) -> None:
        """The parts whose block and offset are both known from stage `wanted` on."""
        for t in self._tensors():
            storage, offset = t.location.index, t.location.offset
            if not isinstance(offset, Dim) or (storage, offset) in self.numbers:
                continue
            if max(stage[storage], self.scalars.stage_of(offset)) == wanted:
                parent = self.numbers[storage, 0]
                self._add(storage, offset, [ALIAS, parent, self.scalars.number(offset), 0])

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
