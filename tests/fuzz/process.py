"""A Python process that answers requests; whatever it dies of, the one that asks lives on.

Requests and replies are pickles with their lengths before them, from stdin and to stdout.
"""

from __future__ import annotations

import os
import pickle
import select
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


class Died(Exception):
    """The process died of a request, or had to be ended."""


class Process:
    """A process that is started with the first request, and again when it has died.

    Parameters
    ----------
    entry : str
        The Python that it runs, which ends in `serve`.
    log : path
        What it writes to stderr since it was started; by default nobody reads that.
    """

    def __init__(self, entry: str, log: Path = Path(os.devnull)) -> None:
        self.entry, self.log = entry, log
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, request: tuple[object, ...], seconds: float) -> Any:
        """The reply to a request.

        Raises
        ------
        Died
            There is none, or none within so many seconds.
        """
        if self._process is None:
            with self.log.open("wb") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-c", self.entry],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, cwd=ROOT,
                )  # fmt: skip
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        try:
            _write(process.stdin, request)
            ready, _, _ = select.select([process.stdout], [], [], seconds)
            if ready:
                return _read(process.stdout)
            how = "does not end"
        except (BrokenPipeError, EOFError):
            how = f"died with status {process.wait()}"
        self.close()
        raise Died(how)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def serve(reply: Callable[..., object]) -> None:
    """Reply to requests until there are no more, or whoever asks has died."""
    threading.Thread(target=_outlive_nobody, args=(os.getppid(),), daemon=True).start()
    # What is printed meanwhile must not come between the replies.
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            request = _read(sys.stdin.buffer)
        except EOFError:
            return
        _write(sink, reply(*request))


def _outlive_nobody(parent: int) -> None:
    """End the process when its parent has ended: what it computes may have no end."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _write(pipe: Any, content: object) -> None:
    data = pickle.dumps(content, protocol=5)
    pipe.write(struct.pack("<I", len(data)) + data)
    pipe.flush()


def _read(pipe: Any) -> Any:
    head = pipe.read(4)
    if len(head) < 4:
        raise EOFError
    (length,) = struct.unpack("<I", head)
    data = pipe.read(length)
    if len(data) < length:
        raise EOFError
    return pickle.loads(data)
