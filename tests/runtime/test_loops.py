"""Branches and loops in the C VM: sizes that grow, allocators that fail, forged images."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import looping
from .test_runtime import SANITIZE, compile_and_run


@pytest.mark.slow
@pytest.mark.parametrize("flags", [(), ("-DMEGCC_DEBUG",)], ids=["release", "poison"])
def test_api_and_failing_allocators(tmp_path: Path, flags: tuple[str, ...]) -> None:
    package = looping.write(tmp_path / "looping")
    compile_and_run("test_loops.c", [package], tmp_path, flags=(*SANITIZE, *flags))


def test_a_package_has_only_the_instructions_that_it_needs(tmp_path: Path) -> None:
    package = looping.write(tmp_path / "looping")
    found = {path.stem for path in (package / "src").glob("megcc_*.c")}
    assert {"megcc_op_branch", "megcc_op_jump", "megcc_op_row", "megcc_op_let"} < found
    assert {"megcc_jumps", "megcc_data"} < found
