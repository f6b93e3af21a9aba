"""Kernels, and codes of kernels, that some model reaches, and those that none reaches.

A code is a value of a kernel's parameters that the operator's header names (`UNARY_EXP`,
`MEGCC_ACT_RELU`) or that its header comment lists (`trans_b` 0 and 1). Models: the zoo, the corpus
where it is, ONNX's own cases, with and without their weights known, and --models. They are
compiled, for every architecture, not built. With --cover: the fewest models, found greedily, that
reach all that is reached.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import onnx

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "models")]

import corpus  # noqa: E402

from tests import reach  # noqa: E402
from tests.onnx_suite import cases  # noqa: E402
from tvm_megcc import zoo  # noqa: E402
from tvm_megcc.core.machine import ARCHITECTURES  # noqa: E402
from tvm_megcc.errors import MegccError  # noqa: E402

Model = tuple[str, Callable[[], onnx.ModelProto | Path], dict]


def models(shared: Path, named: Sequence[str]) -> Iterator[Model]:
    for path in named:
        yield path, lambda path=path: Path(path), {}
    for name in zoo.NAMES:
        yield f"zoo {name}", lambda name=name: zoo.build(name), {}
    if (shared / "models").is_dir():
        for model in corpus.load(shared / "models").values():
            shapes = model.shape_sets()[0][0]
            yield f"corpus {model.name}", lambda model=model: model.path, dict(shapes)
    for case in cases.all_cases().values():
        yield f"onnx {case.name}", lambda case=case: case.model, case.input_shapes
        known = cases.with_initialisers(case)
        yield f"onnx+ {case.name}", lambda known=known: known.model, case.input_shapes


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/kernel_coverage", description=__doc__)
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    parser.add_argument("--models", nargs="+", default=[], metavar="FILE", help="more models")
    parser.add_argument("--cover", action="store_true", help="the fewest models that reach it all")
    args = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    reached: dict[str, set[reach.Point]] = {}
    for name, build, shapes in models(args.shared, args.models):
        try:
            reached[name] = reach.reached(build(), ARCHITECTURES, shapes)
        except (MegccError, OSError):
            continue  # what is refused reaches nothing
    every = set().union(*reached.values())
    for point in sorted(reach.points() - every):
        print(f"nothing reaches {point}")
    print(f"{len(every)} of {len(reach.points())} are reached by {len(reached)} models")
    if args.cover:
        for name in cover(reached):
            print(name)
    return int(bool(reach.points() - every))


def cover(reached: dict[str, set[reach.Point]]) -> list[str]:
    """Few models that reach all points: always the model that adds most."""
    chosen: list[str] = []
    left = set().union(*reached.values())
    while left:
        best = max(sorted(reached), key=lambda name: len(reached[name] & left))
        chosen.append(best)
        left -= reached[best]
    return chosen


if __name__ == "__main__":
    raise SystemExit(main())
