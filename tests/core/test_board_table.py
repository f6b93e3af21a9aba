"""Boards by name, and that their CPUs are known."""

from __future__ import annotations

import pytest

from tvm_megcc.core import board_table
from tvm_megcc.core.cpu_names import cpu_of
from tvm_megcc.errors import InputError
from tvm_megcc.host import footprint
from tvm_megcc.target import resolve_for


def test_boards_are_sorted_and_named_as_they_are_found() -> None:
    names = [b.name for b in board_table.TABLE]
    assert names == sorted(names)
    for row in board_table.TABLE:
        assert [board_table.find(word) for word in (row.name, *row.also)] == [row] * (
            1 + len(row.also)
        )
        assert all(cpu_of(word) == row.cpu for word in row.also), row.name
        assert row.cpu in footprint.CPUS
        assert row.ram < row.flash


@pytest.mark.parametrize(
    ("word", "name"), [("RP2040", "rp2040"), ("Raspberry Pi Pico 2", "rp2350"), ("RA8M1", "ra8")]
)
def test_boards_in_any_spelling(word: str, name: str) -> None:
    assert board_table.board(word).name == name


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("stm32f9", "take stm32f7, stm32f4 .*its CPU as --mcpu and its RAM"),
        # Of another memory than the chip of the table.
        ("stm32f401", "take stm32f4.*its CPU as --mcpu stm32f401 and its RAM"),
        ("esp32", "its CPU as --mcpu esp32 and its RAM as --memory-limit"),
    ],
)
def test_boards_that_are_not_known(word: str, said: str) -> None:
    assert board_table.find(word) is None
    with pytest.raises(
        InputError, match=f"^board '{word}' is not known; {'' if 'take' in said else '.*'}{said}"
    ):
        board_table.board(word)


def test_the_machine_of_a_board() -> None:
    assert resolve_for("rp2040", ["host"]) == ("cortexm",)
    assert resolve_for("nrf52840", ["host"]) == ("cortexm+dsp",)
    assert resolve_for("nrf52840", ["cortexm", "portable"]) == ("cortexm", "portable")
    assert resolve_for(None, ["arm64"]) == ("arm64",)
    said = "board rp2040: its cortex-m0plus does not run code for cortexm.dsp; leave .* cortexm$"
    with pytest.raises(InputError, match=said):
        resolve_for("pico", ["cortexm+dsp"])
