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
#: Half a minute each under qemu: a package of open sizes runs on arm64 in test_dynamic.py, that of
#: fixed sizes on armv7 here.
ELSEWHERE = {(name, "arm64") for name in HEAVY}
#: Machines that share a package; the host's is apart, see `routes.SHARED`.
EMULATED = ("arm64", "armv7")
#: Routes by which the weights of a package are looked at, once for each package.
WEIGHED = ("host", EMULATED[0])
#: Routes of a package one after the other.
ORDER = sorted(routes.ROUTES, key=lambda route: route in EMULATED)


def expected_models() -> list[str]:
    lines = (line.split("#")[0].strip() for line in EXPECTED.read_text().splitlines())
    return [line for line in lines if line]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if {"model", "route"} <= set(metafunc.fixturenames):
        folder = metafunc.config.getoption("--shared") / "models"
        models = corpus.load(folder) if folder.is_dir() else {}
        heavy_first = sorted(models.values(), key=lambda m: (-m.macs, m.name))
        metafunc.parametrize(
            ("model", "route"),
            [
                # Together: a model's routes share its compilations.
                pytest.param(m, r, id=f"{m.name}-{r}")
                for m in heavy_first
                for r in ORDER
                if (m.name, r) not in ELSEWHERE
            ],
        )


#: The latest package; its folder goes when the next one takes the place.
_latest: dict[tuple[str, bool], tuple[routes.Compiled, tempfile.TemporaryDirectory]] = {}


def _compiled(model: corpus.Model, route: str) -> routes.Compiled:
    key = model.name, route in EMULATED
    if key not in _latest:
        _latest.clear()
        folder = tempfile.TemporaryDirectory(prefix=f"megcc_{model.name}_")
        emulated = tuple(arch for arch in EMULATED if (model.name, arch) not in ELSEWHERE)
        archs = emulated if route in EMULATED else ("host",)
        _latest[key] = routes.Compiled(model, Path(folder.name), archs), folder
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
        wrong += compiled.heavy() if route in WEIGHED else []
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
