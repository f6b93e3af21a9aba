"""Quantised models on machines with instructions for 8 bits, and what they weigh.

The models of the shared corpus that quantise, with the kernels of each set of features, under qemu.
"""

from __future__ import annotations

import corpus
import onnx
import pytest
import routes
from test_models import expected_models

from tvm_megcc.host import package

MACHINES = ("arm64+dotprod", "arm64+dotprod+i8mm")
#: Weights of a package may be so much larger than the model's file.
GROWTH = 1.1


def is_quantised(model: corpus.Model) -> bool:
    nodes = onnx.load(model.path, load_external_data=False).graph.node
    return any("Quantize" in n.op_type or "Integer" in n.op_type for n in nodes)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    folder = metafunc.config.getoption("--shared") / "models"
    models = corpus.load(folder) if folder.is_dir() else {}
    listed = expected_models()
    rows = [m for m in models.values() if m.name in listed and is_quantised(m)]
    metafunc.parametrize("model", [pytest.param(m, id=m.name) for m in rows])


def test_answers_and_weight_bytes(model, tmp_path) -> None:
    missing = routes.missing_tools("arm64")
    if missing:
        pytest.skip(f"arm64 needs {', '.join(missing)}")
    compiled = routes.Compiled(model, tmp_path, MACHINES)
    for machine in MACHINES:
        differences = compiled.check(machine)
        assert not [str(d) for d in differences if not d.ok]
    size = model.path.stat().st_size
    for entry in compiled.sets:
        manifest = package.load(entry.package).manifest
        for arch, row in manifest["per_arch"].items():
            assert row["weight_bytes"] <= GROWTH * size, arch
