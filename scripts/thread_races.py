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
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "models")]

import corpus  # noqa: E402

from tvm_megcc import driver, zoo  # noqa: E402
from tvm_megcc.core import splitting  # noqa: E402
from tvm_megcc.errors import MegccError  # noqa: E402
from tvm_megcc.host import arrays, package, toolchain  # noqa: E402
from tvm_megcc.memory_options import MemoryOptions  # noqa: E402

#: Work that is worth a piece of its own: next to none.
PIECE = 1 << 8
#: Pixels of the zoo's images: a race is there in small ones, too.
ZOO_SIZE = 96
FLAGS = ("-fsanitize=thread", "-g1")
#: Only races: memory that is leaked or strayed into others look for.
ENVIRONMENT = {"TSAN_OPTIONS": "halt_on_error=1:exitcode=66"}
TIMEOUT_S = 1200


def subjects(shared: Path) -> dict[str, corpus.Model | None]:
    """Models by name; None stands for one of the zoo."""
    folder = shared / "models"
    found: dict[str, corpus.Model | None] = dict.fromkeys(zoo.NAMES)
    return {**(corpus.load(folder) if folder.is_dir() else {}), **found}


def compiled(name: str, model: corpus.Model | None, out: Path, threads: int) -> arrays.Arrays:
    """A package at `out`; what it is to be run with."""
    source, shapes, given = None, None, None
    if model is not None:
        source = model.path
        shapes, (case, *_) = model.shape_sets()[0]
        given = case.inputs()
    else:
        source = zoo.build(name) if "tiny" in name else zoo.build(name, size=ZOO_SIZE)
    archs = [toolchain.host_arch()]
    memory = MemoryOptions(threads=threads)
    driver.compile_model(source, out, archs=archs, input_shapes=shapes, memory=memory)
    ports = package.load(out).inputs
    return arrays.fill(ports, "random") if given is None else {p.name: given[p.name] for p in ports}


def check(
    name: str, model: corpus.Model | None, folder: Path, threads: Sequence[int]
) -> Mapping[str, int]:
    """Run a model with these numbers of threads; gives how many of its calls are split.

    Raises
    ------
    MegccError
        A race, or outputs that differ.
    """
    out, arch = folder / name, toolchain.host_arch()
    inputs = compiled(name, model, out, max(threads))
    manifest = package.load(out).manifest
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
    facts = manifest["per_arch"][arch]
    return {"calls": facts["calls"], "threads": facts["threads"]}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", metavar="MODEL", help="only these")
    parser.add_argument("--threads", type=int, nargs="+", default=[2, 3, 8], metavar="N")
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    args = parser.parse_args(argv)
    splitting.PIECE = PIECE
    found = subjects(args.shared)
    if unknown := [name for name in args.models if name not in found]:
        parser.error(f"{unknown[0]!r} is no model of the corpus or the zoo")
    names, bad = args.models or list(found), 0
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            try:
                facts = check(name, found[name], Path(folder), args.threads)
                print(f"{name:28} clean, {facts['calls']} calls", flush=True)
            except MegccError as error:
                bad += 1
                print(f"{name:28} {error}", flush=True)
    print(f"{len(names) - bad} of {len(names)} models are clean on {args.threads} threads")
    return int(bool(bad))


if __name__ == "__main__":
    raise SystemExit(main())
