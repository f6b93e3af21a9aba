"""Fixtures of the command line's tests: models, packages, and `tvmc` as a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tests.cli import tiny
from tvm_megcc.cli import main


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command left: exit status, standard output, standard error."""

    status: int
    out: str
    err: str

    def sentence(self) -> str:
        """The one line on standard error, with exit status 1."""
        lines = self.err.splitlines()
        assert self.status == 1 and len(lines) == 1, self.err
        assert "Traceback" not in self.err and "internal error" not in self.err, self.err
        return lines[0]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Built programs are shared by the tests of one session and by nobody else."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def tvmc(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    def run(*args: object) -> Ran:
        capsys.readouterr()
        status = main([str(arg) for arg in args])
        captured = capsys.readouterr()
        return Ran(status, captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.save(tiny.model(), tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="session")
def dynamic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.save(tiny.dynamic(), tmp_path_factory.mktemp("dynamic"))


@pytest.fixture(scope="session")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("inputs") / "in.npz"
    np.savez(path, **tiny.example()[0])
    return path


@pytest.fixture(scope="session")
def package(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model for the host; only to be read."""
    out = tmp_path_factory.mktemp("package") / "tiny"
    assert main(["compile", str(model), "-o", str(out)]) == 0
    return out


@pytest.fixture(scope="session")
def library(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("library") / "tiny.so"
    assert main(["compile", str(model), "-o", str(out)]) == 0
    return out
