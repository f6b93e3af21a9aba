"""One run of the driver per target and session, for the kernels whose tests were selected.

``--fast`` compiles `FEW` instances of each kernel.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from harness import Target  # noqa: E402

#: Instances of each kernel that a fast run compiles.
FEW = 2

Complaints = Callable[[Target, str], list[str]]


@pytest.fixture(scope="session")
def complaints(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Complaints:
    """(target, kernel stem) -> what is wrong; builds and runs a target when first asked for it."""
    import runner

    from tvm_megcc.kernels import registry

    cache = getattr(request.config, "cache", None)  # None under -p no:cacheprovider
    cache_dir = Path(cache.mkdir("megcc_kernels") if cache else tmp_path_factory.mktemp("kernels"))
    selected: dict[str, set[str]] = {}
    for item in request.session.items:
        params = getattr(getattr(item, "callspec", None), "params", {})
        if {"target", "stem"} <= params.keys():
            selected.setdefault(params["target"].name, set()).add(params["stem"])
    done: dict[str, dict[str, list[str]]] = {}

    def ask(target: Target, stem: str) -> list[str]:
        if target.name not in done:
            fast = request.config.getoption("--fast", default=False)
            few = replace(target, most=FEW, portable=FEW) if fast else target
            files = [k for k in registry.kernels() if k.stem in selected[target.name]]
            done[target.name] = runner.run_target(few, files, cache_dir)
        return done[target.name][stem]

    return ask
