"""Options that ``tvmc generate`` and ``tvmc chat`` share."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from tvm_megcc.cli import options

if TYPE_CHECKING:
    from tvm_megcc.generation import Generated, Sampling


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "package", metavar="PKG", help="what tvmc compile --generate wrote: directory or .tar"
    )
    parser.add_argument(
        "-n", dest="most", type=int, default=128, metavar="N", help="most tokens (default: 128)"
    )
    parser.add_argument(
        "--temperature",
        type=float,
        default=0.0,
        metavar="T",
        help="0: the most likely token each time (default); else tokens are drawn",
    )
    parser.add_argument(
        "--top-k", type=int, default=0, metavar="K", help="among the K most likely (default: all)"
    )
    parser.add_argument(
        "--top-p",
        type=float,
        default=1.0,
        metavar="P",
        help="among the fewest that have the probability P together (default: 1)",
    )
    parser.add_argument(
        "--min-p",
        type=float,
        default=0.0,
        metavar="P",
        help="among those with P times the most likely one's probability (default: 0)",
    )
    parser.add_argument(
        "--repetition-penalty",
        type=float,
        default=1.0,
        metavar="R",
        help="makes tokens that were less likely (default: 1)",
    )
    parser.add_argument(
        "--seed", type=options.seed, default=0, metavar="S", help="of drawn tokens (default: 0)"
    )
    parser.add_argument(
        "--stop",
        action="append",
        default=[],
        metavar="TOKEN",
        help="a token that ends the text, beside the model's own (repeatable)",
    )
    parser.add_argument(
        "--capacity",
        type=options.count,
        default=1024,
        metavar="N",
        help="most tokens of prompt and answer together (default: 1024)",
    )
    parser.add_argument(
        "--chunk",
        type=options.count,
        default=64,
        metavar="N",
        help="tokens of a prompt that are computed together (default: 64)",
    )
    parser.add_argument(
        "--prefix-cache",
        metavar="FILE",
        help="what a prompt and FILE have in common at their beginnings is not computed again;"
        " where there is no FILE, the first prompt is saved there",
    )
    parser.add_argument(
        "--arch", metavar="A", help="of a package for several (default: this machine's)"
    )
    parser.add_argument(
        "--threads", type=options.count, default=1, metavar="N", help="that compute (default: 1)"
    )
    options.add_compiler(parser)


def sampling(args: argparse.Namespace) -> Sampling:
    """The settings of the sampler; raises InputError if one is out of its range."""
    from tvm_megcc.generation import Sampling

    found = Sampling(
        args.temperature, args.top_k, args.top_p, args.min_p, args.repetition_penalty, args.seed
    )
    found.check()
    return found


def opening(args: argparse.Namespace) -> dict[str, Any]:
    """Arguments of `tvm_megcc.generation.opened`."""
    return {
        "arch": args.arch, "capacity": args.capacity, "chunk": args.chunk,
        "threads": args.threads, "stop": args.stop, "cc": args.compiler,
        "prefix_cache": args.prefix_cache,
    }  # fmt: skip


def write(text: str) -> None:
    """Show a piece of a text at once."""
    sys.stdout.write(text)
    sys.stdout.flush()


def print_speed(found: Generated) -> None:
    """Print tokens and tokens a second, of prompt and decode, to standard error."""
    computed = found.prompt_tokens - found.kept_tokens
    print(
        f"prompt: {computed} tokens, {found.prompt_tokens_per_second:.1f} tokens/s;"
        f" decode: {len(found.tokens)} tokens, {found.decode_tokens_per_second:.1f} tokens/s",
        file=sys.stderr,
    )
