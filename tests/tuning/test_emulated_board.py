"""A board of another architecture: TVM's RPC server for aarch64, under qemu."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tvm_megcc import zoo
from tvm_megcc.core import user_cache
from tvm_megcc.tuning import session
from tvm_megcc.tuning.boards import Boards
from tvm_megcc.tuning.measuring import NoBoardError
from tvm_megcc.tuning.records import read

pytestmark = [pytest.mark.slow, pytest.mark.emulator, pytest.mark.network]

HERE = Path(__file__).resolve().parent
FOLDER = user_cache.folder("arm64-python")
PYTHON = None if FOLDER is None else FOLDER / "python"

#: Seconds until TVM is imported there.
PATIENCE_S = 300


@contextmanager
def process(*command: object) -> Iterator[int]:
    """A server beside this file, and the port that it prints."""
    with subprocess.Popen(
        list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdin is not None and running.stdout is not None
        try:
            yield int(running.stdout.readline())
        finally:
            running.stdin.close()
            running.kill()


@pytest.mark.skipif(
    PYTHON is None or not PYTHON.is_file(),
    reason="there is no Python for aarch64; scripts/emulated_board makes one (100 MB to load)",
)
@pytest.mark.skipif(
    not (shutil.which("aarch64-linux-gnu-gcc") and shutil.which("qemu-aarch64")),
    reason="needs a cross compiler and qemu",
)
def test_a_board_of_another_architecture_tunes(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    with (
        process(sys.executable, HERE / "rpc_tracker.py") as tracker,
        process(PYTHON, HERE / "rpc_server.py", tracker, "arm"),
    ):
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            try:
                Boards("arm64", "127.0.0.1", tracker, "arm")
                break
            except NoBoardError:
                time.sleep(1)
        report = session.tune_model(
            zoo.build("tiny_mlp"), path, arch="arm64", tracker=("127.0.0.1", tracker), key="arm",
            trials=1,
        )  # fmt: skip
    assert not report.stopped and not report.refused and report.after is not None
    records = read(path).records
    assert records and all(r.cost for r in records)
    assert {(r.task.machine, r.unit, r.device) for r in records} == {("arm64", "ns", "arm")}
