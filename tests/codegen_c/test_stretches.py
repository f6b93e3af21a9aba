"""Loops whose conditions change at known places become one loop for each stretch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tvm import relax

from tvm_megcc.codegen_c.tir import emit_prim_func

from . import tir_support as ts

pytestmark = pytest.mark.slow
op = relax.op


def joined(*signs: int) -> Callable[..., relax.Expr]:
    """Parts side by side, some of them negated, and their exponential."""

    def body(*parts: relax.Expr) -> relax.Expr:
        made = [op.negative(p) if sign < 0 else p for p, sign in zip(parts, signs, strict=True)]
        return op.exp(op.concat(made, 1))

    return body


#: Function, shapes, loops over vectors in the result.
CASES: dict[str, tuple[Callable[..., relax.Expr], list[tuple[int, ...]], int]] = {
    "two parts": (joined(1, -1), [(7, 33), (7, 9)], 2),
    "two short parts": (joined(1, -1), [(7, 2), (7, 3)], 2),
    "parts of one vector": (joined(-1, 1), [(3, 4), (3, 8)], 2),
    "four parts": (joined(1, -1, 1, -1), [(2, 16), (2, 5), (2, 17), (2, 8)], 4),
    "five parts": (joined(1, -1, 1, -1, 1), [(2, 16)] * 5, 0),
    "an edge of zeros": (lambda x: op.exp(op.nn.pad(x, [0, 0, 3, 5])), [(4, 30)], 3),
    "a row of zeros": (lambda x: op.exp(op.nn.pad(x, [1, 1, 0, 0])), [(4, 30)], 1),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_stretches_compute_what_the_loop_does(name: str, tmp_path: Path) -> None:
    body, shapes, loops = CASES[name]
    for func, _ in ts.emit_all(body, shapes, "float32"):
        source = emit_prim_func(func, vectors=True).source
        assert source.count("- MEGCC_VL; ") == loops, source
    ts.check_against_tvm(body, shapes, folder=tmp_path, flags=("-O1",))
