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
        " in --explain kh=3 kw=3 x=i8 y=i8; a fact not given is 0, a type (of an operand, or dtype"
        " for the others) f32",
    )


def run(args: argparse.Namespace) -> None:
    from tvm_megcc.kernels import registry

    arch = resolve([args.arch])[0] if args.arch else None
    known = registry.operators()
    if args.op and args.op not in known:
        raise InputError(f"there is no kernel for {args.op!r}, only for {', '.join(known)}")
    if args.explain is not None:
        if not args.op:
            raise InputError("--explain: name the operator, as in tvmc kernels conv2d --explain")
        facts = _completed(args.op, _facts(args.explain))
        try:
            print(registry.explain(args.op, arch or resolve(["host"])[0], facts))
        except ZeroDivisionError:
            raise InputError(
                f"--explain: a kernel of {args.op} divides by a fact that is 0 here; give the"
                " groups, strides and channels that there are, as in g=1 sh=1 sw=1 oc=8"
            ) from None
        return
    rows = [
        (
            k.op,
            k.stem,
            k.formulas["rank"].text,
            k.types.text,
            ",".join(k.archs),
            k.isa,
            k.formulas["when"].text,
        )
        for k in registry.listed()
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


def _completed(op: str, given: dict[str, int | float | str]) -> dict[str, int | float | str]:
    """The facts of a call: 0 where nothing is given, and the types of its operands."""
    from tvm_megcc.kernels.contract import contract

    known = contract(op)
    types = {name: dtype for name, dtype in given.items() if isinstance(dtype, str)}
    rest = types.pop("dtype", "f32")
    variables = {o.dtype: types.pop(o.name) for o in known.operands if o.name in types}
    facts = {name: value for name, value in given.items() if not isinstance(value, str)}
    for name in (*types, *(facts.keys() - known.facts.keys())):
        raise InputError(
            f"--explain: {name!r} is no fact and no operand of {op}; its facts are"
            f" {', '.join(known.facts)}, its operands {', '.join(o.name for o in known.operands)}"
        )
    return {
        **dict.fromkeys(known.facts, 0),
        **facts,
        **{variable: variables.get(variable, rest) for variable in known.variables},
    }
