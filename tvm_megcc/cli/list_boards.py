"""``tvmc boards``: the boards that ``--board`` and ``inspect --for`` know."""

from __future__ import annotations

import argparse

from tvm_megcc.cli import options
from tvm_megcc.core import board_table

HELP = "list the boards that --board knows, with their CPUs and memory"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("board", nargs="?", metavar="NAME", help="only this one, e.g. nrf52840")


def run(args: argparse.Namespace) -> None:
    found = board_table.TABLE if args.board is None else (board_table.board(args.board),)
    rows = [(b.name, b.cpu, f"{b.flash:,}", f"{b.ram:,}", b.chip) for b in found]
    options.print_table(("board", "CPU", "flash bytes", "RAM bytes", "chip"), rows)
