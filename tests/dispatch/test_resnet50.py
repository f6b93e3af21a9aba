"""RFC 4118's working example: ResNet50 with an open batch, dispatched by `log_dispatcher`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
import tvm
from tvm import relax

from tests.closeness import assert_close
from tests.tvm_target import LLVM
from tvm_megcc import relay, zoo
from tvm_megcc.core.this_machine import host_arch
from tvm_megcc.host import toolchain

pytestmark = pytest.mark.slow

BATCHES = (1, 2, 3, 7, 16)


def example(size: int, batches: Sequence[int]):  # noqa: ANN201
    """(dispatched module, parameters, batch -> (input, what ONNX Runtime says))."""
    image = (3, size, size)
    model = zoo.build("resnet50", batch="N", size=size)
    mod, params = relay.frontend.from_onnx(model, shape={"input": (relay.Any(), *image)})
    mod.dispatch("main", {"input": (relay.Any(), *image)}, relay.vm.log_dispatcher)
    session = ort.InferenceSession(model.SerializeToString())
    rng = np.random.default_rng(0)
    inputs = {b: rng.standard_normal((b, *image)).astype("float32") for b in batches}
    answers = {b: (x, session.run(None, {"input": x})[0]) for b, x in inputs.items()}
    return mod, params, answers


@pytest.mark.turn(0, 3)
def test_package(tmp_path: Path) -> None:
    mod, params, answers = example(224, BATCHES)
    lib = relay.build(mod, target="tvm_megcc", params=params)
    lib.save(tmp_path / "pkg", weights="bin")
    arch = host_arch()
    manifest = json.loads((tmp_path / "pkg/manifest.json").read_text())
    facts = manifest["per_arch"][arch]
    assert len(facts["functions"]) == 10  # nine buckets, and the fallback for a batch of 0
    exe = toolchain.build(tmp_path / "pkg", arch, build_dir=tmp_path / "build")
    for x, want in answers.values():
        result = toolchain.run_package(exe, arch, {"input": x}, manifest)
        assert_close(result.outputs["output"], want, 1e-4)
        assert f"arena: {lib.arena_bytes({'input': x.shape})} bytes" in result.stdout
    single = relay.build(*relay.frontend.from_onnx(zoo.build("resnet50"))[:1], params=params)
    alone = sum(len(w.data) for w in single.program.weights)
    assert facts["weight_bytes"] <= 1.03 * alone


@pytest.mark.turn(1, 3)
def test_virtual_machine() -> None:
    """Of small images, and few: TVM's own loops take seconds for one of 224 pixels."""
    mod, params, answers = example(64, (1, 2))
    bound = relax.transform.BindParams("main", params)(mod)
    vm = relax.VirtualMachine(tvm.compile(bound, LLVM), tvm.cpu())
    for x, want in answers.values():
        got = vm["main"](tvm.runtime.tensor(x)).numpy()
        assert_close(got, want, 1e-4)
