"""Facts of a tree's kernels: of every case of `tests/kernels/cases`, and code of every instance.

Run with the tree's own modules (`scripts/same_packages --kernels` does): prints one JSON object,
``{"cases": {name: digest}, "code": {name: digest}}``. A case's digest covers what the header says
of it (whether each machine takes it, rank, macros, workspace, work, cost, ...) and the bytes of its
packed operands; that of an instance covers its preprocessed C for a machine, without its symbol.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path
from typing import Any


def machines() -> list[str]:
    """All machine words: every architecture with every set of its features."""
    from tvm_megcc.core.machine import TABLE, machine

    names = {
        machine("+".join([row.name, *features])).name
        for row in TABLE
        for count in range(len(row.features) + 1)
        for features in combinations([f.name for f in row.features], count)
    }
    return sorted(names)


def _digest(*parts: object) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part if isinstance(part, bytes) else repr(part).encode())
        digest.update(b"\0")
    return digest.hexdigest()[:16]


def case_facts(kernel: Any, case: Any, names: list[str]) -> tuple[object, ...]:
    """Everything that a kernel's header says of one case; `names` are machines."""
    from tvm_megcc.kernels import packing

    facts = case.facts
    takes = [bool(kernel.refusal(name, facts)) for name in names]
    if all(takes):
        return (takes,)
    made = kernel.instance(facts)
    inputs = [operand.name for operand in kernel.contract.inputs_of(facts)]
    call = packing.Call(facts, dict(zip(inputs, case.inputs, strict=True)))
    packed = sorted(
        (operand, array.dtype.str, array.shape, array.tobytes())
        for operand, array in packing.apply(kernel.packings(facts), call).items()
    )
    return (
        takes, kernel.ranked(facts), made.symbol, made.defines, made.inplace, made.features,
        kernel.attrs(facts), kernel.workspace(facts), kernel.work(facts), kernel.cost(facts),
        kernel.instructions(facts), kernel.weights(facts), kernel.overlap(facts),
        kernel.tolerance(facts), kernel.exact, kernel.optimize, kernel.tune, packed,
    )  # fmt: skip


def texts(instances: dict[str, Any]) -> Iterator[tuple[str, list[str], str, str]]:
    """(name, command that preprocesses, symbol, C text) of each instance on each machine."""
    from tvm_megcc.core.machine import ROWS, machine
    from tvm_megcc.host import toolchain
    from tvm_megcc.kernels import registry

    folder = Path(sys.modules["tvm_megcc.codegen_c"].__file__ or "").parent
    files = {kernel.stem: kernel for kernel in registry.kernels()}
    for symbol, made in sorted(instances.items()):
        kernel = files[made.template]
        for arch in ROWS if "portable" in kernel.archs else kernel.archs:
            features = "+".join([arch, *made.features])
            # Code asks for what all kernels of a machine are compiled with, too.
            everywhere = [f.name for f in ROWS[arch].features if f.everywhere]
            words = {machine(features).name, machine("+".join([features, *everywhere])).name}
            for word in sorted(words):
                defines = [f"-D{m}={v}" for m, v in (("MEGCC_SYMBOL", symbol), *made.defines)]
                command = [
                    *toolchain.find_compiler(word).split(), *machine(word).flags, "-std=c99",
                    f"-I{folder}/include", *defines, "-E", "-P", "-xc", "-",
                ]  # fmt: skip
                yield f"{word} {symbol}", command, symbol, kernel.sources()


def _code(row: tuple[str, list[str], str, str]) -> tuple[str, str]:
    name, command, symbol, text = row
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        return name, f"does not compile: {done.stderr.strip()[-200:]}"
    return name, _digest(re.sub(r"\s+", " ", done.stdout).replace(symbol, "kernel"))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tests", type=Path, help="the tree's tests/kernels")
    parser.add_argument("--only", default="", help="kernels whose name begins so")
    args = parser.parse_args(argv)
    # The tree's own folder comes last: its codegen_c/ is not where it is installed.
    sys.path[:] = [str(args.tests), *sys.path, str(args.tests.parents[1])]
    import harness

    from tvm_megcc.kernels import registry

    names, cases, instances = machines(), {}, {}
    for kernel in registry.kernels():
        if not kernel.stem.startswith(args.only):
            continue
        for case in harness.cases_of(kernel.op):
            said = case_facts(kernel, case, names)
            cases[f"{kernel.stem} case {case.index}"] = _digest(*said)
            if len(said) > 1:
                made = kernel.instance(case.facts)
                instances[made.symbol] = made
    with ThreadPoolExecutor(2) as pool:
        code = dict(pool.map(_code, texts(instances)))
    json.dump({"cases": cases, "code": code}, sys.stdout)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
