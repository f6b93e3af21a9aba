"""No model's arm64 instructions grow unnoticed: scripts/instruction_table.py has the table."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.turns import in_turn

from .test_scripts import load

pytestmark = [pytest.mark.slow, pytest.mark.emulator]

table = load("instruction_table")


@pytest.mark.parametrize("name", in_turn(2, table.MODELS))
def test_instructions_are_those_of_the_table(name: str, request, tmp_path: Path) -> None:
    if not shutil.which("qemu-aarch64"):
        pytest.skip("needs qemu-aarch64: apt install qemu-user")
    known, here = table.ARM64.stored(), table.ARM64.compiler()
    if here != known.compiler:
        pytest.skip(f"the table is of gcc {known.compiler} for arm64, here is {here or 'none'}")
    # Only models of the corpus need it: the zoo is built here.
    shared = request.getfixturevalue("shared") if name in table.CORPUS else tmp_path
    assert not table.ARM64.complaint(name, table.measure(name, shared, tmp_path))


def test_growth_is_told_with_what_to_do(capsys, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(table, "ROOT", tmp_path)
    book = table.Book(tmp_path / "t.json", "no-gcc", ("m", "n:a", "n:b"), lambda *_: 0)
    book.write({"m": 100, "n:b": 1000})
    assert book.complaint("m", 102) == ""
    said = book.complaint("n:b", 1030)
    assert "n:b: 1,030 instructions, 3.0% more" in said and "--update n:b" in said
    book.write({"n:b": 5})
    assert book.stored() == table.Table("", {"m": 100, "n:b": 5}), "the other rows stay"
    with pytest.raises(SystemExit):
        table.main(["nothing"])
    assert "the tables have no nothing" in capsys.readouterr().err


def test_a_name_stands_for_its_rows() -> None:
    assert table.rows_of("kws:cortex-m4") == ["kws:cortex-m4"]
    assert table.rows_of("kws") == [f"kws:{cpu}" for cpu in table.CPUS]
    assert table.rows_of("cortex-m55") == [f"{name}:cortex-m55" for name in table.NETWORKS]
    assert table.rows_of("tiny_cnn") == ["tiny_cnn"] and table.rows_of("m4") == []
