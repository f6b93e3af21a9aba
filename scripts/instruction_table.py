"""Arm64 instructions of one inference, beside those of the stored table, tests/instructions.json.

The models are the zoo's (the large ones for small images) and ten small ones of the corpus, which
between them run most kernels. A count is exact for one compiler, which the table names; --update
writes what is measured into it. tests/scripts/test_instructions.py fails where a model takes over
2 % more than the table says, so that what a change costs is seen, and decided, where it is made.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import subjects
from subjects import ROOT

from tvm_megcc import driver, zoo
from tvm_megcc.core.machine import ROWS
from tvm_megcc.errors import InputError
from tvm_megcc.host import instruction_counts, package, toolchain

TABLE = ROOT / "tests" / "instructions.json"
ARCH, CPU = "arm64", "cortex-a57"
#: Growth that a test lets pass.
LIMIT = 0.02
TIMEOUT_S = 300
CORPUS = (
    "cct2_cifar", "gtcrn_stream_simple", "heating_gru", "hyperlpr_platecls", "micro_kws_fp32",
    "mlptiny_kws_int8", "mlptiny_vww_fp32", "mnist_cntk", "silero_vad_v5", "tinybert_test",
)  # fmt: skip
MODELS = (*zoo.NAMES, *CORPUS)


@dataclass(frozen=True, slots=True)
class Table:
    """The compiler by its version, and instructions by model."""

    compiler: str
    counts: dict[str, int]


def stored() -> Table:
    return Table(**json.loads(TABLE.read_text()))


def compiler() -> str:
    """The version of the cross compiler, or ""."""
    try:
        done = subprocess.run([ROWS[ARCH].compiler, "-dumpfullversion"], capture_output=True)
    except OSError:
        return ""
    return done.stdout.decode().strip()


def measure(name: str, shared: Path, folder: Path) -> int:
    """Instructions of one inference of a model of `MODELS`, for arm64 under qemu.

    `shared` has the corpus; the package goes into `folder`. Raises InputError if the corpus has no
    such model, ToolError if a tool is missing.
    """
    (subject,) = subjects.chosen(shared, folder, [name])
    driver.compile_model(
        subject.path, folder / "package", archs=[ARCH], input_shapes=subject.shapes
    )
    opened = package.load(folder / "package")
    (count,) = counted(opened, [subject.inputs(opened.inputs)])
    return count


def counted(opened: package.Package, inputs: Iterable[Mapping[str, Any]]) -> list[int]:
    """Instructions of one inference of an arm64 package under qemu, for each set of inputs.

    Raises ToolError if a tool is missing.
    """
    flags = ["-include", str(instruction_counts.MARKS)]
    runner = toolchain.build(opened.path, ARCH, extra_cflags=flags)
    runs = (
        instruction_counts.of_inference(
            runner, ARCH, given, opened.manifest, cpu=CPU, timeout=TIMEOUT_S
        )
        for given in inputs
    )
    return [counts.totals["instructions"] for _, counts in runs]


def complaint(name: str, now: int, before: int) -> str:
    """The message about a model that grew by more than `LIMIT`, or ""."""
    return grown(name, now, before, TABLE, f"scripts/instruction_table --update {name}")


def grown(what: str, now: int, before: int, table: Path, accepting: str) -> str:
    """The message about instructions above those of a table by more than `LIMIT`, or "".

    `accepting` is the command that writes the new count into the table.
    """
    if now <= before * (1 + LIMIT):
        return ""
    return (
        f"{what}: {now:,} instructions, {now / before - 1:.1%} more than the {before:,} of"
        f" {table.relative_to(ROOT)}; make it cheaper, or accept it with {accepting}"
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/instruction_table", description=__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(MODELS)}")
    parser.add_argument("--update", action="store_true", help="write the counts into the table")
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    args = parser.parse_args(argv)
    if unknown := sorted(set(args.models) - set(MODELS)):
        parser.error(f"the table has no {', '.join(unknown)}; it has {', '.join(MODELS)}")
    table = stored() if TABLE.exists() else Table(compiler(), {})
    version = compiler()
    if args.models and args.update and version != table.compiler:
        parser.error(
            f"the table is of gcc {table.compiler}, this is {version or 'none'}: update all of it"
        )
    counts = {}
    for name in args.models or MODELS:
        with tempfile.TemporaryDirectory(prefix="megcc_instructions_") as folder:
            try:
                counts[name] = measure(name, args.shared, Path(folder))
            except InputError as error:
                parser.error(f"{error}; the corpus is looked for in {args.shared}")
        before = table.counts.get(name)
        change = f"{counts[name] / before - 1:+8.2%}" if before else "     new"
        print(f"{name:24}{counts[name]:>16,}{change}", flush=True)
    if args.update:
        merged = {**table.counts, **counts}
        kept = {name: merged[name] for name in MODELS if name in merged}
        TABLE.write_text(json.dumps({"compiler": version, "counts": kept}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
