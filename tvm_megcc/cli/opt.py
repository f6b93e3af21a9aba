"""``tvmc opt``: the module after each stage of the compiler."""

from __future__ import annotations

import argparse
import re
from collections import Counter

from tvm_megcc.cli import compiling, dynamic, options
from tvm_megcc.errors import InputError

#: The stages of a module, in order, and those of the program of each of its functions.
STAGES = ("imported", "canonicalise", "layout", "forward_memory", "materialise", "generate")
PROGRAMS = ("lowered", "forwarded", "planned")

HELP = "show what each compiler stage makes of a model"


def arguments(parser: argparse.ArgumentParser) -> None:
    compiling.add(parser)
    parser.add_argument(
        "--print", dest="stage", metavar="STAGE", help="print the module as it leaves this stage"
    )


def run(args: argparse.Namespace) -> None:
    from tvm_megcc import driver
    from tvm_megcc.tuning import records

    chosen = compiling.read(args)
    archs = chosen.archs
    if len(archs) > 1:
        raise InputError(f"--arch: opt shows one architecture, not {', '.join(archs)}; name one")
    if args.stage is not None and not is_stage(args.stage):
        raise InputError(
            f"--print: there is no stage {args.stage!r}; they are {', '.join(STAGES + PROGRAMS)}"
        )
    dump = driver.IrDump(args.dump_ir) if args.dump_ir else None
    stages: dict[str, str] = {}

    def keep(stage: str, text: str) -> None:
        stages[stage] = text
        if dump is not None:
            dump(stage, text)

    advise = dynamic.adviser(args)
    with options.progress() as tell, records.applied_from(chosen.tuning_records, advise):
        driver.compile_programs(compiling.model(args), archs, chosen, dump_ir=keep, progress=tell)
    if args.stage is None:
        print_effects(stages)
    elif args.stage in stages:
        print(stages[args.stage])
    else:
        raise InputError(f"--print: there is no stage {args.stage!r}; they are {', '.join(stages)}")


def is_stage(name: str) -> bool:
    """Whether any model has such a stage; of several functions each has its own programs."""
    return name in STAGES or any(name == p or name.startswith(f"{p}_") for p in PROGRAMS)


def print_effects(stages: dict[str, str]) -> None:
    """Print a row per stage: number of calls after it, and which operators came and went."""
    rows: list[tuple[str, str, str]] = []
    before: Counter[str] = Counter()
    for stage, text in stages.items():
        after = calls(text)
        gone, came = before - after, after - before
        effect = " ".join(
            [f"-{n} {op}" for op, n in sorted(gone.items())]
            + [f"+{n} {op}" for op, n in sorted(came.items())]
        )
        known = not text.startswith("program ")
        rows.append((stage, str(after.total()) if known else "", effect if rows and known else ""))
        before = after
    options.print_table(("stage", "calls", "what changed"), rows)


def calls(text: str) -> Counter[str]:
    """Number of calls by operator in the main function of a printed module."""
    body = text[text.find("def main(") :]
    return Counter(re.findall(r"= (R\.[\w.]+|cls\.\w+)\(", body))
