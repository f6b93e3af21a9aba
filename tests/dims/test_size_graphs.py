"""Sizes that share parts are graphs: every walk of one looks at each part once."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable, Iterator

import pytest
from tvm import tirx

from tvm_megcc import dims
from tvm_megcc.relax_tools import shape_exprs

N = dims.symbol("n", 1)
STEPS = 60


def step(d: dims.Size) -> dims.Size:
    """It names its operand twice, and nothing in it cancels."""
    return dims.maximum(d - 7, d // 3 * 2)


def stepped(n: int) -> int:
    for _ in range(STEPS):
        n = max(n - 7, n // 3 * 2)
    return n


@pytest.fixture(scope="module")
def long() -> dims.Dim:
    d: dims.Size = N
    for _ in range(STEPS):
        d = step(d)
    assert isinstance(d, dims.Dim)
    return d


def parts(size: dims.Size, found: set[dims.Dim]) -> Iterator[dims.Dim]:
    if isinstance(size, dims.Dim) and size not in found:
        found.add(size)
        yield size
        for operand in size.operands:
            yield from parts(operand, found)


#: What is asked of a size; one that walks trees would not end.
WALKS: dict[str, Callable[[dims.Dim], object]] = {
    "at": lambda d: dims.at(d, {"n": 10_000}) == stepped(10_000),
    "numbers": lambda d: dims.numbers({"n": 900})(d * d) == stepped(900) ** 2,
    "typical": lambda d: dims.typical(d) == stepped(64),
    "symbols": lambda d: dims.symbols(d) == {dims.as_symbol(N)},
    "bounds": lambda d: d.bounds[1] == dims.INFINITY,
    "written": lambda d: dims.written(d) > 2**STEPS,
    "magnitude": lambda d: dims.magnitude(d) == 7,
    "text": lambda d: len(str(d)) == 1001 and str(d) != str(d + 1),
    "effort": lambda d: dims.effort(step(d)) > dims.effort(d) > dims.effort(N * 2 + 3),
    "equal": lambda d: d + 1 - 1 is d and d != d + 1,
    "json": lambda d: dims.json_at(dims.to_json(d), {"n": 10_000}) == stepped(10_000),
    "json_symbols": lambda d: dims.json_symbols(dims.to_json(d)) == {"n"},
    "json_text": lambda d: len(dims.json_text(dims.to_json(d))) < 2000,
    "pickle": lambda d: pickle.loads(pickle.dumps(d)) is d,
}


@pytest.mark.parametrize("walk", WALKS)
def test_a_part_is_looked_at_once(walk: str, long: dims.Dim) -> None:
    assert WALKS[walk](long)


def test_it_has_few_parts(long: dims.Dim) -> None:
    assert len(list(parts(long, set()))) <= 4 * STEPS


def test_the_manifest_has_each_part_once(long: dims.Dim) -> None:
    sizes = [long, long * 4, step(long), N, N * 2, N * 2]
    shared = dims.Shared(size for size in sizes if isinstance(size, dims.Dim))
    written = [shared.json(size) for size in sizes]
    assert len(shared.table) <= 4 * STEPS and len(str([written, shared.table])) < 400 * STEPS
    assert written[-1] == [[2, ["n"]]], "a short one stands where it is used"
    read = dims.whole(written, shared.table)
    assert isinstance(read, list)
    found = [dims.json_at(size, {"n": 5000}) for size in read]
    assert found == [dims.at(size, {"n": 5000}) for size in sizes]


def test_expressions_of_tvm_are_read_and_written_once(
    long: dims.Dim, monkeypatch: pytest.MonkeyPatch
) -> None:
    visited = []
    read = shape_exprs._Reader._operation
    monkeypatch.setattr(
        shape_exprs._Reader, "_operation", lambda self, e: visited.append(e) or read(self, e)
    )
    n = tirx.Var("n", "int64")
    expr = shape_exprs.prim_of(long, {"n": n})
    assert shape_exprs.size_of(expr, {"n": dims.Symbol("n", 1)}) is long
    assert len(visited) <= 10 * STEPS


def test_equal_sizes_are_one_object() -> None:
    assert dims.symbol("n", 1) * 2 + 1 is 1 + 2 * N
    assert dims.symbol("n", 2) is not N, "other bounds, another symbol"
    made = len(dims.size._MADE)
    del_me = [dims.symbol(f"gone{k}") for k in range(100)]
    del del_me
    gc.collect()
    assert len(dims.size._MADE) < made + 100, "what nobody has any more is not kept"


def test_a_short_text_is_whole() -> None:
    size = step(step(N))
    assert str(size) == "max(max(n - 7, 2*(n//3)) - 7, 2*(max(n - 7, 2*(n//3))//3))"
    assert dims.effort(size) == (len(str(size)), str(size))
