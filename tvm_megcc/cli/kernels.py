"""``tvmc kernels``: the kernels there are, and why one is chosen for a call."""

from __future__ import annotations

import argparse

from tvm_megcc.cli import options
from tvm_megcc.errors import InputError
from tvm_megcc.target import resolve

HELP = "list the kernels, or explain the choice between them"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("op", nargs="?", metavar="OP", help="only this operator's, e.g. conv2d")
    parser.add_argument("--arch", metavar="A", help="only those that run on this architecture")
    parser.add_argument(
        "--explain",
        nargs="*",
        metavar="FACT=VALUE",
        help="say which kernel of OP a call with these facts gets, and why each other one lost, as"
        " in --explain dtype=f32 kh=3 kw=3; a fact not given is 0",
    )


def run(args: argparse.Namespace) -> None:
    from tvm_megcc.kernels import registry

    arch = resolve([args.arch])[0] if args.arch else None
    known = sorted({kernel.op for kernel in registry.kernels()})
    if args.op and args.op not in known:
        raise InputError(f"there is no kernel for {args.op!r}, only for {', '.join(known)}")
    if args.explain is not None:
        if not args.op:
            raise InputError("--explain: name the operator, as in tvmc kernels conv2d --explain")
        facts = {**_zero_facts(args.op), **_facts(args.explain)}
        print(registry.explain(args.op, arch or resolve(["host"])[0], facts))
        return
    rows = [
        (k.op, k.stem, str(k.rank), ",".join(k.dtypes), ",".join(k.archs), k.isa, k.when.text)
        for k in sorted(registry.kernels(), key=lambda k: (k.op, -k.rank, k.stem))
        if (not args.op or k.op == args.op) and (arch is None or k.runs_on(arch))
    ]
    options.print_table(("op", "kernel", "rank", "dtype", "arch", "isa", "when"), rows)


def _facts(words: list[str]) -> dict[str, int | float | str]:
    facts: dict[str, int | float | str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.isidentifier():
            raise InputError(f"--explain: {word!r} is not of the form FACT=VALUE, e.g. kh=3")
        facts[name] = _value(value)
    return facts


def _value(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _zero_facts(op: str) -> dict[str, int | float | str]:
    """Every fact that a header of the operator's kernels mentions, as 0; f32 as the dtype."""
    from tvm_megcc.kernels import registry

    names = set(registry.attribute_names(op))
    for kernel in registry.kernels():
        if kernel.op == op:
            names |= kernel.when.names
    return {**dict.fromkeys(sorted(names), 0), "dtype": "f32"}
