"""Options for shapes that change: listed shapes, buckets, bounds.

Example
-------
>>> buckets("x:0=log(1,8),2=uniform(4,12,4) y:1=[1,2,4..8]")
{'x': {0: [(1, 2), (2, 4), (4, 8), (8, None)], 2: [(4, 8), (8, 12), (12, None)]}, 'y': {1: [(1, 2), (2, 3), (4, 9)]}}
"""  # noqa: E501 - a doctest's output is one line

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable

from tvm_megcc.cli import options
from tvm_megcc.dynamic_options import ARENAS, FALLBACKS, MAX_BUCKETS, DynamicOptions
from tvm_megcc.errors import InputError

Interval = tuple[int, int | None]

_FORM = 'write it like "data:0=log(1,64),2=uniform(128,512,128)" or "data:0=[1,2,4..8]"'


def add(parser: argparse.ArgumentParser) -> None:
    """Options of commands that compile a model whose shapes change."""
    group = parser.add_argument_group("changing shapes")
    group.add_argument(
        "--dispatch",
        metavar="BUCKETS",
        help='a program of its own for each bucket of sizes: "x:0=log(1,64),2=uniform(128,512,128)"'
        ' or exact sizes and ranges, "x:0=[1,2,4..8]"',
    )
    group.add_argument(
        "--fallback",
        choices=FALLBACKS,
        default="symbolic",
        help="what takes sizes between the buckets: a program for all sizes, or none"
        " (default: %(default)s)",
    )
    group.add_argument(
        "--max-buckets",
        type=options.count,
        default=MAX_BUCKETS,
        metavar="N",
        help="refuse more programs than this (default: %(default)s)",
    )
    group.add_argument(
        "--arena",
        choices=ARENAS,
        default="exact",
        help="fixed: one arena of known size does for all shapes, whose dims have bounds; exact:"
        " each shape takes what it needs (default: %(default)s)",
    )
    group.add_argument(
        "--distinct-dims",
        metavar="NAMES",
        help="names of an ONNX model's dims that do not make them equal, as in 'unk__*,batch'",
    )
    group.add_argument(
        "--quiet", action="store_true", help="no advice on dims of which more could be said"
    )


def read(args: argparse.Namespace) -> tuple[dict[str, options.Dims] | None, DynamicOptions]:
    """(input shapes, options) that the arguments ask for."""
    given = [options.shapes(text) or {} for text in args.input_shapes or ()]
    return (
        given[0] if len(given) == 1 else None,
        DynamicOptions(
            listed=tuple(given) if len(given) > 1 else (),
            buckets=buckets(args.dispatch) if args.dispatch else {},
            fallback=args.fallback,
            max_buckets=args.max_buckets,
            arena=args.arena,
            distinct_dims=options.words(args.distinct_dims or ""),
        ),
    )


def adviser(args: argparse.Namespace) -> Callable[[str], None]:
    """The function that prints advice to standard error, or nothing with ``--quiet``."""
    return lambda line: None if args.quiet else print(f"tvmc: hint: {line}", file=sys.stderr)


def buckets(text: str) -> dict[str, dict[int, list[Interval]]]:
    """Read ``--dispatch``; names may hold colons, dots and slashes. InputError for other text."""
    result: dict[str, dict[int, list[Interval]]] = {}
    rest = text.strip()
    axis = r"-?\d+\s*=\s*(?:log|uniform|\[)"
    while rest:
        match = re.match(rf"(\S+?)\s*:\s*(?={axis})", rest)
        if not match:
            raise InputError(f"--dispatch: cannot read {rest!r}; {_FORM}")
        name, rest = match[1], rest[match.end() :]
        axes = result.setdefault(name, {})
        while match := re.match(r"(-?\d+)\s*=\s*(log|uniform)?\s*([(\[][^)\]]*[)\]])?[\s,]*", rest):
            number, word, arguments = int(match[1]), match[2], match[3]
            if number in axes:
                raise InputError(f"--dispatch: axis {number} of {name!r} is given twice")
            axes[number] = _intervals(word, arguments or "()", match[0])
            rest = rest[match.end() :]
    return result


def _intervals(word: str | None, arguments: str, text: str) -> list[Interval]:
    from tvm_megcc.dispatch.dispatchers import log_dispatcher, uniform_dispatcher

    inside = arguments[1:-1].strip()
    if word is None:
        if not arguments.startswith("["):
            raise InputError(f"--dispatch: cannot read {text!r}; {_FORM}")
        return [_listed(item.strip(), text) for item in inside.split(",")]
    numbers = [int(n) for n in re.findall(r"\d+", inside)]
    if not re.fullmatch(r"(\d+\s*(,\s*\d+\s*)*)?", inside):
        raise InputError(f"--dispatch: cannot read {text!r}; {_FORM}")
    any_dim = {"": (None,)}
    if word == "log" and len(numbers) in (0, 2):
        maker = log_dispatcher(low=numbers[0], high=numbers[1]) if numbers else log_dispatcher
        return maker(any_dim)[""][0]
    if word == "uniform" and len(numbers) == 3:
        low, high, step = numbers
        return uniform_dispatcher(step=step, low=low, high=high)(any_dim)[""][0]
    raise InputError(f"--dispatch: {text!r} takes log(low,high) or uniform(low,high,step)")


def _listed(item: str, text: str) -> Interval:
    """Read ``4`` (a size), ``4..8`` (both included) or ``4..`` (from 4 on)."""
    match = re.fullmatch(r"(\d+)(?:(\.\.)(\d+)?)?", item)
    if not match:
        raise InputError(f"--dispatch: cannot read {item!r} in {text!r}; {_FORM}")
    low = int(match[1])
    if match[2] is None:
        return low, low + 1
    return low, None if match[3] is None else int(match[3]) + 1
