"""``pytest --fast``: the tests without a mark of `LEFT_OUT`, and the CPU time that each test takes.

``--fast`` also checks the marks: a test fails that starts an emulator or a browser, or opens a
connection, without the mark for it. The summary names the tests that should be marked ``slow``.
CPU time includes the compilers and programs that a test starts and waits for. It depends less than
wall time on what else the machine does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Sequence
from pathlib import PurePath
from typing import Any

import pytest

#: Tests with one of these marks are not fast.
LEFT_OUT = ("slow", "emulator", "network", "browser")

#: Seconds of CPU from which a test should be marked ``slow``.
SLOW_S = 1.0

#: Starts of program names, and the mark of a test that starts such a program.
PROGRAMS = {"qemu-": "emulator", "chromium": "browser"}

#: Property of a report: seconds of CPU of a test.
CPU = "cpu_s"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fast", action="store_true", help=f"leave out tests marked {', '.join(LEFT_OUT)}"
    )
    parser.addoption(
        "--cpu-durations", type=int, metavar="N", help="name the N tests that take most CPU time"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(CpuTimes(config))
    if config.getoption("--fast"):
        config.pluginmanager.register(Watch())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--fast"):
        left_out = [item for item in items if any(map(item.get_closest_marker, LEFT_OUT))]
        config.hook.pytest_deselected(items=left_out)
        kept = set(items).difference(left_out)
        items[:] = [item for item in items if item in kept]


def mark_of(command: Sequence[str]) -> str:
    """The mark that a test needs which starts this command, or "" for none."""
    names = [PurePath(word).name for word in command]
    return next((m for start, m in PROGRAMS.items() for n in names if n.startswith(start)), "")


def machines(*rows: Any) -> list[Any]:
    """Parameters, machine words or tuples that start with one: ``emulator`` marks those of Arm.

    Of several Arm machines each run has one, by turns.
    """
    words = [row[0] if isinstance(row, tuple) else row for row in rows]
    arm = [place for place, word in enumerate(words) if word.startswith("arm")]
    marks: list[list[pytest.MarkDecorator]] = [[] for _ in rows]
    for turn, place in enumerate(arm):
        marks[place] = [pytest.mark.emulator, pytest.mark.turn(turn, len(arm))]
    return [
        pytest.param(*(row if isinstance(row, tuple) else (row,)), marks=mark)
        for row, mark in zip(rows, marks, strict=True)
    ]


class Watch:
    """Fails a test that starts a program or opens a connection without the mark for it."""

    def __init__(self) -> None:
        self._used: dict[str, str] = {}  # mark -> program or address
        sys.addaudithook(self._hear)

    def _hear(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "subprocess.Popen":
            words = [args[1]] if isinstance(args[1], str | bytes | PurePath) else args[1]
            command = [os.fsdecode(word) for word in words]
            if mark := mark_of(command):
                self._used[mark] = command[0]
        elif event == "socket.connect" and isinstance(args[1], tuple):
            self._used["network"] = str(args[1])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        return (yield from self._checked(item))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        return (yield from self._checked(item))

    def _checked(self, item: pytest.Item) -> Generator[None, object, object]:
        self._used.clear()
        result = yield
        for mark, what in self._used.items():
            if not item.get_closest_marker(mark):
                pytest.fail(f"uses {what}: mark the test with pytest.mark.{mark}", pytrace=False)
        return result


def cpu_seconds() -> float:
    """CPU time of this process and of the children it has waited for, in seconds."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class CpuTimes:
    """Notes the CPU time of each test, and prints the sums at the end of the run."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._workers = 0.0
        self._tests: dict[str, float] = {}
        self._start = 0.0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._start = cpu_seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "teardown":
            report.user_properties.append((CPU, cpu_seconds() - self._start))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for key, value in report.user_properties:
            if key == CPU:
                self._tests[report.nodeid] = value

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[CPU] = cpu_seconds()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._workers += getattr(node, "workeroutput", {}).get(CPU, 0.0)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        fast, shown = (self._config.getoption(o) for o in ("--fast", "--cpu-durations"))
        if not fast and shown is None:
            return
        most = sorted(self._tests.items(), key=lambda row: -row[1])
        total = cpu_seconds() + self._workers
        tests = sum(self._tests.values())
        terminalreporter.section("CPU time")
        terminalreporter.line(f"{total:.0f} s in all, {tests:.0f} s in {len(most)} tests")
        for name, seconds in most[: shown or 0]:
            terminalreporter.line(f"{seconds:8.2f} s  {name}")
        for name, seconds in most if fast else ():
            if seconds > SLOW_S:
                terminalreporter.line(f"{seconds:8.2f} s  {name}: perhaps to be marked slow")
