"""libFuzzer over the programs of packages: no image makes the runtime step outside its memory.

Three packages (of fixed shapes, of shapes that change, with loops and branches), kernels that do
nothing, AddressSanitizer and UndefinedBehaviorSanitizer. A finding is written to the corpus folder
and repeated by giving it as FILE; its place for good is the table of tests/runtime/test_forged.py.

Example: ``scripts/fuzz --image --runs 1000000 --package looping``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.runtime.forged import HOST, PACKAGES, defines, write  # noqa: E402
from tvm_megcc import toolchain  # noqa: E402
from tvm_megcc.errors import MegccError, ToolError  # noqa: E402

RUNTIME_TESTS = ROOT / "tests" / "runtime"
SANITIZERS = "address,undefined"


def build(package: str, folder: Path) -> tuple[Path, Path]:
    """The fuzzer of a package, and the image it starts from."""
    if shutil.which("clang") is None:
        raise ToolError("clang is missing; apt install clang")
    code, image = write(package, folder)
    flags = [f"-fsanitize=fuzzer-no-link,{SANITIZERS}", "-fno-sanitize-recover=all", "-g"]
    runner = toolchain.build(
        code, HOST, build_dir=folder / f"{package}_build", cc="clang", extra_cflags=flags
    )
    fuzzer = folder / f"fuzz_{package}"
    command = ["clang", "-std=gnu11", "-O1", "-g", f"-fsanitize=fuzzer,{SANITIZERS}"]
    command += ["-fno-sanitize-recover=all", *defines(package)]
    command += [f"-I{code / 'include'}", f"-I{code / 'src'}", str(RUNTIME_TESTS / "fuzz_image.c")]
    command += [str(runner.with_name("libmodel.a")), "-lm", "-o", str(fuzzer)]
    subprocess.run(command, check=True)
    return fuzzer, image


def run(package: str, folder: Path, runs: int, seed: int, files: Sequence[str] = ()) -> bool:
    """Fuzz one package; whether nothing was found. ``files``: only repeat these."""
    fuzzer, image = build(package, folder)
    corpus = folder / f"corpus_{package}"
    corpus.mkdir()
    data = image.read_bytes()
    (corpus / "model").write_bytes(data[: int.from_bytes(data[8:12], "little")])
    options = [f"-runs={runs}", f"-seed={seed}", "-max_len=4096", "-timeout=10"]
    options += ["-rss_limit_mb=2048", "-verbosity=0", "-print_final_stats=1"]
    command = [fuzzer, *files] if files else [fuzzer, *options, corpus]
    environment = {**os.environ, "FUZZ_IMAGE": str(image)}
    return subprocess.run(command, cwd=Path.cwd(), env=environment).returncode == 0


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
                found = run(package, Path(folder), args.runs, args.seed, args.files)
            except MegccError as error:
                print(f"error: {error}", file=sys.stderr)
                return 1
            clean = clean and found
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
