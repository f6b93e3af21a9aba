"""A ``tvmc`` that need not import TVM: a child of a process that has imported it.

`serving` starts that process and gives a folder with the command for the front of a PATH. Each call
runs in a process of its own, with the folder, environment and files of its caller; only the 2.4 s
of CPU are saved that the imports take. README's examples, `tests/cli` and `tests/test_wheel.py`
start the installed ``tvmc``.

    prefork.py serve SOCKET               answer until standard input ends
    prefork.py run SOCKET [argument ...]  have a command run
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_STATUS = struct.Struct("i")


@contextmanager
def serving(folder: Path) -> Iterator[Path]:
    """A folder with such a ``tvmc``, which works until the end of the `with` statement."""
    path = folder / "socket"
    run = [sys.executable, "-ISE", str(Path(__file__).resolve()), "run", str(path)]
    command = folder / "bin" / "tvmc"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {" ".join(map(repr, run))} "$@"\n')
    command.chmod(0o755)
    with subprocess.Popen(
        [sys.executable, __file__, "serve", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdout is not None and server.stdin is not None
        server.stdout.readline()  # it listens
        try:
            yield command.parent
        finally:
            server.stdin.close()


def serve(path: str) -> None:
    """Answer on a Unix socket, each command in a child process, until standard input ends."""
    import select

    import onnx  # noqa: F401
    import tvm  # noqa: F401

    from tvm_megcc import driver, execute, pipeline  # noqa: F401
    from tvm_megcc.kernels import registry

    registry.kernels()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that answer
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        gc.collect()
        gc.freeze()  # children share what is loaded as long as nobody writes to it
        print("listening", flush=True)
        while sys.stdin not in select.select([listening, sys.stdin], [], [])[0]:
            connection, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                _answer(connection)
            connection.close()


def _answer(connection: socket.socket) -> None:
    """Run one command in a child of this process, and send its exit status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    message, fds, _, _ = socket.recv_fds(connection, 1 << 20, 3)
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        connection.sendall(_STATUS.pack(os.waitstatus_to_exitcode(status)))
        os._exit(0)
    connection.close()
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
        os.close(fd)
    asked = json.loads(message)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")
    sys.argv = ["tvmc", *asked["words"]]
    from tvm_megcc.cli import main

    sys.exit(main())


def run(path: str, words: Sequence[str]) -> int:
    """Have a command run; its exit status, 128 and the signal's number after a signal."""
    asked = {"folder": os.getcwd(), "environment": dict(os.environ), "words": list(words)}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        socket.send_fds(connection, [json.dumps(asked).encode()], [0, 1, 2])
        status: int = _STATUS.unpack(connection.recv(_STATUS.size))[0]
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        sys.exit(run(sys.argv[2], sys.argv[3:]))
