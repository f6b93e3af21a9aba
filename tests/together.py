"""Keeps tests that share something expensive (a compiled model, a wheel) in one worker of xdist.

The mark says which: ``together`` joins tests of a module, ``together("zoo")`` tests of any modules,
``together(by="model")`` tests of a module whose parameter ``model`` is the same.
pytest-xdist 3.8's own ``xdist_group`` has no effect under pytest 9.2, and only workers see marks:
each writes the `unit` of its tests to a file, which the scheduler reads.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

#: Folder with one file for each worker: test -> unit.
UNITS = pytest.StashKey[Path]()


def unit(item: pytest.Item) -> str:
    """Tests with the same answer run in one worker, one after the other."""
    mark = item.get_closest_marker("together")
    values = getattr(getattr(item, "callspec", None), "params", {})
    by = mark.kwargs.get("by") if mark else None
    if mark is None or (by and by not in values):
        return item.nodeid
    scope = mark.args or [item.nodeid.partition("::")[0]]
    return "@".join([*scope, *([_name(values[by])] if by else [])])


def _name(value: object) -> str:
    """A parameter's name: a model and a target have one, others are their text."""
    return str(getattr(value, "name", value))


@pytest.hookimpl(tryfirst=True)  # before xdist tells the scheduler that this worker has its tests
def pytest_collection_finish(session: pytest.Session) -> None:
    if folder := getattr(session.config, "workerinput", {}).get("units"):
        units = {item.nodeid: unit(item) for item in session.items}
        Path(folder, session.config.workerinput["workerid"]).write_text(json.dumps(units))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    if UNITS not in node.config.stash:
        folder = tempfile.TemporaryDirectory(prefix="tvm_megcc.")
        node.config.add_cleanup(folder.cleanup)
        node.config.stash[UNITS] = Path(folder.name)
    node.workerinput["units"] = str(node.config.stash[UNITS])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object | None:
    if config.getoption("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        units: dict[str, str] = {}

        def _split_scope(self, nodeid: str) -> str:
            if nodeid not in self.units:  # a worker collects before it is given tests
                for path in config.stash[UNITS].iterdir():
                    self.units |= json.loads(path.read_text())
            return self.units[nodeid]

    return Scheduling(config, log)
