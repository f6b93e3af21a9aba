"""``tvmc generate``: go on with a prompt, by the package of a language model."""

from __future__ import annotations

import argparse
import sys

from tvm_megcc.cli import generating

HELP = "go on with a prompt, by a language model's package"


def arguments(parser: argparse.ArgumentParser) -> None:
    generating.add(parser)
    parser.add_argument(
        "-p", "--prompt", metavar="TEXT", help="the prompt (default: standard input)"
    )


def run(args: argparse.Namespace) -> None:
    from tvm_megcc import generation

    how = generating.sampling(args)
    with generation.opened(args.package, **generating.opening(args)) as generator:
        prompt = sys.stdin.read() if args.prompt is None else args.prompt
        found = generator.generate(
            prompt, max_tokens=args.most, sampling=how, take=generating.write
        )
    print()
    generating.print_speed(found)
