"""``tvmc chat``: a conversation with the package of a language model."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from tvm_megcc.cli import generating

HELP = "talk with a language model's package: a line of standard input is a message"


def arguments(parser: argparse.ArgumentParser) -> None:
    generating.add(parser)
    parser.add_argument("--system", metavar="TEXT", help="a message of the system, in front of all")


def run(args: argparse.Namespace) -> None:
    from tvm_megcc import generation
    from tvm_megcc.host import decoder

    how = generating.sampling(args)
    messages = [] if args.system is None else [{"role": "system", "content": args.system}]
    with generation.opened(args.package, **generating.opening(args)) as generator:
        decoder.read_template(generator.package.path)
        for line in _lines():
            messages.append({"role": "user", "content": line})
            found = generator.chat(
                messages, max_tokens=args.most, sampling=how, take=generating.write
            )
            messages.append({"role": "assistant", "content": found.text})
            print()
            generating.print_speed(found)


def _lines() -> Iterator[str]:
    """Messages, without the ends of their lines; with a mark on a terminal."""
    while True:
        if sys.stdin.isatty():
            generating.write("> ")
        line = sys.stdin.readline()
        if not line:
            return
        yield line.rstrip("\n")
