"""A model's calls on several threads: a caller's hook, and the pool that packages have."""

from __future__ import annotations

from pathlib import Path

import pytest

from tvm_megcc import frontend
from tvm_megcc.memory_options import MemoryOptions
from tvm_megcc.pipeline import to_program
from tvm_megcc.program import Call, Program
from tvm_megcc.splitting import is_whole, parts

from . import programs as p
from .test_runtime import HOST, compile_and_run
from .threaded import model

NAMES = ["-DIMAGE=net_image", "-DKERNELS=net_kernels", '-DHEADER="net.h"']
THREADS = 3


@pytest.fixture(scope="module")
def programs() -> dict[int, Program]:
    """The model for one thread and for several."""
    mod = frontend.from_onnx(model()).mod
    return {
        threads: to_program(
            mod,
            HOST,
            name="net",
            input_names=["x"],
            output_names=["y", "top"],
            memory_options=MemoryOptions(threads=threads),
        )
        for threads in (1, THREADS)
    }


def calls_of(program: Program) -> list[Call]:
    return [c for c in program.calls if isinstance(c, Call)]


def test_a_program_for_one_thread_has_one_workspace(programs: dict[int, Program]) -> None:
    one, three = programs[1], programs[THREADS]
    assert all(c.workers == 1 for c in calls_of(one))
    assert any(is_whole(one, c) for c in calls_of(one)), "no overlap: a test of nothing"
    assert not any(is_whole(three, c) and parts(c) > 1 for c in calls_of(three))
    shared = [c for c in calls_of(three) if c.workers == THREADS]
    assert len(shared) >= 6, [c.name for c in shared]
    for call in shared:
        assert call.workspace is not None
        assert three.tensors[call.workspace].nbytes % (64 * THREADS) == 0


def test_pieces_from_last_to_first(tmp_path: Path, programs: dict[int, Program]) -> None:
    package = p.write_program(tmp_path / "net", programs[THREADS])
    flags = ["-fsanitize=address", "-g", "-O1", *NAMES]
    printed = compile_and_run("test_parallel.c", [package], tmp_path, flags=flags)
    splits, bound = map(int, printed.split())
    large = [c for c in calls_of(programs[THREADS]) if parts(c) > 1]
    assert splits == len(large) > 10 and bound == THREADS


def test_one_pool_for_two_contexts(tmp_path: Path, programs: dict[int, Program]) -> None:
    package = p.write_program(tmp_path / "net", programs[THREADS])
    flags = ["-fsanitize=thread", "-g", "-O1", *NAMES]
    compile_and_run("test_pool.c", [package], tmp_path, "2", "3", "8", flags=flags, threads=True)
