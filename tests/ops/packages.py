"""Small models from ONNX to the running package, under the sanitizers, beside ONNX Runtime."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper

from tvm_megcc import driver
from tvm_megcc.core.preference import DEFAULT, Preference
from tvm_megcc.host import package, toolchain

Arrays = Mapping[str, np.ndarray]

RNG = np.random.default_rng(0)

#: Programs that an architecture needs.
TOOLS = {
    "host": (),
    "arm64": ("aarch64-linux-gnu-gcc", "qemu-aarch64"),
    "armv7": ("arm-linux-gnueabihf-gcc", "qemu-arm"),
}


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[tuple[str, int, Sequence[Any]]],
    outputs: Sequence[tuple[str, int]],
    weights: Sequence[onnx.TensorProto] = (),
    opset: int = 17,
) -> onnx.ModelProto:
    """A model of these nodes, with rows of ``(name, type, dims)`` and ``(name, type)``."""
    ports = [helper.make_tensor_value_info(*row) for row in inputs]
    results = [helper.make_tensor_value_info(name, dtype, None) for name, dtype in outputs]
    graph = helper.make_graph(list(nodes), "g", ports, results, list(weights))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def check(proto: onnx.ModelProto, folder: Path, *feeds: Arrays) -> None:
    """Every answer equals ONNX Runtime's, under the sanitizers."""
    for found, want in answers(proto, folder, feeds):
        assert found.shape == want.shape
        np.testing.assert_array_equal(found, want)


def answers(
    proto: onnx.ModelProto, folder: Path, feeds: Iterable[Arrays], arch: str = "host"
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each feed and each output in order: our answer, and ONNX Runtime's. See `runner`."""
    run, session = runner(proto, folder, arch), ort.InferenceSession(proto.SerializeToString())
    for feed in feeds:
        found = run(feed)
        for port, want in zip(session.get_outputs(), session.run(None, feed), strict=True):
            yield found[port.name], want


def runner(
    proto: onnx.ModelProto, folder: Path, arch: str = "host", preference: Preference = DEFAULT
) -> Callable[[Arrays], Arrays]:
    """The model's package, built: arrays by name in, arrays by name out.

    Memory is poisoned when a tensor dies; on the host sanitizers watch it, other architectures are
    emulated. Skips where their tools are missing.
    """
    if missing := [tool for tool in TOOLS[arch] if not shutil.which(tool)]:
        pytest.skip(f"{arch} needs {', '.join(missing)}")
    driver.compile_model(proto, folder / "pkg", archs=(arch,), preference=preference)
    opened = package.load(folder / "pkg")
    on_host, arch = arch == "host", opened.choose(arch)
    # tests/kernels and tests/models compile with the flags of a package: here the graph is at test.
    # The sanitizers bring -O1; twice, no object would be one of another test's.
    flags = ["-DMEGCC_DEBUG", *([] if on_host else ["-O1"])]
    exe = toolchain.build(
        opened.path, arch, build_dir=folder / "build", sanitize=on_host, extra_cflags=flags
    )
    return lambda feed: toolchain.run_package(exe, arch, feed, opened.manifest).outputs


def signs(*shape: int) -> np.ndarray:
    return RNG.integers(-1, 2, shape).astype("float32")


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)
