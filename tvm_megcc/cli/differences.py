"""Tolerances of outputs: options and lines of compare and run."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from tvm_megcc.compare import Tolerance


def add_tolerance(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rtol", type=_tolerance, default=1e-3, metavar="R",
        help="accepted difference relative to the reference's largest magnitude (default: 1e-3)",
    )  # fmt: skip
    parser.add_argument(
        "--atol", type=_tolerance, default=1e-6, metavar="A",
        help="accepted difference besides (default: 1e-6)",
    )  # fmt: skip


def _tolerance(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 on")
    return value


def tolerance_of(args: argparse.Namespace) -> Tolerance:
    from tvm_megcc.compare import Tolerance

    return Tolerance(args.rtol, args.atol)


def per_output(
    outputs: Mapping[str, np.ndarray], wanted: Mapping[str, np.ndarray], tolerance: Tolerance
) -> list[str]:
    """Print a line for each output; the names of those beyond the tolerance."""
    from tvm_megcc.compare import difference

    wrong = []
    for name, got in outputs.items():
        if name not in wanted:  # an input or a constant of the model, passed on
            print(f"output '{name}': the reference has no such value")
            continue
        found = difference(name, got, wanted[name], tolerance)
        print(f"output '{name}': {found}{'' if found.ok else '  BEYOND'}")
        if not found.ok:
            wrong.append(f"'{name}'")
    return wrong
