"""Overlap on hand-made programs: when input and output of a window operator become one storage."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tvm_megcc import dims
from tvm_megcc.core.program import Call, Kernel, Load, Location, Port, Program, Tensor
from tvm_megcc.forward import caller_ports, concat_in_place, overlap_windows, reorder
from tvm_megcc.forward.overlap import WHOLE_SHARE
from tvm_megcc.memory import place

KERNEL = Kernel("window", source="x")


def program(
    calls: list[Call], sizes: list[dims.Size], outputs: list[int], symbols: tuple = ()
) -> Program:
    """Tensor 0 is the input; sizes in bytes."""
    tensors = [Tensor(f"t{i}", "u8", (s,), Location("arena", i)) for i, s in enumerate(sizes)]
    return Program(
        "m", "portable", (Port("x", 0),), tuple(Port(f"y{o}", o) for o in outputs),
        tuple(tensors), (KERNEL,), tuple(calls), (), symbols=symbols,
    )  # fmt: skip


def window(*operands: int, overlap: dims.Size | None = 128) -> Call:
    return Call(0, operands, 1, overlap=overlap)


def plain(*operands: int) -> Call:
    return Call(0, operands, 1)


def places(found: Program) -> list[tuple[int, dims.Size]]:
    return [(t.location.index, t.location.offset) for t in found.tensors]


def arena(found: Program) -> int:
    planned = place(caller_ports(found))
    assert planned.arena_bytes is not None
    return planned.arena_bytes


CHAIN = [plain(0, 1), window(1, 2), plain(2, 3)]


def test_the_output_begins_before_its_input() -> None:
    before = program(CHAIN, [64, 4096, 2048, 64], [3])
    after = overlap_windows(before, "caller")
    assert places(after) == [(0, 0), (2, 128), (2, 0), (3, 0)]
    assert arena(after) < arena(before)


def test_the_distance_is_aligned() -> None:
    calls = [plain(0, 1), window(1, 2, overlap=130), plain(2, 3)]
    after = overlap_windows(program(calls, [64, 4096, 2048, 64], [3]), "caller")
    assert places(after)[1] == (2, 192)


def test_a_kernel_that_says_nothing_keeps_its_operands_apart() -> None:
    before = program([plain(0, 1), plain(1, 2), plain(2, 3)], [64, 4096, 2048, 64], [3])
    assert overlap_windows(before, "caller") is before


def test_ports_keep_their_memory() -> None:
    calls = [window(0, 1), window(1, 2)]
    before = program(calls, [4096, 4096, 4096], [2])
    for io in ("caller", "arena"):
        assert places(overlap_windows(before, io)) == places(before)


def test_an_input_that_is_read_later_keeps_its_memory() -> None:
    before = program([plain(0, 1), window(1, 2), plain(1, 2, 3)], [64, 4096, 2048, 64], [3])
    assert places(overlap_windows(before, "caller")) == places(before)


def test_a_residual_in_the_input_keeps_it() -> None:
    before = program([plain(0, 1), window(1, 1, 2), plain(2, 3)], [64, 4096, 4096, 64], [3])
    assert places(overlap_windows(before, "caller")) == places(before)


def test_nothing_changes_away_from_the_peak() -> None:
    """Call 1 is small, and call 3, which is the peak, may not overlap."""
    calls = [*CHAIN, plain(3, 4), plain(4, 5)]
    before = program(calls, [64, 512, 512, 8192, 8192, 64], [5])
    assert places(overlap_windows(before, "caller")) == places(before)


def test_a_chain_of_equal_sizes_gains_as_a_whole() -> None:
    calls = [plain(0, 1), window(1, 2), window(2, 3), window(3, 4), plain(4, 5)]
    before = program(calls, [64, 4096, 4096, 4096, 4096, 64], [5])
    after = overlap_windows(before, "caller")
    assert places(after)[1:5] == [(4, 384), (4, 256), (4, 128), (4, 0)]
    assert arena(after) == 4096 + 3 * 128 and arena(before) == 2 * 4096


def test_two_peaks_are_lowered_one_after_the_other() -> None:
    calls = [*CHAIN, plain(3, 4), window(4, 5), plain(5, 6)]
    after = overlap_windows(program(calls, [64, 4096, 2048, 64, 4096, 2048, 64], [6]), "caller")
    assert places(after)[1] == (2, 128) and places(after)[4] == (5, 128)


def test_symbolic_sizes_overlap_by_a_symbolic_distance() -> None:
    symbol = dims.Symbol("n", 1)
    n = dims.of(symbol)
    calls = [plain(0, 1), window(1, 2, overlap=64 * n), plain(2, 3)]
    sizes = [64, 64 * n * n, 64 * n * n, 64]
    after = overlap_windows(program(calls, sizes, [3], (symbol,)), "caller")
    index, offset = places(after)[1]
    assert index == 2 and dims.at(offset, {"n": 3}) == 192


@pytest.mark.parametrize("smallest", [2, 6, 400])
def test_sizes_that_no_run_has_say_nothing(smallest: int) -> None:
    """Some usual sizes, or all of them, are too small for the window."""
    symbol = dims.Symbol("n", 1)
    n = dims.of(symbol)
    rows = n - smallest
    calls = [plain(0, 1), replace(window(1, 2, overlap=64), work=rows, cost=1 << 20), plain(2, 3)]
    before = program(calls, [64, 4096 * n, 4096 * rows, 64], [3], (symbol,))
    after = overlap_windows(before, "caller")
    assert (places(after) == places(before)) == (smallest == 400)
    for step in (lambda p: reorder(p, "caller"), lambda p: concat_in_place(p, "caller"), place):
        step(after)


def test_what_waits_for_data_keeps_its_memory() -> None:
    symbol = dims.Symbol("n", 0, 64)
    n = dims.of(symbol)
    calls = [plain(0, 1), Load(1, (0,)), window(2, 3, overlap=64), plain(3, 4)]
    before = program(calls, [64, 64, 4096 * n, 4096 * n, 64], [4], (symbol,))
    assert places(overlap_windows(before, "caller")) == places(before)


@st.composite
def chains(draw: st.DrawFn) -> Program:
    """One value after another; each is read by the next call and perhaps by a later one."""
    count = draw(st.integers(2, 9))
    sizes = [64, *(64 * draw(st.integers(0, 40)) for _ in range(count)), 64]
    calls = []
    for k in range(count + 1):
        allowed = draw(st.one_of(st.none(), st.integers(0, 40).map(lambda rows: 64 * rows)))
        extra = draw(st.sampled_from([(), (), (), (draw(st.integers(0, k)),)]))
        if allowed is not None:
            allowed = min(allowed, sizes[k + 1])
        calls.append(replace(window(k, *extra, k + 1), overlap=allowed))
    return program(calls, sizes, [count + 1])


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(chains(), st.sampled_from(["caller", "arena"]))
def test_whatever_overlaps_may_and_the_peak_never_rises(before: Program, io: str) -> None:
    after = overlap_windows(before, io)
    for step, call in enumerate(after.calls):
        assert isinstance(call, Call)
        first, output = call.operands[0], call.operands[-1]
        (one, start), (two, begin) = places(after)[first], places(after)[output]
        if one == two and first != output:
            assert call.overlap is not None and start - begin >= call.overlap
            later = [t for c in after.calls[step + 1 :] for t in c.operands]
            assert first not in later and call.operands.count(first) == 1
    assert arena(after) <= arena(before)


def test_threads_keep_a_call_whole_only_where_it_costs_next_to_nothing() -> None:
    """A call that is worth splitting overlaps for one thread only, unless the rest dwarfs it."""
    heavy = replace(window(1, 2), work=64, cost=1 << 14)
    chain = [plain(0, 1), heavy, plain(2, 3)]
    before = program(chain, [64, 4096, 2048, 64], [3])
    assert places(overlap_windows(before, "caller", 1)) != places(before)
    assert places(overlap_windows(before, "caller", 2)) == places(before)
    rest = replace(plain(2, 3), work=64, cost=1 << 20)
    dwarfed = program([plain(0, 1), heavy, rest], [64, 4096, 2048, 64], [3])
    assert places(overlap_windows(dwarfed, "caller", 2)) != places(dwarfed)


@pytest.mark.parametrize("threads, more, overlaps", [(2, 0, True), (2, 1, False), (1, 1, True)])
def test_threads_keep_calls_that_are_more_than_their_share(
    threads: int, more: int, overlaps: bool
) -> None:
    """Calls that run whole may be `WHOLE_SHARE` of the work, and not a multiply-add more."""
    cost = 1 << 14
    heavy = replace(window(1, 2), work=64, cost=cost + more)
    rest = replace(plain(2, 3), work=64, cost=round(cost / WHOLE_SHARE) - cost)
    before = program([replace(plain(0, 1), work=0), heavy, rest], [64, 4096, 2048, 64], [3])
    after = overlap_windows(before, "caller", threads)
    assert (places(after) != places(before)) == overlaps


def test_threads_do_not_keep_a_small_call_from_overlapping() -> None:
    small = replace(window(1, 2), work=64, cost=1 << 10)
    before = program([plain(0, 1), small, plain(2, 3)], [64, 4096, 2048, 64], [3])
    assert places(overlap_windows(before, "caller", 8)) != places(before)


def test_threads_a_call_that_is_large_for_some_size_is_never_whole() -> None:
    n = dims.Symbol("n", 1, 512)
    heavy = replace(window(1, 2), work=dims.of(n), cost=1 << 13)  # for n = 1 it is small
    sizes: list[dims.Size] = [64, dims.of(n) * 640, dims.of(n) * 320, 64]
    before = program([plain(0, 1), heavy, plain(2, 3)], sizes, [3], (n,))
    assert places(overlap_windows(before, "caller", 1)) != places(before)
    assert places(overlap_windows(before, "caller", 2)) == places(before)
