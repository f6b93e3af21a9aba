"""Measuring on devices through TVM's RPC: a tracker, a key, and all boards that have it.

Enters: a program. Leaves: a `Run`, of whichever board was free. A TVM library is built here,
uploaded, and measures itself there (its method ``times``), so that a device needs TVM's runtime and
nothing of ours. A board that dies or hangs is left alone, and another one asked.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from tvm_megcc.codegen_c import emit
from tvm_megcc.core.program import Bundle, Program
from tvm_megcc.errors import InputError, MegccError, ToolError
from tvm_megcc.host import shared_library, toolchain
from tvm_megcc.tuning.measuring import REPEAT, Arrays, NoBoardError, Run, by_call, middle

T = TypeVar("T")

#: Seconds for what is no model's run: to be told of a free board, to upload.
REPLY_S = 10.0
#: How long one waits for a board that others use.
BUSY_S = 300.0
#: Boards that are asked before a program counts as one that does not run.
ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Boards:
    """The devices that a tracker has for a key; InputError if there is no tracker or no board."""

    arch: str
    host: str
    port: int
    key: str
    unit: str = "ns"

    def __post_init__(self) -> None:
        toolchain.find_compiler(self.arch)
        self.count()

    @property
    def device(self) -> str:
        return self.key

    @property
    def slots(self) -> int:
        """The number of programs that can be measured at once."""
        return self.count()

    def count(self) -> int:
        """The number of boards; InputError or NoBoardError if there are none."""
        try:
            socket.create_connection((self.host, self.port), REPLY_S).close()  # TVM would wait
            from tvm import rpc

            tracker = bounded(lambda: rpc.connect_tracker(self.host, self.port), REPLY_S)
            summary = bounded(tracker.summary, REPLY_S)
            tracker.close()
        except Exception as error:
            raise InputError(
                f"there is no RPC tracker at {self.host}:{self.port} ({_words(error)}); start one"
                f" with python -m tvm.exec.rpc_tracker --port {self.port}"
            ) from error
        keys = [str(row["key"]).removeprefix("server:") for row in summary["server_info"]]
        if self.key not in keys:
            others = f"only {', '.join(sorted(set(keys)))}" if keys else "nor any other"
            raise NoBoardError(
                f"the tracker at {self.host}:{self.port} has no board with the key '{self.key}',"
                f" {others}; start python -m tvm.exec.rpc_server --tracker"
                f" {self.host}:{self.port} --key {self.key} on one"
            )
        return keys.count(self.key)

    def run(
        self, program: Program | Bundle, cases: Sequence[Arrays], limit: float | None, folder: Path
    ) -> list[Run]:
        folder.mkdir(parents=True, exist_ok=True)
        library = folder / f"{emit.c_name(program.name)}_{threading.get_ident():x}.so"
        shared_library.build(
            emit.package({self.arch: program}, name=program.name), self.arch, library
        )
        problem = ""
        for _ in range(ATTEMPTS):
            self.count()
            try:
                session = self._free_board(limit)
                seconds = REPLY_S * 3 + (limit or BUSY_S) * max(1, len(cases))
                return bounded(partial(_measured, session, library, cases), seconds)
            except NoBoardError:
                raise
            except MegccError as error:
                problem = str(error)
            except Exception as error:  # what TVM raises says little of what went wrong
                problem = f"a board did not finish: {_words(error)}"
        self.count()
        raise ToolError(problem)

    def _free_board(self, limit: float | None) -> Any:
        from tvm import rpc

        def asked() -> Any:
            tracker = rpc.connect_tracker(self.host, self.port)
            timeout = int(limit or BUSY_S) + 1
            return tracker.request(self.key, session_timeout=timeout, max_retry=1)

        begin = time.monotonic()
        waiting = _started(asked)
        while not wait([waiting], 1.0).done:
            self.count()
            if time.monotonic() - begin > BUSY_S:
                raise NoBoardError(
                    f"no board with the key '{self.key}' became free in {BUSY_S:.0f} seconds"
                )
        return waiting.result()


def _measured(session: Any, library: Path, cases: Sequence[Mapping[str, np.ndarray]]) -> list[Run]:
    """Run each case on one board."""
    import tvm

    session.upload(str(library))
    execution = session.load_module(library.name)["default"](session.cpu())
    found = []
    for inputs in cases:
        for name, array in inputs.items():
            execution("set_input", name, tvm.runtime.tensor(array, session.cpu()))
        rows = [line.split() for line in str(execution("times", REPEAT)).splitlines()]
        whole = [float(ns) for who, ns in rows if who == "-1"]
        calls = [(int(who), float(ns)) for who, ns in rows if who != "-1"]
        count = int(execution("get_num_outputs"))
        outputs = {
            str(execution("get_output_name", k)): execution("get_output", k).numpy()
            for k in range(count)
        }
        costs = by_call([who for who, _ in calls], [ns for _, ns in calls])
        found.append(Run(*middle(whole), costs, outputs))
    session.remove(library.name)
    return found


def _started(function: Callable[[], T]) -> Future[T]:
    """A function that runs in a thread of its own, which is abandoned if it never returns."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def bounded(function: Callable[[], T], seconds: float) -> T:
    """The result of a function; ToolError if it takes longer than the limit."""
    waiting = _started(function)
    if not wait([waiting], seconds).done:
        raise ToolError(f"no reply within {seconds:.0f} seconds")
    return waiting.result()


def _words(error: BaseException) -> str:
    """The last line of TVM's long messages that has text."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:200]


def address(text: str) -> tuple[str, int]:
    """Read ``HOST:PORT``; InputError for other text."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdigit():
        raise InputError(f"--rpc-tracker: {text!r} is no HOST:PORT, as in 192.168.1.2:9190")
    return host, int(port)
