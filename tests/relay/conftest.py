"""Models for the tests of the Relay surface."""

from __future__ import annotations

import sys
from pathlib import Path

import onnx
import pytest

from tests.cli import tiny


@pytest.fixture(scope="session")
def model() -> onnx.ModelProto:
    return tiny.model()


@pytest.fixture(scope="session")
def model_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.save(tiny.model(), tmp_path_factory.mktemp("relay"))


@pytest.fixture
def fresh_python() -> list[str]:
    """A command that runs code in a new interpreter: for what depends on import order."""
    return [sys.executable, "-c"]
