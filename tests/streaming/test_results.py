"""Packages whose calls run in bands of rows compute what the others compute, to the bit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest

from scripts.tiny_networks import NETWORKS
from tests.fast import machines
from tvm_megcc import driver, execute
from tvm_megcc.errors import ToolError
from tvm_megcc.host import dump, package, toolchain
from tvm_megcc.memory_options import MemoryOptions
from tvm_megcc.streaming.line_buffers import MOST_ROWS

from . import running
from .images import chain, chains, network, open_network, pyramid

pytestmark = [pytest.mark.slow]


def outputs(
    model: onnx.ModelProto,
    folder: Path,
    arch: str,
    stream: str | int,
    threads: int = 1,
    feeds: Mapping[str, np.ndarray] | None = None,
) -> tuple[int, list[bytes]]:
    """Bytes of the arena, and the outputs' bytes; without `feeds`, inputs are random."""
    options = MemoryOptions(stream=stream, threads=threads)
    out = folder / f"{stream}_{threads}"
    driver.compile_model(model, out, archs=[arch], memory=options)
    opened = package.load(out)
    (facts,) = opened.manifest["per_arch"].values()
    rng = np.random.default_rng(1)
    drawn = {
        port.name: rng.standard_normal(port.shape).astype(np.float32) for port in opened.inputs
    }
    return facts["arena_bytes"], running.outputs(out, feeds or drawn, threads=threads)


@pytest.mark.parametrize("made", [network, chains])
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("arch", machines("host", "portable"))
def test_random_images(
    made: Callable[[int], onnx.ModelProto], seed: int, arch: str, tmp_path: Path
) -> None:
    """Of convolutions and their like, and of generated kernels."""
    model = made(seed)
    _, whole = outputs(model, tmp_path, arch, "off")
    for stream in (1 + seed % 3, 4):
        assert outputs(model, tmp_path, arch, stream)[1] == whole, stream


@pytest.mark.parametrize(
    ("made", "seed", "images"), [(network, 0, 2), (network, 1, 3), (network, 4, 2), (chains, 7, 3)]
)
@pytest.mark.parametrize("arch", machines("host", "portable"))
def test_batches(
    made: Callable[[int, int], onnx.ModelProto], seed: int, images: int, arch: str, tmp_path: Path
) -> None:
    """Image by image: line buffers begin anew for each."""
    model = made(seed, images)
    arena, whole = outputs(model, tmp_path, arch, "off")
    for stream in (1 + seed % 3, 4):
        smaller, found = outputs(model, tmp_path, arch, stream)
        assert found == whole and smaller < arena, stream


@pytest.mark.parametrize("arch", machines("host", "portable"))
def test_line_buffers_of_all_rows(arch: str, tmp_path: Path) -> None:
    """Their rows are found again by the next iteration, though none moves."""
    _, whole = outputs(pyramid(), tmp_path, arch, "off")
    for stream in (1, 2):
        assert outputs(pyramid(), tmp_path, arch, stream)[1] == whole, stream


#: Heights and widths, small ones and such that no band divides.
SIZES = ((9, 9), (13, 40), (24, 17), (37, 12), (64, 33))


@pytest.mark.parametrize(
    ("arch", "seed"), machines(*(("host", k) for k in (0, 2, 3, 12)), ("arm64", 9))
)
def test_images_of_any_size(arch: str, seed: int, tmp_path: Path) -> None:
    """One package of each kind for images of several heights and widths."""
    model = open_network(seed, ("h", "w") if seed % 3 else ("h", 48))
    dims = model.graph.input[0].type.tensor_type.shape.dim
    rng = np.random.default_rng(seed)
    feeds = [
        {"x": rng.standard_normal((1, dims[1].dim_value, h, w if seed % 3 else 48), np.float32)}
        for h, w in SIZES
    ]
    found = []
    for stream in ("off", 1 + seed % 3):
        out = tmp_path / str(stream)
        driver.compile_model(model, out, archs=[arch], memory=MemoryOptions(stream=stream))
        found.append(running.outputs_of_each(out, feeds))
        assert ("BAND_SIZED" in package.load(out).manifest["opcodes"]) == (stream != "off")
    assert found[0] == found[1]


def test_more_rows_than_bands_count(tmp_path: Path) -> None:
    """An image without bounds may be too high: a sentence, and the largest one runs."""
    model = chain()
    dims = model.graph.input[0].type.tensor_type.shape.dim
    dims[2].dim_param, dims[3].dim_value = "h", 1
    driver.compile_model(model, tmp_path / "p", memory=MemoryOptions(stream=2))
    with execute.opened(tmp_path / "p") as runnable:
        runnable.run({"x": np.ones((1, 3, MOST_ROWS, 1), np.float32)})
        with pytest.raises(ToolError, match=rf"{MOST_ROWS + 1} and {MOST_ROWS}; from input 'x'"):
            runnable.run({"x": np.ones((1, 3, MOST_ROWS + 1, 1), np.float32)})


@pytest.mark.parametrize("seed", range(16, 20))
@pytest.mark.parametrize("arch", machines("arm64", "armv7"))
def test_random_images_on_arm(seed: int, arch: str, tmp_path: Path) -> None:
    model = network(seed)
    whole, found = (outputs(model, tmp_path, arch, how)[1] for how in ("off", 1))
    assert found == whole


@pytest.mark.parametrize(
    ("arch", "name"), machines(("arm64", "vww"), ("armv7", "ic"), ("arm64", "kws"))
)
def test_tiny_networks_on_arm(name: str, arch: str, tmp_path: Path) -> None:
    """Quantised networks; tests/cortexm/test_streamed.py runs them on a Cortex-M."""
    model, feeds = NETWORKS[name].build(), NETWORKS[name].arrays()
    arena, whole = outputs(model, tmp_path, arch, "off", feeds=feeds)
    smaller, found = outputs(model, tmp_path, arch, "auto", feeds=feeds)
    assert found == whole and smaller < arena


@pytest.mark.parametrize("seed", range(20, 23))
def test_threads(seed: int, tmp_path: Path) -> None:
    """A band is split among threads as a whole call is."""
    model = network(seed)
    _, whole = outputs(model, tmp_path, "host", "off")
    assert outputs(model, tmp_path, "host", 4, threads=3)[1] == whole


@pytest.mark.parametrize(
    "model",
    [network(0, 2), chains(7, 1), network(1), open_network(3)],
    ids=["batch", "chains", "means", "any size"],
)
def test_what_calls_compute_is_put_together(model: onnx.ModelProto, tmp_path: Path) -> None:
    found = []
    for stream in ("off", 2):
        driver.compile_model(model, tmp_path / str(stream), memory=MemoryOptions(stream=stream))
        opened = package.load(tmp_path / str(stream))
        (port,) = opened.inputs
        shape = [{"h": 24, "w": 9}.get(dim, dim) for dim in port.shape]
        x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
        with dump.recorder(opened, toolchain.host_arch()) as recorder:
            records, _ = recorder.records({port.name: x})
        found.append([(r.call, r.name, r.array.shape, r.array.tobytes()) for r in records])
    assert found[0] == found[1]


@pytest.mark.parametrize("seed", range(23, 27))
def test_debug_builds_poison_nothing_that_is_read(seed: int, tmp_path: Path) -> None:
    """Where dead storages are filled with NaN."""
    model = network(seed)
    (given,) = (port.name for port in model.graph.input)
    results = []
    for stream in ("off", 1 + seed % 2):
        out = tmp_path / str(stream)
        driver.compile_model(model, out, memory=MemoryOptions(stream=stream))
        shape = package.load(out).inputs[0].shape
        feeds = {given: np.random.default_rng(2).standard_normal(shape).astype(np.float32)}
        flags = ["-DMEGCC_DEBUG"] if stream != "off" else []
        results.append(running.outputs(out, feeds, flags))
    assert results[0] == results[1]
