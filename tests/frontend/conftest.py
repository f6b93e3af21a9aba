"""The marker of the long sweep."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "models: sweep over the whole corpus, takes minutes")
