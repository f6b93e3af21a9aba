"""Which tests share a worker."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SPEC = importlib.util.spec_from_file_location("shared_conftest", ROOT / "tests" / "conftest.py")
CONFTEST = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(CONFTEST)

MODELS = "tests/models/test_models.py"
DYNAMIC = "tests/models/test_dynamic.py"
KERNELS = "tests/kernels/test_kernels.py"
BUILDS = "tests/models/test_builds.py"


@pytest.mark.parametrize(
    ("a", "b", "together"),
    [
        (f"{MODELS}::test_model[m_1-host]", f"{MODELS}::test_model[m_1-arm64]", True),
        (f"{MODELS}::test_model[m_1-host]", f"{MODELS}::test_model[m_2-host]", False),
        (f"{MODELS}::test_expected_models_exist", f"{MODELS}::test_model[m-host]", False),
        (f"{BUILDS}::test_builds_have_no_warning[a]", f"{BUILDS}::test_builds_zoo_x[b]", True),
        (f"{BUILDS}::test_builds_corpus[a]", f"{BUILDS}::test_builds_corpus[b]", False),
        ("tests/test_wheel.py::test_a", "tests/test_wheel.py::test_b", True),
        ("tests/test_driver.py::test_a", "tests/test_driver.py::test_b[c]", True),
        (f"{KERNELS}::test_kernel[host_gcc-a]", f"{KERNELS}::test_kernel[host_gcc-b_c]", True),
        (f"{KERNELS}::test_kernel[host_gcc-a]", f"{KERNELS}::test_kernel[arm64-a]", False),
        (f"{DYNAMIC}::test_a[m_1-host]", f"{DYNAMIC}::test_b[m_1]", True),
        (f"{DYNAMIC}::test_a[m_1-host]", f"{DYNAMIC}::test_a[m_2-host]", False),
        ("tests/test_zoo.py::test_a", "tests/test_zoo.py::test_b", False),
    ],
)
def test_conftest_keeps_together_what_shares_a_model(a, b, together):
    assert (CONFTEST.work_unit(a) == CONFTEST.work_unit(b)) is together


def test_conftest_xdist_takes_the_scheduler(pytester_run):
    """Two workers: the routes of a model all ran in one of them."""
    workers = pytester_run(2)
    assert len(workers) == 8
    for model in "ab":
        assert len({worker for name, worker in workers.items() if f"[{model}-" in name}) == 1


@pytest.fixture
def pytester_run(tmp_path):
    import re
    import subprocess
    import sys

    pytest.importorskip("xdist")

    def run(count: int) -> dict[str, str]:
        tests = tmp_path / "tests"
        tests.mkdir()
        (tmp_path / "pytest.ini").write_text("[pytest]\n")
        (tests / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
        (tests / "models").mkdir()
        (tests / "models" / "test_models.py").write_text(
            "import pytest, time\n"
            "@pytest.mark.parametrize('x', [f'{m}-{r}' for r in 'wxyz' for m in 'ab'])\n"
            "def test_model(x):\n    time.sleep(0.05)\n"
        )
        command = [sys.executable, "-m", "pytest", "-v", "-n", str(count), "--dist", "loadgroup"]
        said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout
        found = re.findall(r"\[(gw\d+)\].* PASSED (\S+)", said)
        assert found, said
        return {name: worker for worker, name in found}

    return run
