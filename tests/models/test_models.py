"""The trained models of the shared corpus, on every route.

``expected.txt`` names the models that must give their stored outputs on every route; losing one is
a failure. A model that is not listed may fail; one that passes is reported at the end of the run.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import corpus
import pytest
import routes
from test_dynamic import HEAVY

EXPECTED = Path(__file__).with_name("expected.txt")
#: Machines on which a model runs by turns.
EMULATED = ("arm64", "armv7")
#: Likewise of the routes over the package of the host.
BESIDE_HOST = (routes.POISON, routes.TVM)
#: Routes of a package one after the other.
ORDER = sorted(routes.ROUTES, key=lambda route: route in EMULATED)


def expected_models() -> list[str]:
    lines = (line.split("#")[0].strip() for line in EXPECTED.read_text().splitlines())
    return [line for line in lines if line]


def turns(model: corpus.Model, number: int) -> dict[str, tuple[int, int]]:
    """Routes of the model of this number that are in some runs only: each one's turn.

    Of four runs, one has the model on an emulated machine and one on another; of two, one has a
    route beside the host's and one another. A package of open sizes of a `HEAVY` model runs on
    arm64 in test_dynamic.py, so that one of fixed sizes runs on armv7 alone. All kernels are in
    tests/kernels.
    """
    found = {}
    for (first, second), n in ((EMULATED, 4), (BESIDE_HOST, 2)):
        found |= {first: (number % n, n), second: ((number + n // 2) % n, n)}
    if model.name in HEAVY:
        del found["arm64"]
    return found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if {"model", "route"} <= set(metafunc.fixturenames):
        folder = metafunc.config.getoption("--shared") / "models"
        models = corpus.load(folder) if folder.is_dir() else {}
        heavy_first = sorted(models.values(), key=lambda m: (-m.macs, m.name))
        rows = []
        for number, model in enumerate(heavy_first):
            turn = turns(model, number)
            for route in ORDER:
                if route not in EMULATED or route in turn:
                    marks = [pytest.mark.turn(*turn[route])] if route in turn else []
                    rows += [pytest.param(model, route, id=f"{model.name}-{route}", marks=marks)]
        # Together: a model's routes share its compilations.
        metafunc.parametrize(("model", "route"), rows)


#: The latest package; its folder goes when the next one takes the place.
_latest: dict[tuple[str, str], tuple[routes.Compiled, tempfile.TemporaryDirectory]] = {}


def _compiled(model: corpus.Model, route: str) -> routes.Compiled:
    arch = route if route in EMULATED else "host"
    key = model.name, arch
    if key not in _latest:
        _latest.clear()
        folder = tempfile.TemporaryDirectory(prefix=f"megcc_{model.name}_")
        _latest[key] = routes.Compiled(model, Path(folder.name), (arch,)), folder
    return _latest[key][0]


@pytest.mark.slow
@pytest.mark.together(by="model")
def test_model(model, route, record_property):
    missing = routes.missing_tools(route)
    if missing:
        pytest.skip(f"{route} needs {', '.join(missing)}")
    listed = model.name in expected_models()
    try:
        compiled = _compiled(model, route)
        wrong = [str(d) for d in compiled.check(route) if not d.ok]
        wrong += compiled.heavy() if route not in BESIDE_HOST else []  # once a package
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
