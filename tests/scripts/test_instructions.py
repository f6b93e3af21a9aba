"""No model's arm64 instructions grow unnoticed: scripts/instruction_table.py has the table."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from .test_scripts import load

pytestmark = [pytest.mark.slow, pytest.mark.emulator]

table = load("instruction_table")


@pytest.mark.parametrize("name", table.MODELS)
def test_instructions_are_those_of_the_table(name: str, request, tmp_path: Path) -> None:
    if not shutil.which("qemu-aarch64"):
        pytest.skip("needs qemu-aarch64: apt install qemu-user")
    known, here = table.stored(), table.compiler()
    if here != known.compiler:
        pytest.skip(f"the table is of gcc {known.compiler} for arm64, here is {here or 'none'}")
    # Only models of the corpus need it: the zoo is built here.
    shared = request.getfixturevalue("shared") if name in table.CORPUS else tmp_path
    assert not table.complaint(name, table.measure(name, shared, tmp_path), known.counts[name])


def test_growth_is_told_with_what_to_do(capsys) -> None:
    assert table.complaint("m", 102, 100) == ""
    said = table.complaint("m", 1030, 1000)
    assert "m: 1,030 instructions, 3.0% more" in said and "--update m" in said
    with pytest.raises(SystemExit):
        table.main(["nothing"])
    assert "the table has no nothing" in capsys.readouterr().err
