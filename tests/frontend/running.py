"""Build small models, run them through the importer and stock TVM, compare with a reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import tvm
from onnx import helper
from tvm import relax

from tests.tvm_target import LLVM
from tvm_megcc.frontend import ImportedModel, from_onnx

Arrays = Mapping[str, np.ndarray]


def make_model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, tuple[str, Sequence[Any]]],
    outputs: Sequence[str],
    weights: Arrays | None = None,
    opset: int = 17,
    domains: Mapping[str, int] | None = None,
) -> onnx.ModelProto:
    """A model of one graph; ``inputs`` maps a name to its dtype and dims."""
    opsets = [helper.make_opsetid("", opset)]
    opsets += [helper.make_opsetid(domain, v) for domain, v in (domains or {}).items()]
    ports = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), list(dims)
        )
        for name, (dtype, dims) in inputs.items()
    ]
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    tensors = [onnx.numpy_helper.from_array(a, n) for n, a in (weights or {}).items()]
    graph = helper.make_graph(list(nodes), "graph", ports, results, tensors)
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    return onnx.shape_inference.infer_shapes(model)


def run(imported: ImportedModel, feeds: Arrays) -> list[np.ndarray]:
    """The outputs by stock TVM."""
    return run_machine(machine(imported), imported, feeds)


def machine(imported: ImportedModel) -> relax.VirtualMachine:
    """The model compiled by stock TVM, to be run at one size or at several."""
    return relax.VirtualMachine(tvm.compile(imported.mod, LLVM), tvm.cpu())


def run_machine(
    machine: relax.VirtualMachine, imported: ImportedModel, feeds: Arrays
) -> list[np.ndarray]:
    """The outputs of a compiled model."""
    result = machine["main"](*[tensor(np.asarray(feeds[p.name])) for p in imported.inputs])
    results = [result] if len(imported.outputs) == 1 else list(result)
    return [r.numpy() for r in results]


def tensor(array: np.ndarray) -> tvm.runtime.Tensor:
    """``tvm.runtime.tensor`` that keeps rank 0."""
    empty = tvm.runtime.empty(array.shape, str(array.dtype))
    return empty.copyfrom(np.require(array, requirements="C"))


def by_onnxruntime(model: onnx.ModelProto, feeds: Arrays) -> list[np.ndarray]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = ort.InferenceSession(model.SerializeToString(), options)
    return session.run(None, dict(feeds))


def assert_close(
    got: Sequence[np.ndarray], want: Sequence[np.ndarray], relative: float = 1e-5
) -> None:
    """Equal shapes and dtypes; integers equal, floats within ``relative`` of the largest."""
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        if a.dtype.kind in "biu" or not a.size:
            np.testing.assert_array_equal(a, b)
        else:
            bound = relative * max(1.0, float(np.abs(b[np.isfinite(b)]).max(initial=0)))
            np.testing.assert_allclose(a, b, rtol=relative, atol=bound)


def check(model: onnx.ModelProto, feeds: Arrays, relative: float = 1e-5) -> ImportedModel:
    """Import, run and compare with ONNX Runtime."""
    imported = from_onnx(model)
    assert_close(run(imported, feeds), by_onnxruntime(model, feeds), relative)
    return imported


def check_sizes(
    model: onnx.ModelProto, runs: Sequence[Arrays], relative: float = 1e-5
) -> ImportedModel:
    """Import once with symbolic dims, compare with ONNX Runtime at the sizes of every run."""
    imported = from_onnx(model)
    compiled = machine(imported)
    for feeds in runs:
        got = run_machine(compiled, imported, feeds)
        want = by_onnxruntime(model, feeds)
        assert_close(got, want, relative)
        symbols = {
            dim: size
            for port in imported.inputs
            for dim, size in zip(port.shape, feeds[port.name].shape, strict=True)
            if isinstance(dim, str)
        }
        for port, result in zip(imported.outputs, want, strict=True):
            assert [_number(dim, symbols) for dim in port.shape] == list(result.shape)
    return imported


def _number(dim: int | str, symbols: Mapping[str, int]) -> int:
    """A dim as an output says it, at these sizes."""
    functions = {"min": min, "max": max, "eq": lambda a, b: int(a == b), "lt": lambda a, b: a < b,
                 "stretch": lambda a, b: b if a == 1 else a}  # fmt: skip
    return dim if isinstance(dim, int) else int(eval(dim, {**functions, **symbols}))
