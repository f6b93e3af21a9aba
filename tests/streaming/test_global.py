"""Global poolings that add up band by band, and results of loops over images that they read."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path as File

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from tests import reach_models
from tests.fast import machines
from tvm_megcc import driver
from tvm_megcc.core.program import (
    ALIGNMENT,
    Call,
    End,
    Kernel,
    LiveBytes,
    Location,
    Loop,
    Path,
    Port,
    Program,
    Tensor,
    Window,
    live_parts,
    shared_by_loops,
    touches,
)
from tvm_megcc.forward.merging import Storages
from tvm_megcc.host import package
from tvm_megcc.memory import Gap, problem_of
from tvm_megcc.memory_options import MemoryOptions
from tvm_megcc.streaming.over_input import Reader, Result, Source, best_pair, lead

from .images import decoder
from .test_results import outputs
from .test_rows import check

HALF = TensorProto.FLOAT16
MODELS = {
    "mean": decoder,
    "max": lambda: decoder("GlobalMaxPool"),
    "half": lambda: reach_models.pooled("GlobalAveragePool", HALF),
    "bytes": lambda: reach_models.pooled_bytes("AVG"),
    "sums": lambda: reach_models.pooled_bytes("SUM"),
}


def compiled(model: onnx.ModelProto, arch: str, stream: str | int) -> Program:
    memory = MemoryOptions(stream=stream)
    found = driver.compile_programs(model, [arch], memory=memory)[arch]
    assert isinstance(found, Program)
    return found


def adds_up(program: Program) -> list[Call]:
    """Calls that add a band to a result of all rows."""
    calls = [step for step in program.calls if isinstance(step, Call) and step.rows is not None]
    return [call for call in calls if "pool_band" in program.kernels[call.kernel].template]


def drawn(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    feeds = {}
    for port in model.graph.input:
        kind = onnx.helper.tensor_dtype_to_np_dtype(port.type.tensor_type.elem_type)
        shape = [dim.dim_value for dim in port.type.tensor_type.shape.dim]
        feeds[port.name] = (rng.standard_normal(shape) * (40 if kind == np.int8 else 1)).astype(
            kind
        )
    return feeds


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arch", "name"),
    machines(
        *product(("host", "portable"), MODELS),
        *product(("arm64",), ("mean", "half", "bytes")), ("armv7", "max"),
    ),
)  # fmt: skip
def test_results_are_equal_to_the_bit(name: str, arch: str, tmp_path: File) -> None:
    model = MODELS[name]()
    _, whole = outputs(model, tmp_path, arch, "off", feeds=drawn(model))
    for stream in (1, 5):  # bands that end in runs of the sums, and with them
        assert outputs(model, tmp_path, arch, stream, feeds=drawn(model))[1] == whole
        kernels = package.load(tmp_path / f"{stream}_1").manifest["per_arch"].values()
        assert "pool_band" in str(*kernels)


@pytest.mark.parametrize("stream", [1, 2, 7])
def test_each_row_is_added_once(stream: int) -> None:
    program = compiled(decoder(), "arm64", stream)
    assert check(program) > 0
    (call,) = adds_up(program)
    assert call.rows is not None and call.n_outputs == 2
    height = call.rows.window.height
    assert [patch.rows for patch in call.rows.patches] == ["out", "first"]
    assert call.attrs[:1] == call.attrs[3:] and call.attrs[0] == height * 22


def test_the_result_lies_over_the_image() -> None:
    """Of two images that a gate needs, one is written where the smaller one was."""
    program = compiled(decoder(), "arm64", 1)
    (loop,) = (step for step in program.calls if isinstance(step, Loop) and step.over)
    source, result = (program.tensors[t] for t in loop.over)
    image = 34 * 22 * 8 * 4
    assert (source.nbytes, result.nbytes) == (image // 4, image)
    begin = source.location.offset - result.location.offset
    assert loop.overlap <= begin < loop.overlap + ALIGNMENT and begin < image
    assert program.arena_bytes is not None and program.arena_bytes < 2.1 * image
    assert check(program) > 0


def test_what_reads_the_result_is_behind_the_loop() -> None:
    program = compiled(decoder(), "arm64", 2)
    (call,) = adds_up(program)
    behind = program.calls[program.calls.index(call) + 1]
    assert isinstance(behind, End)


@pytest.mark.parametrize(
    "window",
    [Window(1, 1, 1, 0, 12), Window(1, 1, 3, 1, 12), Window(2, 1, 3, 1, 24), Window(1, 2, 3, 1, 6)],
)
@pytest.mark.parametrize("place", [0, 1])
def test_no_row_is_overwritten_that_is_still_read(window: Window, place: int) -> None:
    """By trying: one byte less, and a row that is still to be read is written over."""
    step, count = 2, 6
    reader = Reader(0, Path(step, 0, 12), window)
    image = Source(0, window.height * 40, 40, (reader,))
    result = Result(1, 12 * 100, 100, place, Path(step, 0, 12))

    def holds(lead_: int) -> bool:
        for t in range(count):
            written = result.path.at(t + 1) * result.row_bytes
            # Calls behind the writer in this iteration, and all of the next ones.
            for later in range(t + (place > 0), count):
                row = later * step * window.stride // window.up - window.pad
                if lead_ + max(0, row) * image.row_bytes < written:
                    return False
        return True

    least = lead(result, image, count)
    assert holds(least) and (least == 0 or not holds(least - 1))


def test_the_pair_that_saves_most() -> None:
    reader = Reader(0, Path(1, 0, 8), Window(1, 1, 1, 0, 8))
    small, large = (Source(k, 8 * n, n, (reader,)) for k, n in ((0, 16), (1, 64)))
    result = Result(2, 8 * 64, 64, 1, Path(1, 0, 8))
    found = best_pair([result], [small, large], 8)
    assert found is not None and (found.source, found.result) == (1, 2)
    assert best_pair([], [small], 8) is None
    last = Source(3, 8 * 16, 16, (replace(reader, path=Path(0, 0, 8)),))
    assert best_pair([result], [last], 8) is None  # all of it is needed to the end


def test_before_the_loop_the_image_alone_is_live() -> None:
    """Storage 1 has an image of 64 bytes, and the result of 256 that begins 192 before it."""

    def tensor(name: str, size: int, storage: int, offset: int = 0) -> Tensor:
        return Tensor(name, "u8", (size,), Location("arena", storage, offset))

    tensors = (
        tensor("x", 64, 0), tensor("image", 64, 1, 192), tensor("y", 256, 1), tensor("z", 8, 2),
        Tensor("counter", "i64", (), Location("arena", 3)),
    )  # fmt: skip
    calls = (
        Call(0, (0, 1), 1), Call(0, (0, 3), 1), Loop(4, over=(1, 2), overlap=192),
        Call(0, (1, 2), 1), End(), Call(0, (2, 3), 1),
    )  # fmt: skip
    kernels = (Kernel("k", source="x"),)
    program = Program(
        "m", "portable", (Port("x", 0),), (Port("z", 3),), tensors, kernels, calls, ()
    )
    assert shared_by_loops(program, tensors) == {1}
    (part,) = live_parts(tensors, (1, 2), touches(program), (0, 5))
    assert part == LiveBytes(0, 2, 192, 256)
    problem, storages = problem_of(program)
    block = problem.intervals[storages.index(1)]
    assert block.size == 256 and block.gaps == (Gap(0, 2, (192, 256)),)
    assert Storages(program).pressure("caller") == [64, 64, 264, 264, 264, 256]
