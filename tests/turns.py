"""Tests that take turns: a run does some of them, and the runs of a few commits do all.

``turn(k, n)`` marks the k-th of n tests that cross what other tests hold already: a model on a
second emulated machine, a kernel with one more compiler. The commit decides whose turn it is, so a
run can be repeated; ``--turn K`` takes another turn, ``--turn all`` leaves nothing out.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
#: Leaves no test out.
ALL = "all"


def in_turn(n: int, values: Iterable[Any]) -> list[Any]:
    """Parameters of which each run takes one of n; what has marks keeps them."""
    params = (v if hasattr(v, "marks") else pytest.param(v) for v in values)
    return [
        pytest.param(*p.values, marks=[*p.marks, pytest.mark.turn(k, n)], id=p.id)
        for k, p in enumerate(params)
    ]


def turn_of_commit() -> str:
    """A number that the commit gives, "0" where there is none."""
    command = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    try:
        found = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return "0"
    return str(int(found.stdout[:8], 16)) if found.returncode == 0 else "0"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--turn",
        metavar="K|all",
        help="of the tests that take turns, those of turn K; default: a turn that the commit gives",
    )


def pytest_configure(config: pytest.Config) -> None:
    # Workers of xdist are given the options of the process that starts them, and so this one.
    config.option.turn = config.option.turn or turn_of_commit()
    if config.option.turn != ALL and not config.option.turn.isdecimal():
        raise pytest.UsageError(f"--turn {config.option.turn}: give a number or {ALL}")


def has_its_turn(item: pytest.Item, turn: str) -> bool:
    """Whether a test is to run: each of its marks says so, and one without a mark always runs."""
    places = (mark.args for mark in item.iter_markers("turn"))
    return turn == ALL or all((int(turn) - k) % n == 0 for k, n in places)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    others = {item for item in items if not has_its_turn(item, config.option.turn)}
    config.hook.pytest_deselected(items=[item for item in items if item in others])
    items[:] = [item for item in items if item not in others]


def pytest_report_header(config: pytest.Config) -> str:
    return f"turn: {config.option.turn} (--turn {ALL} leaves no test out)"
