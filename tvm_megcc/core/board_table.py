"""Boards and chips with their memory: the table behind ``--board``.

Enters: a name that a person types. Leaves: the board, whose CPU is of `core.cpu_names`.

Example
-------
>>> found = board("Raspberry Pi Pico")
>>> found.name, found.cpu, found.ram
('rp2040', 'cortex-m0plus', 270336)
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from tvm_megcc.core.cpu_names import cpu_of, may_be_cpu
from tvm_megcc.errors import InputError

_KIB = 1 << 10


@dataclass(frozen=True, slots=True)
class Board:
    """A board, or a family of chips by one of its members.

    Attributes
    ----------
    name, chip : str
        What users type; the chip that the bytes are of, with a word on them where there is more.
    flash : int
        Bytes for code and weights.
    ram : int
        Bytes of the largest memory in one piece, as an arena is one buffer.
    also : tuple of str
        Other names, in lower case without spaces and punctuation.
    """

    name: str
    chip: str
    flash: int
    ram: int
    also: tuple[str, ...] = ()

    @property
    def cpu(self) -> str:
        """Its CPU as compilers spell it."""
        return cpu_of(self.name)

    def __str__(self) -> str:
        return f"{self.name} ({self.chip})"


#: By name. From the makers' data sheets.
TABLE = (
    Board("nrf52840", "nRF52840", 1024 * _KIB, 256 * _KIB),
    Board("nrf5340", "nRF5340, application core", 1024 * _KIB, 512 * _KIB),
    Board("ra8", "RA8M1 R7FA8M1AH, without its TCM", 2048 * _KIB, 896 * _KIB, ("ra8m1",)),
    Board("rp2040", "Raspberry Pi Pico", 2048 * _KIB, 264 * _KIB, ("pico", "raspberrypipico")),
    Board("rp2350", "Raspberry Pi Pico 2", 4096 * _KIB, 520 * _KIB, ("pico2", "raspberrypipico2")),
    Board("stm32f4", "STM32F407VG, without its CCM", 1024 * _KIB, 128 * _KIB, ("stm32f407vg",)),
    Board("stm32f7", "STM32F746ZG", 1024 * _KIB, 320 * _KIB, ("stm32f746zg",)),
    Board("stm32h7", "STM32H743ZI, AXI SRAM", 2048 * _KIB, 512 * _KIB, ("stm32h743zi",)),
    Board("stm32l4", "STM32L476RG, SRAM1", 1024 * _KIB, 96 * _KIB, ("stm32l476rg",)),
    Board("stm32u5", "STM32U585AI, SRAM1 to 3", 2048 * _KIB, 768 * _KIB, ("stm32u585ai",)),
)


def find(word: str) -> Board | None:
    """The board of a name in any spelling, or None."""
    letters = re.sub(r"[^a-z0-9]", "", word.lower())
    return next((b for b in TABLE if letters in (b.name, *b.also)), None)


def board(word: str) -> Board:
    """The board of a name in any spelling; InputError for one that is not in the table."""
    found = find(word)
    if found is not None:
        return found
    names = [b.name for b in TABLE]
    near = difflib.get_close_matches(word.lower(), names, n=2) or names
    other = f"its CPU as --mcpu {word}" if may_be_cpu(word) else "its CPU as --mcpu"
    raise InputError(
        f"board {word!r} is not known; take {', '.join(near)} (tvmc boards lists all), or give"
        f" {other} and its RAM as --memory-limit"
    )
