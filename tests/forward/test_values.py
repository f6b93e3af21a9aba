"""Forwarding and placing leave every value what it is, for all ports, plans and threads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import onnx
import pytest

from tests.forward.random_programs import program
from tests.forward.values import differs
from tests.fuzz import generate
from tvm_megcc import driver, forward, memory, pipeline, zoo
from tvm_megcc.core.program import Call, Program, usual_sizes
from tvm_megcc.errors import MegccError
from tvm_megcc.memory import PLANNERS

#: Where ports live, whether inputs may be overwritten, for how many threads, and the pools.
WAYS = (
    ("caller", False, 1, ()),
    ("caller", False, 3, ()),
    ("arena", False, 1, ()),
    ("arena", True, 2, ()),
    ("arena", True, 1, (("a", 256), ("b", 1024), ("c", None))),
)
#: Those that take no search.
QUICK = tuple(p for p in PLANNERS if p not in ("local-search", "exact"))


def all_sizes(before: Program) -> list[dict[str, int]]:
    """Some sizes of the inputs' open dims: usual ones, and where all are 0, 1 or 3."""
    if not before.symbols:
        return [{}]
    given = {s.name for p in before.inputs for d in before.tensors[p.tensor].shape
             for s in getattr(d, "symbols", ())}  # fmt: skip
    bounds = {s.name: s for s in before.symbols if s.name in given}
    small = [
        {
            n: min(max(k, s.low), k if s.high is None else max(s.low, s.high))
            for n, s in bounds.items()
        }
        for k in (0, 1, 3)
    ]
    usual = [{n: row[n] for n in given} for row in usual_sizes(before)[:1]]
    return [row for row in (*small, *usual) if max(row.values(), default=0) < 100]


def findings(before: Program, planner: str, seeds: int = 2) -> Iterator[str]:
    for io, clobber, threads, pools in WAYS:
        if pools and before.symbols:
            continue
        after = memory.place(
            forward.forward(before, io, threads), "auto" if pools else planner, time_limit=0.05,
            pools=pools or None, clobber_inputs=clobber,
        )  # fmt: skip
        for sizes in all_sizes(before):
            for seed in range(seeds):
                if words := differs(before, after, sizes, seed, kept=not clobber):
                    yield f"{io} clobber={clobber} {threads} {planner} {sizes} {seed}: {words}"


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 120, 30))
def test_random_programs(first: int) -> None:
    for seed in range(first, first + 30):
        found = next(findings(program(seed), QUICK[seed % len(QUICK)]), "")
        assert not found, f"program {seed}: {found}"


@pytest.mark.slow
@pytest.mark.parametrize("planner", PLANNERS)
def test_random_programs_by_every_planner(planner: str) -> None:
    for seed in range(500, 508):
        found = next(findings(program(seed), planner, seeds=1), "")
        assert not found, f"program {seed}: {found}"


def lowered(model: onnx.ModelProto, monkeypatch: pytest.MonkeyPatch) -> list[Program]:
    """The programs of a model before forwarding; none where it is refused."""
    found: list[Program] = []

    def keep(before: Program, io: str, threads: int, change: forward.Change) -> Program:
        found.append(before)
        return forward.forward(before, io, threads, change)

    monkeypatch.setattr(pipeline, "forward", keep)
    try:
        driver.compile_programs(model, ["portable"])
    except MegccError:
        return []
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in zoo.NAMES if name.startswith("tiny_")])
@pytest.mark.parametrize("batch", [1, "N"])
def test_zoo(name: str, batch: int | str, monkeypatch: pytest.MonkeyPatch) -> None:
    for before in lowered(zoo.build(name, batch), monkeypatch):
        assert not list(findings(before, "auto", seeds=1))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 24, 12))
def test_graphs_of_the_fuzzer(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(first, first + 12):
        for before in lowered(generate.graph(seed).model(), monkeypatch):
            found = next(findings(before, QUICK[seed % len(QUICK)]), "")
            assert not found, f"seed {seed}: {found}"


def test_a_value_that_is_overwritten_is_found() -> None:
    """The check itself: two values that are live at once in one place; an output over an input."""
    before = next(p for p in map(program, range(99)) if len(p.calls) > 4 and not p.symbols)
    after = memory.place(forward.forward(before, "caller"))
    assert not differs(before, after)
    first = next(c for c in after.calls if isinstance(c, Call))
    tensors = list(after.tensors)
    for tensor, t in enumerate(tensors):
        if t.location.space == "arena" and tensor != first.operands[-1]:
            tensors[tensor] = replace(t, location=replace(t.location, offset=0))
    assert differs(before, replace(after, tensors=tuple(tensors)))
