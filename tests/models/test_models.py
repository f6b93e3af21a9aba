"""The trained models of the shared corpus, on every route.

``expected.txt`` names the models that must give their stored outputs on every route; losing one is
a failure. A model that is not listed may fail; one that passes is reported at the end of the run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from itertools import cycle
from pathlib import Path

import corpus
import pytest
import routes
from test_dynamic import HEAVY

EXPECTED = Path(__file__).with_name("expected.txt")
#: Machines that share a package; the host's is apart, see `routes.SHARED`.
EMULATED = ("arm64", "armv7")
#: Routes of a package one after the other.
ORDER = sorted(routes.ROUTES, key=lambda route: route in EMULATED)


def expected_models() -> list[str]:
    lines = (line.split("#")[0].strip() for line in EXPECTED.read_text().splitlines())
    return [line for line in lines if line]


def emulated(models: Iterable[corpus.Model]) -> dict[str, tuple[str, ...]]:
    """The machines of `EMULATED` on which each model runs here.

    Those that take long under qemu run on one, in turn; on both run the smaller ones, and all
    kernels in tests/kernels. A package of open sizes of a `HEAVY` one runs on arm64 in
    test_dynamic.py, that of fixed sizes on armv7.
    """
    found, turns = {}, cycle(EMULATED)
    for model in sorted(models, key=lambda m: m.name):
        if model.name in HEAVY:
            found[model.name] = ("armv7",)
        elif model.macs > routes.LIGHT_MACS:
            found[model.name] = (next(turns),)
        else:
            found[model.name] = EMULATED
    return found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if {"model", "route"} <= set(metafunc.fixturenames):
        folder = metafunc.config.getoption("--shared") / "models"
        models = corpus.load(folder) if folder.is_dir() else {}
        machines = emulated(models.values())
        heavy_first = sorted(models.values(), key=lambda m: (-m.macs, m.name))
        metafunc.parametrize(
            ("model", "route", "machines"),
            [
                # Together: a model's routes share its compilations.
                pytest.param(m, r, machines[m.name], id=f"{m.name}-{r}")
                for m in heavy_first
                for r in ORDER
                if r not in EMULATED or r in machines[m.name]
            ],
        )


#: The latest package; its folder goes when the next one takes the place.
_latest: dict[tuple[str, bool], tuple[routes.Compiled, tempfile.TemporaryDirectory]] = {}


def _compiled(model: corpus.Model, route: str, machines: tuple[str, ...]) -> routes.Compiled:
    key = model.name, route in EMULATED
    if key not in _latest:
        _latest.clear()
        folder = tempfile.TemporaryDirectory(prefix=f"megcc_{model.name}_")
        archs = machines if route in EMULATED else ("host",)
        _latest[key] = routes.Compiled(model, Path(folder.name), archs), folder
    return _latest[key][0]


@pytest.mark.slow
@pytest.mark.together(by="model")
def test_model(model, route, machines, record_property):
    missing = routes.missing_tools(route)
    if missing:
        pytest.skip(f"{route} needs {', '.join(missing)}")
    listed = model.name in expected_models()
    try:
        compiled = _compiled(model, route, machines)
        wrong = [str(d) for d in compiled.check(route) if not d.ok]
        wrong += compiled.heavy() if route in ("host", machines[0]) else []  # once a package
        problem = "; ".join(wrong)
    except Exception as error:
        if listed:
            raise
        problem = f"{type(error).__name__}: {error}"
    if problem and not listed:
        pytest.xfail(problem[:300])
    assert not problem
    if not listed:
        record_property("gained", (model.name, route))


def test_expected_models_exist(shared):
    """A name in the list that no model has would never be tested."""
    unknown = set(expected_models()) - set(corpus.load(shared / "models"))
    assert not unknown


def test_expected_list_is_sorted_and_unique():
    names = expected_models()
    assert names == sorted(set(names))
