"""Tuning on boards: a real tracker and two servers, here in processes of their own."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pytest

from tests.tuning.support import compiler
from tvm_megcc import tuning
from tvm_megcc.core.preference import DEFAULT
from tvm_megcc.core.this_machine import host_arch
from tvm_megcc.errors import InputError, ToolError
from tvm_megcc.tuning import boards
from tvm_megcc.tuning.boards import Boards
from tvm_megcc.tuning.findings import Report
from tvm_megcc.tuning.job import Job
from tvm_megcc.tuning.measuring import NoBoardError
from tvm_megcc.tuning.records import read
from tvm_megcc.tuning.search import tune

pytestmark = pytest.mark.network

pytest.importorskip("tornado", reason="TVM's tracker needs tornado")
pytest.importorskip("psutil", reason="TVM's server needs psutil")

HERE = Path(__file__).resolve().parent


@contextmanager
def process(script: str, *args: object) -> Iterator[tuple[subprocess.Popen, int]]:
    """One of the scripts beside this file, and the port that it prints."""
    with subprocess.Popen(
        [sys.executable, HERE / script, *map(str, args)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as running:
        assert running.stdout is not None and running.stdin is not None
        try:
            yield running, int(running.stdout.readline())
        finally:
            running.stdin.close()
            running.kill()


@pytest.fixture(scope="module")
def tracker() -> Iterator[int]:
    with process("rpc_tracker.py") as (_, port):
        yield port


@pytest.fixture(scope="module")
def compile():
    return compiler("tiny_mlp", host_arch())


@contextmanager
def servers(tracker: int, key: str, count: int) -> Iterator[list[subprocess.Popen]]:
    with ExitStack() as stack:
        yield [stack.enter_context(process("rpc_server.py", tracker, key))[0] for _ in range(count)]


def ready(tracker: int, key: str, count: int) -> Boards:
    """The boards, as soon as the tracker knows so many."""
    for _ in range(100):
        try:
            found = Boards(host_arch(), "127.0.0.1", tracker, key)
            if found.slots == count:
                return found
        except NoBoardError:
            pass
        time.sleep(0.1)
    raise AssertionError(f"the tracker does not know {count} servers")


def job(compile, measurer: Boards, path: Path, **more) -> Job:
    x = np.zeros((1, 16), np.float32)
    program = compile()
    (port,) = program.inputs
    x = np.ones(program.tensors[port.tensor].shape, np.float32)
    return Job(compile, [{port.name: x}], DEFAULT, measurer, path, version="test", **more)


def refused_by_time(report: Report) -> bool:
    """Whether nothing was refused for more than its time.

    Of few and short runs: what looks faster by itself may not look so in the whole model.
    """
    return all("the whole model takes more" in text for text in report.refused)


def test_boards_tune_side_by_side(compile, tracker: int, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    with servers(tracker, "pair", 2):
        found = ready(tracker, "pair", 2)
        report = tune(job(compile, found, path, trials=2))
    assert not report.stopped and refused_by_time(report)
    assert report.rows and report.builds > 0 and report.after is not None
    records = read(path).records
    assert {(r.unit, r.device) for r in records} == {("ns", "pair")}
    assert all(record.cost for record in records if not record.why)
    assert sum(bool(record.why) for record in records) == len(report.refused)
    with tuning.apply_best(path) as known:
        compile()
    assert not known.notes()


def test_boards_one_that_dies_loses_nothing(compile, tracker: int, tmp_path: Path) -> None:
    """Of two boards one dies in the middle, then the other: what was measured is there."""
    path = tmp_path / "r.json"
    with servers(tracker, "frail", 2) as (first, second):
        found = ready(tracker, "frail", 2)
        lines: list[str] = []

        def tell(line: str) -> None:
            lines.append(line)
            if line.startswith("build 1 "):
                first.kill()
                first.wait()

        report = tune(job(compile, found, path, tell=tell, trials=2))
        assert not report.stopped and refused_by_time(report), report
        count = len(read(path).records)
        assert count == report.records > 0
        second.kill()
        second.wait()
        with pytest.raises(NoBoardError, match="has no board with the key 'frail'"):
            tune(job(compile, found, path))
    assert len(read(path).records) == count


def test_boards_that_are_not_there_are_one_sentence(tracker: int) -> None:
    with pytest.raises(InputError, match="there is no RPC tracker at 127.0.0.1:1 .*; start one"):
        Boards(host_arch(), "127.0.0.1", 1, "any")
    with pytest.raises(NoBoardError, match="no board with the key 'any'"):
        Boards(host_arch(), "127.0.0.1", tracker, "any")
    for text in ("here", ":9190", "here:", "here:port"):
        with pytest.raises(InputError, match="is no HOST:PORT"):
            boards.address(text)
    assert boards.address("::1:9190") == ("::1", 9190)


def test_boards_one_that_hangs_is_left_alone() -> None:
    forever = threading.Event()
    with pytest.raises(ToolError, match="no reply within 0 seconds"):
        boards.bounded(forever.wait, 0.1)
    forever.set()
    assert boards.bounded(lambda: 3, 1.0) == 3
