"""Workspaces for several workers: who gets how many parts, and how large they are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tvm_megcc.core.program import Call, Kernel, Location, Program, Tensor
from tvm_megcc.core.splitting import MOST, PIECE, grain, is_whole, parts
from tvm_megcc.dims import Size, Symbol, of
from tvm_megcc.errors import UnsupportedError
from tvm_megcc.forward import give_workspaces
from tvm_megcc.memory import place


def program(call: Call, scratch: Size = 100) -> Program:
    """One call of tensors 0 and 1 with workspace 2."""
    tensors = (
        Tensor("x", "u8", (4096,), Location("arena", 0)),
        Tensor("y", "u8", (4096,), Location("arena", 1)),
        Tensor("w", "u8", (scratch,), Location("arena", 2)),
    )
    return Program("m", "portable", (), (), tensors, (Kernel("k", source="x"),), (call,), ())


def after(call: Call, threads: int, scratch: Size = 100) -> tuple[int, Size]:
    """Workers of the call, and bytes of its workspace."""
    found = give_workspaces(program(call, scratch), threads)
    (step,) = found.calls
    assert isinstance(step, Call)
    return step.workers, found.tensors[2].nbytes


CALL = Call(0, (0, 1), 1, work=64, cost=PIECE // 4, workspace=2)


def test_each_worker_gets_an_aligned_part() -> None:
    assert after(CALL, 3) == (3, 3 * 128)


def test_one_thread_changes_nothing() -> None:
    before = program(CALL)
    assert give_workspaces(before, 1) == before


def test_there_are_no_more_workers_than_parts_worth_handing_out() -> None:
    assert grain(CALL) == 4 and parts(CALL) == 16
    assert after(CALL, 40) == (16, 16 * 128)
    assert after(replace(CALL, work=7), 40) == (1, 100)
    assert after(replace(CALL, work=1 << 20), 1000)[0] == MOST


def test_a_call_that_writes_over_its_input_keeps_one() -> None:
    call = replace(CALL, overlap=64)
    found = program(call)
    over = replace(found.tensors[1], location=Location("arena", 0))
    found = replace(found, tensors=(found.tensors[0], over, found.tensors[2]))
    assert is_whole(found, call) and give_workspaces(found, 4) == found
    assert after(call, 4)[0] == 4  # it might, but does not


def test_symbolic_sizes_stay_symbolic() -> None:
    n = Symbol("n", 1, None)
    workers, nbytes = after(replace(CALL, work=of(n) * 1000), 2, of(n) * 8)
    assert workers == 2
    assert nbytes.at({"n": 10}) == 2 * 128  # type: ignore[union-attr]


def test_too_little_memory_may_be_for_too_many_threads() -> None:
    for threads, remedy in ((1, "more memory or"), (4, "more memory, fewer threads or")):
        with pytest.raises(UnsupportedError, match=remedy):
            place(give_workspaces(program(CALL), threads), limit=64)
