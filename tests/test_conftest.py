"""The plugins of the tests: which tests share a worker, which are fast, what ``--fast`` refuses."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import fast

ROOT = Path(__file__).resolve().parents[1]

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run pytest with both plugins on a module of tests; its output."""

    def run(source: str, *options: str) -> str:
        (tmp_path / "pytest.ini").write_text(
            "[pytest]\nmarkers =\n"
            + "".join(f"    {m}\n" for m in (*fast.LEFT_OUT, "together", "turn"))
        )
        plugins = ["tests.fast", "tests.together", "tests.turns"]
        (tmp_path / "conftest.py").write_text(f"pytest_plugins = {plugins}\n")
        (tmp_path / "test_some.py").write_text(f"import pytest\n{source}")
        command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *options]
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, env=_environment()
        )
        return done.stdout + done.stderr

    return run


def _environment() -> dict[str, str]:
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


TOGETHER = """
@pytest.mark.together(by="model")
@pytest.mark.parametrize("route", "wxyz")
@pytest.mark.parametrize("model", "ab")
def test_model(model, route): pass

@pytest.mark.together(by="model")
def test_of_no_model(): pass

@pytest.mark.together("built")
@pytest.mark.parametrize("x", "cd")
def test_first(x): pass

@pytest.mark.together("built")
@pytest.mark.parametrize("x", "cd")
def test_second(x): pass

@pytest.mark.parametrize("x", range(8))
def test_alone(x): pass
"""


@pytest.mark.slow
def test_conftest_keeps_together_what_shares_something(run: Run) -> None:
    pytest.importorskip("xdist")
    said = run(TOGETHER, "-n", "2", "--dist", "loadgroup")
    workers = {name: worker for worker, name in re.findall(r"\[(gw\d)\].* PASSED (\S+)", said)}
    assert len(workers) == 21, said
    for part in ("[a-", "[b-", "test_first", "test_second"):
        assert len({worker for name, worker in workers.items() if part in name}) == 1, said
    built = {workers[f"test_some.py::test_{name}[c]"] for name in ("first", "second")}
    assert len(built) == 1 and len(set(workers.values())) == 2, said


TURNS = """
from tests.turns import in_turn

@pytest.mark.parametrize("x", in_turn(3, [*"abcd", pytest.param("e", id="last")]))
def test_turn(x): pass

def test_always(): pass
"""


@pytest.mark.slow
def test_each_test_has_its_turn(run: Run) -> None:
    def ran(*options: str) -> list[str]:
        return re.findall(r"::test_(\w+(?:\[\w+\])?) PASSED", run(TURNS, *options))

    turns = [["turn[a]", "turn[d]", "always"], ["turn[b]", "turn[last]", "always"]]
    assert ran("--turn", "0") == turns[0]
    assert ran("--turn", "4") == turns[1]
    assert len(ran("--turn", "all")) == 6
    assert ran() in [*turns, ["turn[c]", "always"]]  # the commit's
    assert "--turn two: give a number or all" in run(TURNS, "--turn", "two")


MARKED = """
@pytest.mark.slow
def test_slow(): pass

@pytest.mark.parametrize("arch", ["host", pytest.param("arm64", marks=pytest.mark.emulator)])
def test_on(arch): pass
"""


@pytest.mark.slow
def test_fast_leaves_out_what_is_marked(run: Run) -> None:
    said = run(MARKED, "--fast", "--cpu-durations", "1")
    assert "1 passed, 2 deselected" in said and "test_on[host] PASSED" in said
    assert re.search(r"^\d+ s in all, 0 s in 1 tests$", said, re.M)
    assert "3 passed" in run(MARKED)


USES = """
import contextlib, subprocess, socket

def start(*command):
    with contextlib.suppress(OSError):
        subprocess.run(command)

@pytest.fixture
def emulated(): start("qemu-arm", "--version")

def test_starts(): start("/nowhere/qemu-arm", "program")
def test_starts_by_a_fixture(emulated): pass
def test_opens():
    with socket.socket() as s: s.connect_ex(("127.0.0.1", 9))
def test_plain(): start("true")
"""


@pytest.mark.slow
def test_fast_refuses_what_is_not_marked(run: Run) -> None:
    said = run(USES, "--fast")
    assert "2 failed, 1 passed, 1 error" in said, said
    assert "uses /nowhere/qemu-arm: mark the test with pytest.mark.emulator" in said
    assert "uses ('127.0.0.1', 9): mark the test with pytest.mark.network" in said
    assert "4 passed" in run(USES)


@pytest.mark.parametrize(
    ("command", "mark"),
    [
        (["/usr/bin/qemu-aarch64", "-cpu", "max", "a.out"], "emulator"),
        (["timeout", "9", "qemu-system-arm"], "emulator"),
        (["chromium", "--headless"], "browser"),
        (["make", "-C", "qemu"], ""),
    ],
)
def test_fast_knows_programs(command: list[str], mark: str) -> None:
    assert fast.mark_of(command) == mark


def test_fast_machines_marks_those_of_arm() -> None:
    rows = fast.machines("host", "arm64", ("armv7", 3))
    names = [[mark.name for mark in row.marks] for row in rows]
    assert names == [[], *[["emulator", "turn"]] * 2] and rows[2].values == ("armv7", 3)


def test_fast_marks_are_registered(pytestconfig: pytest.Config) -> None:
    known = {line.partition(":")[0].partition("(")[0] for line in pytestconfig.getini("markers")}
    assert {*fast.LEFT_OUT, "together"} <= known
