"""``scripts/fuzz --image``: libFuzzer over the programs of packages (tests/runtime/fuzz_image.py).

A finding is written to the working directory and repeated by giving it as FILE; its place for good
is in the tables of tests/runtime/test_forged.py.

Example: ``scripts/fuzz --image --runs 1000000 --package looping``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.runtime import fuzz_image  # noqa: E402
from tests.runtime.forged import PACKAGES  # noqa: E402
from tvm_megcc.errors import MegccError  # noqa: E402


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser("fuzz --image", description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000_000, help="executions of each package")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--package", choices=sorted(PACKAGES), action="append")
    parser.add_argument("files", nargs="*", metavar="FILE", help="repeat these findings")
    args = parser.parse_args(argv)
    clean = True
    with tempfile.TemporaryDirectory() as folder:
        for package in args.package or PACKAGES:
            print(f"fuzz --image: {package}", flush=True)
            try:
                found = fuzz_image.run(package, Path(folder), args.runs, args.seed, args.files)
            except MegccError as error:
                print(f"error: {error}", file=sys.stderr)
                return 1
            clean = clean and found
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
