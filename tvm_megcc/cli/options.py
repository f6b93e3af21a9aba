"""Options that several subcommands share, and how their values are read.

Example
-------
>>> shapes("x:[1,3,224,224] y:[-1,80]")
{'x': (1, 3, 224, 224), 'y': (-1, 80)}
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from tvm_megcc.dims import Multiple, Symbol, read
from tvm_megcc.errors import InputError

if TYPE_CHECKING:
    from tvm_megcc.host.arrays import Arrays
    from tvm_megcc.host.package import Port

Dims = tuple[int | str | Symbol | Multiple, ...]

_CLEAR = "\r\x1b[K"  # to the start of the line, and erase it


def add_compiler(parser: argparse.ArgumentParser) -> None:
    """Add the option for the C compiler."""
    parser.add_argument(
        "--cc",
        "--cross-compiler",
        dest="compiler",
        metavar="CC",
        help="the C compiler to build with, and its flags (default: the machine's, by --arch)",
    )


def add_running(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """Options of every command that runs a package, or `several` of them."""
    parser.add_argument(
        "package",
        metavar="OUT",
        nargs="+" if several else None,
        help="what tvmc compile wrote: directory, .tar or .so",
    )
    parser.add_argument("--inputs", metavar="IN.npz", help="the inputs, by name")
    parser.add_argument(
        "--fill-mode",
        choices=("random", "zeros", "ones"),
        default="random",
        help="what the inputs are without --inputs (default: %(default)s, with a fixed seed)",
    )
    parser.add_argument(
        "--shapes",
        metavar="SHAPES",
        help='without --inputs, sizes of the inputs\' symbolic dims, as in "x:[1,3,320,320]"',
    )
    parser.add_argument(
        "--arch", metavar="A", help="of a package for several (default: this machine's)"
    )
    parser.add_argument(
        "--threads", type=count, default=1, metavar="N", help="threads that compute (default: 1)"
    )
    add_compiler(parser)


def check_running(args: argparse.Namespace) -> None:
    """Raise MegccError, before anything is built, for unusable options of `add_running`."""
    from tvm_megcc import execute
    from tvm_megcc.core.this_machine import host_arch
    from tvm_megcc.host import arrays, toolchain

    for path in args.package if isinstance(args.package, list) else [args.package]:
        execute.check(path, args.arch, threads=args.threads)
    if args.compiler is not None:
        toolchain.check_compiler(args.compiler, host_arch())
    if args.inputs is not None:
        if args.shapes is not None:
            raise InputError("--shapes is for inputs made up; with --inputs the arrays have shapes")
        arrays.names_of_npz(Path(args.inputs))
    shapes(args.shapes, "--shapes")


#: Refuses inputs of fixed shapes that a model does not take.
CheckShapes = Callable[[Sequence["Port"]], None]


def sized(args: argparse.Namespace, ports: Sequence[Port], check: CheckShapes) -> tuple[Port, ...]:
    """Ports with the sizes of ``--shapes``, after `check` has accepted them.

    The check comes before inputs are made: wrong sizes could ask for any amount of memory.
    """
    from tvm_megcc.host import arrays

    found = arrays.sized(ports, shapes(args.shapes, "--shapes"))
    if any(port.is_symbolic for port in ports):
        check(found)
    return found


def read_inputs(
    args: argparse.Namespace, ports: Sequence[Port], check: CheckShapes, seed: int = 0
) -> Arrays:
    """The inputs that ``--inputs`` and ``--fill-mode`` ask for."""
    from tvm_megcc.host import arrays

    if args.inputs is None:
        return arrays.fill(sized(args, ports, check), args.fill_mode, seed)
    return arrays.check(ports, arrays.read_npz(Path(args.inputs)), f"'{args.inputs}'")


def print_times(arch: str, times_ms: Sequence[float], emulated: bool) -> None:
    """Print the minimum and median in a line."""
    note = " (under qemu: says nothing about the device)" if emulated else ""
    print(
        f"{arch}: min {min(times_ms):.3f} ms, median {median(times_ms):.3f} ms,"
        f" {len(times_ms)} runs{note}"
    )


def words(text: str) -> tuple[str, ...]:
    """Words with commas between them."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def shapes(text: str | None, option: str = "--input-shapes") -> dict[str, Dims] | None:
    """Read ``--input-shapes`` or ``--shapes``; names may hold colons, dots and slashes.

    Raises InputError if the text is not of the form ``name:[dim,dim] name:[dim]``.
    """
    if text is None:
        return None
    result: dict[str, Dims] = {}
    rest = text.strip()
    while rest:
        match = re.match(r"(\S+?)\s*:\s*\[([^\[\]]*)\][\s,]*", rest)
        if not match:
            raise InputError(
                f'{option}: cannot read {rest!r}; write it like "x:[1,3,224,224] y:[-1,80]"'
            )
        if match[1] in result:
            raise InputError(f"{option}: input {match[1]!r} is given twice; give it once")
        dims = [dim.strip() for dim in match[2].split(",")] if match[2].strip() else []
        result[match[1]] = tuple(_dim(match[1], dim, option) for dim in dims)
        rest = rest[match.end() :]
    return result


def _dim(name: str, text: str, option: str) -> int | str | Symbol | Multiple:
    found = read(text)
    if not isinstance(found, str):
        return found
    if re.fullmatch(r"-1|\d+", text):
        return int(text)
    if text == "?":
        return -1
    if re.fullmatch(r"[A-Za-z_]\w*", text):
        return text
    raise InputError(
        f"{option}: dim {text!r} of input {name!r} is neither a size, nor -1, nor a word,"
        " nor bounds like 1..64, nor a multiple like 32*h or 32*(h=1..20)"
    )


def count(text: str) -> int:
    """An argparse type: a positive integer."""
    if not re.fullmatch(r"[1-9]\d*", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return int(text)


def count_or_none(text: str) -> int:
    """An argparse type: a number that may be 0."""
    return 0 if re.fullmatch(r"0+", text) else count(text)


def seed(text: str) -> int:
    """An argparse type: where random numbers begin."""
    if not re.fullmatch(r"\d+", text, re.ASCII) or int(text) >= 1 << 63:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0 to 2**63 - 1")
    return int(text)


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows in aligned columns."""
    table = [head, *rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(head))]
    for row in table:
        print("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip())


@contextmanager
def progress() -> Iterator[Callable[[str], None] | None]:
    """A line on the terminal: the present stage, and seconds since the start; none in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    line = _Line()
    try:
        yield line.tell
    finally:
        line.end()


class _Line:
    """The terminal's last line, painted again as time passes."""

    def __init__(self) -> None:
        self.begin = time.monotonic()
        self.text = ""
        self.ended = threading.Event()
        self.painter = threading.Thread(target=self._paint_on, daemon=True)
        self.painter.start()

    def tell(self, text: str) -> None:
        self.text = text
        self._paint()

    def end(self) -> None:
        self.ended.set()
        self.painter.join()
        print(_CLEAR, end="", file=sys.stderr, flush=True)

    def _paint_on(self) -> None:
        while not self.ended.wait(1.0):
            self._paint()

    def _paint(self) -> None:
        width = shutil.get_terminal_size().columns - 1
        line = f"[{time.monotonic() - self.begin:3.0f} s] {self.text}"
        print(f"{_CLEAR}{line[:width]}", end="", file=sys.stderr, flush=True)
