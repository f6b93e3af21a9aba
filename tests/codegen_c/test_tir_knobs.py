"""Every way to arrange a generated kernel's loops gives TVM's numbers; which ones there are."""

from __future__ import annotations

from pathlib import Path

import pytest
from tvm import relax, tirx

from tests.codegen_c import tir_support as ts
from tvm_megcc.codegen_c.tir import CANDIDATES, USUAL, emit_prim_func

op = relax.op
#: A loop of three turns outside in which a long one may be, sums over rows that are tiles of 16 and
#: 32 columns or not, one loop only, open sizes.
CASES = {
    "rows": (lambda x, y: op.sigmoid(x) * y, [(100, 3), (3,)]),
    "planes": (lambda x, y: x * y + x, [(5, 7, 6), (6,)]),
    "columns": (lambda x: op.sum(op.abs(x) * x, 1), [(8, 9, 32)]),
    "no_tile": (lambda x: op.max(op.abs(x), 0), [(9, 33)]),
    "flat": (lambda x: op.exp(op.negative(x)), [(4, 8)]),
    "product": (op.matmul, [(8, 5), (5, 64)]),
}
WANTED = {
    "rows": {"unroll", "longest"},
    "planes": {"unroll", "longest"},
    "columns": {"unroll", "tile"},
    "no_tile": {"unroll"},
    "flat": {"unroll"},
    "product": {"unroll", "tile"},
}


@pytest.mark.parametrize("name", CASES)
def test_knobs_give_the_same_numbers(name: str, tmp_path: Path) -> None:
    build, shapes = CASES[name]
    (func,) = ts.prim_funcs(ts.legalise(build, shapes, "float32")).values()
    found = {}
    for knobs in CANDIDATES:
        kernel = emit_prim_func(func, "megcc_tir_x", knobs)
        found.setdefault(kernel.source, (kernel, knobs))
    assert {name for _, knobs in found.values() for name, _ in knobs.settings} == WANTED[name]
    for kernel, knobs in found.values():
        if knobs.unroll in (2, 8):
            continue  # other numbers in the same text
        ts.check_function(func, kernel, tmp_path)


def test_knobs_leave_open_sizes_and_what_is_usual_as_they_are() -> None:
    n = tirx.Var("n", "int64")
    (func,) = ts.prim_funcs(ts.legalise(lambda x: op.exp(x) * x, [(n, 8)], "float32")).values()
    texts = {emit_prim_func(func, "megcc_tir_x", knobs).source for knobs in CANDIDATES}
    assert len(texts) == 4  # as usual, and 2, 4 or 8 turns at once
    assert CANDIDATES[0] == USUAL and USUAL.settings == ()
    assert emit_prim_func(func, "megcc_tir_x").source in texts
