"""Quantised models on machines with instructions for 8 bits, and what they weigh.

The models of the shared corpus that quantise, with the kernels of each set of features, under qemu.
"""

from __future__ import annotations

import corpus
import pytest
import routes
from test_models import expected_models

pytestmark = pytest.mark.slow

MACHINES = ("arm64+dotprod", "arm64+dotprod+i8mm")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    folder = metafunc.config.getoption("--shared") / "models"
    models = corpus.load(folder) if folder.is_dir() else {}
    listed = expected_models()
    rows = [m for m in models.values() if m.name in listed and m.is_quantised]
    metafunc.parametrize("model", [pytest.param(m, id=m.name) for m in rows])


def test_answers_and_weight_bytes(model, tmp_path) -> None:
    missing = routes.missing_tools("arm64")
    if missing:
        pytest.skip(f"arm64 needs {', '.join(missing)}")
    compiled = routes.Compiled(model, tmp_path, MACHINES)
    for machine in MACHINES:
        differences = compiled.check(machine)
        assert not [str(d) for d in differences if not d.ok]
    assert not compiled.heavy()
