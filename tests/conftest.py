"""What all tests share: where the model corpus is, and which new models have begun to pass.

`tests/fast.py` is ``--fast`` and CPU times; `tests/together.py` keeps tests in one worker of xdist;
`tests/turns.py` is ``--turn``.
"""

from __future__ import annotations

import gc
import os
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

pytest_plugins = ["tests.fast", "tests.together", "tests.turns"]

# TVM's thread pool binds the thread that makes it to one core, and with it every compiler and
# program that this worker starts from then on. Read when the pool is made.
os.environ.setdefault("TVM_BIND_THREADS", "0")

#: Property of a passed report: a model that tests/models/expected.txt does not list yet.
GAINED = "gained"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--shared",
        type=Path,
        default=ROOT.parent / "shared",
        help="folder with models/ (the corpus) and tools/; default: beside the checkout",
    )
    parser.addoption(
        "--update-golden", action="store_true", help="write the files of tests/golden_files anew"
    )


@pytest.fixture(scope="session")
def shared(pytestconfig: pytest.Config) -> Path:
    """The shared folder; a test that asks for it skips where it is absent."""
    path: Path = pytestconfig.getoption("--shared")
    if not path.is_dir():
        pytest.skip(f"{path} is not there (--shared DIR)")
    return path


@pytest.fixture
def golden(pytestconfig: pytest.Config) -> Callable[[str, Mapping[str, str]], None]:
    """Compares texts with the golden files of a name."""
    from tests import golden as golden_files

    return partial(golden_files.check, update=pytestconfig.getoption("--update-golden"))


def pytest_collection_finish() -> None:
    """Modules and tests stay: the garbage collector need not look through them at every round.

    That is 15 % of what compiling a model takes.
    """
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    gained = defaultdict(list)
    for report in terminalreporter.stats.get("passed", []):
        for key, value in getattr(report, "user_properties", []):
            if key == GAINED:
                model, route = value
                gained[model].append(route)
    if gained:
        terminalreporter.section("models that pass and are not in tests/models/expected.txt")
        for model, routes in sorted(gained.items()):
            terminalreporter.line(f"{model}: {', '.join(routes)}")
