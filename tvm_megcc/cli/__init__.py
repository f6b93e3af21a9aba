"""The command line ``tvmc``: one file per subcommand, errors as one sentence.

Exit status: 0 when all went well, 1 with one sentence on standard error for anything that did not,
2 for a command line that argparse cannot read.

Example
-------
>>> main(["compile", "model.onnx", "-o", "model_pkg", "--arch", "arm64"])  # doctest: +SKIP
0
"""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from types import FrameType

from tvm_megcc.cli import (
    bench,
    chat,
    compare,
    compile,
    generate_text,
    inspect,
    kernels,
    list_boards,
    opt,
    quantize,
    run,
    tune,
)
from tvm_megcc.core.version import VERSION
from tvm_megcc.errors import MegccError

#: In the order of ``tvmc --help``. A module has HELP, ``arguments(parser)`` and ``run(args)``.
COMMANDS = {
    "compile": compile,
    "run": run,
    "generate": generate_text,
    "chat": chat,
    "compare": compare,
    "inspect": inspect,
    "bench": bench,
    "opt": opt,
    "kernels": kernels,
    "boards": list_boards,
    "quantize": quantize,
    "tune": tune,
}


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    top = argparse.ArgumentParser(
        prog="tvmc",
        description="Compile a neural network to a self-contained C package, run it, look into it.",
    )
    top.add_argument("--version", action="version", version=f"tvmc of tvm_megcc {VERSION}")
    _add_verbose(top, default=False)
    subparsers = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, module in COMMANDS.items():
        sub = subparsers.add_parser(name, help=module.HELP, description=module.HELP)
        # Without a default, so that one before the command is not taken back.
        _add_verbose(sub, default=argparse.SUPPRESS)
        module.arguments(sub)
    return top


def _add_verbose(to: argparse.ArgumentParser, default: object) -> None:
    to.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        default=default,
        help="show where an error came from, and all that a failing tool said",
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    args = parser().parse_args(argv)
    interrupts = _Interrupts()
    if argv is None:  # we are the program, not a function of somebody else's
        signal.signal(signal.SIGINT, interrupts)
        signal.signal(signal.SIGTERM, interrupts)
        if isinstance(sys.stdout, io.TextIOWrapper):  # names in a model are of any language
            sys.stdout.reconfigure(errors="backslashreplace")
        if not args.verbose:
            _silence_libraries()
    try:
        COMMANDS[args.command].run(args)
        sys.stdout.flush()
    except BrokenPipeError:  # `tvmc inspect ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (Exception, KeyboardInterrupt) as error:
        if interrupts.came or isinstance(error, KeyboardInterrupt):
            # Python ends by SIGINT, whatever is returned, where one came through the exec of a text
            # (as modules that are loaded make their dataclasses), until another text is run.
            exec("", {})
            return _fail("interrupted; nothing was left half-written", verbose=False)
        return _fail(_sentence(error), args.verbose)
    return 0


def _sentence(error: Exception) -> str:
    if isinstance(error, MegccError):
        return str(error)
    if isinstance(error, OSError):
        what = f"'{error.filename}': " if error.filename else ""
        return f"{what}{error.strerror or error}; check the file and the disk"
    summary = " ".join(str(error).split()).rstrip(".")[:300]
    if isinstance(error, MemoryError):
        return f"not enough memory ({summary or 'of this machine'}); give smaller sizes"
    return (
        f"internal error: {type(error).__name__}: {summary};"
        " run again with --verbose and report what it shows"
    )


def _fail(message: str, verbose: bool) -> int:
    if verbose:
        traceback.print_exc()
    print(f"tvmc: {message}", file=sys.stderr)
    return 1


class _Interrupts:
    """Lets SIGINT and SIGTERM unwind the stack, so that temporary files go away.

    Attributes
    ----------
    came : bool
        Whether one came: TVM makes an error without words of what is raised inside its calls.
    """

    def __init__(self) -> None:
        self.came = False

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        self.came = True
        raise KeyboardInterrupt


def _silence_libraries() -> None:
    """Keep standard error for our own sentences: TVM's C++ logs to its descriptor."""
    warnings.simplefilter("ignore")
    ours = os.dup(sys.stderr.fileno())
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    sys.stderr = os.fdopen(ours, "w", buffering=1, errors="backslashreplace")
