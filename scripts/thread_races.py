#!/usr/bin/env python3
"""Look for races: packages under ThreadSanitizer, on several threads.

Usage: ``scripts/thread_races.py [MODEL ...]`` takes the models of the corpus (``--shared``) and of
the zoo, or those that are named. Each is compiled for as many threads as ``--threads`` has at most,
with every call split that can be, also where that is not worth it, built under ThreadSanitizer, and
run with each number. A race is a finding, and so is an output that depends on the number, by a bit.
The exit status is 1 when there is one.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import subjects

from tvm_megcc import driver
from tvm_megcc.core import splitting
from tvm_megcc.errors import InputError, MegccError
from tvm_megcc.host import package, toolchain
from tvm_megcc.memory_options import MemoryOptions

#: Work that is worth a piece of its own: next to none.
PIECE = 1 << 8
FLAGS = ("-fsanitize=thread", "-g1")
#: Only races: memory that is leaked or strayed into others look for.
ENVIRONMENT = {"TSAN_OPTIONS": "halt_on_error=1:exitcode=66"}
TIMEOUT_S = 1200


def check(model: subjects.Subject, folder: Path, threads: Sequence[int]) -> int:
    """Run a model on these numbers of threads; return its number of calls.

    Raises MegccError for a race, or for outputs that differ.
    """
    out, arch = folder / f"package_{model.name}", toolchain.host_arch()
    memory = MemoryOptions(threads=max(threads))
    driver.compile_model(model.path, out, archs=[arch], input_shapes=model.shapes, memory=memory)
    opened = package.load(out)
    inputs, manifest = model.inputs(opened.inputs), opened.manifest
    exe = toolchain.build(out, arch, threads=True, extra_cflags=FLAGS)
    results = {}
    for number in (1, *threads):
        done = toolchain.run_package(
            exe, arch, inputs, manifest, args=["--threads", str(number)], repeat=2,
            environment=ENVIRONMENT, timeout=TIMEOUT_S,
        )  # fmt: skip
        results[number] = done.outputs
    for number, found in results.items():
        for output, value in found.items():
            if value.tobytes() != np.asarray(results[1][output]).tobytes():
                raise MegccError(f"output {output!r} differs on {number} threads")
    return int(manifest["per_arch"][arch]["calls"])


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", metavar="MODEL", help="only these")
    parser.add_argument("--threads", type=int, nargs="+", default=[2, 3, 8], metavar="N")
    parser.add_argument("--shared", type=Path, default=subjects.ROOT.parent / "shared")
    args = parser.parse_args(argv)
    splitting.PIECE = PIECE
    bad = 0
    with tempfile.TemporaryDirectory() as directory:
        try:
            models = subjects.chosen(args.shared, Path(directory), args.models)
        except InputError as error:
            parser.error(str(error))
        for model in models:
            try:
                calls = check(model, Path(directory), args.threads)
                print(f"{model.name:28} clean, {calls} calls", flush=True)
            except MegccError as error:
                bad += 1
                print(f"{model.name:28} {error}", flush=True)
            shutil.rmtree(Path(directory, f"package_{model.name}"), ignore_errors=True)
    print(f"{len(models) - bad} of {len(models)} models are clean on {args.threads} threads")
    return int(bool(bad))


if __name__ == "__main__":
    raise SystemExit(main())
