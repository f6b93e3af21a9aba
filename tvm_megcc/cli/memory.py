"""Options about memory, and how their values are read.

Example
-------
>>> size("--memory-limit", "256Ki"), pools("sram:256K,psram")
(262144, (('sram', 262144), ('psram', None)))
"""

from __future__ import annotations

import argparse
import re
from decimal import Decimal

from tvm_megcc.cli import options
from tvm_megcc.errors import InputError
from tvm_megcc.memory_options import IO_PLACES, MemoryOptions

#: As in linker scripts and data sheets of memories: K and Ki are the same.
UNITS = {"": 1, "K": 1 << 10, "Ki": 1 << 10, "M": 1 << 20, "Mi": 1 << 20}

#: The planners worth naming; `tvm_megcc.memory.PLANNERS` has some more.
NAMED = ("auto", "pushdown", "greedy-size", "greedy-conflicts", "storage-allocator", "exact")


def add(parser: argparse.ArgumentParser) -> None:
    """Options of every command that plans memory."""
    group = parser.add_argument_group(
        "memory", "Sizes are bytes; K and Ki are 1024 of them, M and Mi are 1048576."
    )
    group.add_argument(
        "--io",
        choices=IO_PLACES,
        default="caller",
        help="where inputs and outputs live: in the caller's buffers or in the arena; stream: an"
        " image comes in by rows, the other ports are the caller's (default: %(default)s)",
    )
    group.add_argument(
        "--clobber-inputs",
        action="store_true",
        help="with --io arena: use an input's space again after its last read, so that it must be"
        " written before each run",
    )
    group.add_argument(
        "--memory-planner",
        default="auto",
        metavar="NAME",
        help=f"{', '.join(NAMED)} (default: %(default)s, the best of all)",
    )
    group.add_argument(
        "--memory-time",
        type=float,
        default=5.0,
        metavar="SECONDS",
        help="for the planners that search (default: %(default)g)",
    )
    group.add_argument(
        "--memory-limit", metavar="SIZE", help="fail if the arena is larger, as in 256K"
    )
    group.add_argument(
        "--memory-pools",
        metavar="POOLS",
        help='several arenas with their sizes, the best first, as in "sram:256K,psram:8M"; one'
        " without a size is as large as needed",
    )
    group.add_argument(
        "--threads",
        type=options.count,
        default=1,
        metavar="N",
        help="plan memory for up to N threads; fewer work, too (default: %(default)s)",
    )

    group.add_argument(
        "--stream",
        type=_stream,
        metavar="auto|off|N",
        help="run calls over an image in bands of rows: where that lowers the arena, not at all, or"
        " N rows a band (default: where the arena would not fit otherwise)",
    )


def _stream(text: str) -> str | int:
    """``auto``, ``off``, or rows of a band."""
    if text in ("auto", "off"):
        return text
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is none of auto, off and rows of a band")
    return int(text)


def read(args: argparse.Namespace) -> MemoryOptions:
    """The arguments as `MemoryOptions`.

    Raises InputError if a size or the pools cannot be read, or options do not go together.
    """
    if args.clobber_inputs and args.io != "arena":
        raise InputError("--clobber-inputs: inputs are the caller's; add --io arena")
    return MemoryOptions(
        planner=args.memory_planner,
        time_limit=args.memory_time,
        limit=None if args.memory_limit is None else size("--memory-limit", args.memory_limit),
        pools=() if args.memory_pools is None else pools(args.memory_pools),
        clobber_inputs=args.clobber_inputs,
        threads=args.threads,
        stream=args.stream,
    )


def size(option: str, text: str) -> int:
    """Bytes of ``1500``, ``256K``, ``1.5Mi``."""
    match = re.fullmatch(r"(\d+|\d*\.\d+)([KM]i?|)", text.strip())
    if not match:
        raise InputError(f"{option}: {text!r} is no size; write bytes, or 256K, 8M")
    return int(Decimal(match[1]) * UNITS[match[2]])


def pools(text: str) -> tuple[tuple[str, int | None], ...]:
    """Read ``--memory-pools``: name and size, or name alone, with commas between."""
    found: dict[str, int | None] = {}
    for word in text.split(","):
        name, colon, amount = (part.strip() for part in word.partition(":"))
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise InputError(
                f'--memory-pools: cannot read {word.strip()!r}; write it like "sram:256K,psram"'
            )
        if name in found:
            raise InputError(f"--memory-pools: pool {name!r} is given twice; give it once")
        found[name] = size("--memory-pools", amount) if colon else None
    return tuple(found.items())
