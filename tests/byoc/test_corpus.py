"""Models of the shared corpus in TVM's virtual machine: what their packages give, regions give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import tvm
from tvm import relax

import tvm_megcc
from tests.byoc.support import regions, values
from tests.models import corpus
from tests.tvm_target import LLVM
from tvm_megcc import frontend

pytestmark = pytest.mark.slow

#: Of each kind one: a detector, loops with open sizes, quantised (two forms), a stream, attention,
#: branches, half precision, an image that grows.
MODELS = (
    "blazeface_front", "crnn_coin_captcha", "mlptiny_ic_resnet8_int8", "micro_kws_qdq",
    "gtcrn_stream_simple", "tinybert_test", "silero_vad_v5", "squeezenet_fp16", "super_resolution",
)  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_model_is_regions(name: str, request: pytest.FixtureRequest) -> None:
    folder = Path(request.config.getoption("--shared")) / "models"
    models = corpus.load(folder) if folder.is_dir() else {}
    if name not in models:
        pytest.skip(f"{folder} has no model {name}")
    model = models[name]
    imported = frontend.from_onnx(onnx.load(model.path))
    mod = tvm_megcc.partition_for_megcc(imported.mod)
    assert regions(mod)
    mod = tvm_megcc.transform.CompileRegions()(mod)
    vm = relax.VirtualMachine(tvm.compile(mod, LLVM), tvm.cpu())
    for case in model.cases[:2]:
        given = case.inputs()
        # A scalar may be stored as one element.
        feed = [
            given[port.name] if port.shape else np.reshape(given[port.name], ())
            for port in imported.inputs
        ]
        found = values(vm["main"](*map(tvm.runtime.tensor, feed)))
        named = dict(zip([port.name for port in imported.outputs], found, strict=True))
        wrong = [str(d) for d in corpus.compare(named, case) if not d.ok]
        assert not wrong
