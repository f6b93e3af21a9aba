"""A model's calls on several threads: a caller's hook, and the pool that packages have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tvm_megcc import driver, frontend, zoo
from tvm_megcc.core import splitting
from tvm_megcc.core.program import Call, Program, programs_of
from tvm_megcc.core.splitting import is_whole, parts
from tvm_megcc.host import toolchain
from tvm_megcc.memory_options import MemoryOptions
from tvm_megcc.pipeline import compile_module

from . import programs as p
from .test_runtime import HOST, compile_and_run
from .threaded import model

pytestmark = pytest.mark.together

NAMES = ["-DIMAGE=net_image", "-DKERNELS=net_kernels", '-DHEADER="net.h"']
THREADS = 3


@pytest.fixture(scope="module")
def programs() -> dict[int, Program]:
    """The model for one thread and for several."""
    mod = frontend.from_onnx(model()).mod
    return {
        threads: compile_module(
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


@pytest.mark.slow
def test_pieces_from_last_to_first(tmp_path: Path, programs: dict[int, Program]) -> None:
    package = p.write_program(tmp_path / "net", programs[THREADS])
    flags = ["-fsanitize=address", "-g1", "-O1", *NAMES]
    printed = compile_and_run("test_parallel.c", [package], tmp_path, flags=flags)
    splits, bound = map(int, printed.split())
    large = [c for c in calls_of(programs[THREADS]) if parts(c) > 1]
    assert splits == len(large) > 10 and bound == THREADS


@pytest.mark.slow
def test_one_pool_for_two_contexts(tmp_path: Path, programs: dict[int, Program]) -> None:
    package = p.write_program(tmp_path / "net", programs[THREADS])
    flags = ["-fsanitize=thread", "-g1", "-O1", *NAMES]
    compile_and_run("test_pool.c", [package], tmp_path, "2", "3", "8", flags=flags, threads=True)


@pytest.mark.slow
def test_shapes_that_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a workspace are as large as the sizes of the moment say."""
    monkeypatch.setattr(splitting, "PIECE", 1 << 8)  # so that every call is worth splitting
    package = tmp_path / "net"
    memory = MemoryOptions(threads=THREADS)
    programs = driver.compile_model(
        zoo.build("tiny_cnn", size="H"), package, archs=[HOST], memory=memory
    )
    (program,) = programs_of(programs[HOST])
    shared = [c.workspace for c in calls_of(program) if c.workers == THREADS]
    assert any(not isinstance(program.tensors[t].nbytes, int) for t in shared if t is not None)
    flags = ["-fsanitize=address", "-O1"]
    exe = toolchain.build(package, HOST, extra_cflags=flags, threads=True)
    for size in (32, 64, 48):
        x = np.random.default_rng(0).standard_normal((1, 3, size, size)).astype("f4")
        results = [
            toolchain.run_package(
                exe, HOST, {"input": x}, p.manifest(package), args=["--threads", str(threads)]
            )
            for threads in (1, 2, THREADS, 5)
        ]
        for result in results[1:]:
            assert result.outputs["output"].tobytes() == results[0].outputs["output"].tobytes()
