"""libFuzzer over the programs of packages; `scripts/fuzz --image` and a test use it.

Eight packages (of fixed shapes, of shapes that change, with loops and branches, with checks and
draws, in bands of rows, of an image that comes in by rows, in bands of an image of any size, with
ports that share memory), kernels that do nothing, AddressSanitizer and UndefinedBehaviorSanitizer:
no image makes the runtime step outside its memory.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tvm_megcc.errors import ToolError
from tvm_megcc.host import toolchain

from .forged import HOST, defines, write

HERE = Path(__file__).parent
SANITIZERS = "address,undefined"


def build(package: str, folder: Path) -> tuple[Path, Path]:
    """The fuzzer of a package, and the model that it starts from."""
    if shutil.which("clang") is None:
        raise ToolError("clang is missing; apt install clang")
    code, image = write(package, folder)
    flags = [f"-fsanitize=fuzzer-no-link,{SANITIZERS}", "-fno-sanitize-recover=all", "-g1"]
    flags.append("-O1")  # as the fuzzer itself below
    build_dir = folder / f"{package}_build"
    runner = toolchain.build(code, HOST, build_dir=build_dir, cc="clang", extra_cflags=flags)
    fuzzer = folder / f"fuzz_{package}"
    command = ["clang", "-std=gnu11", "-O1", "-g", f"-fsanitize=fuzzer,{SANITIZERS}"]
    command += ["-fno-sanitize-recover=all", *defines(package)]
    command += [f"-I{code / 'include'}", f"-I{code / 'src'}", str(HERE / "fuzz_image.c")]
    command += [str(runner.with_name("libmodel.a")), "-lm", "-o", str(fuzzer)]
    subprocess.run(command, check=True)
    return fuzzer, image


def run(package: str, folder: Path, runs: int, seed: int, files: Sequence[str] = ()) -> bool:
    """Fuzz one package.

    Parameters
    ----------
    folder : Path
        For what is built, and the inputs that reach something new.
    runs : int
        How many executions.
    files : sequence of str
        Only repeat these inputs.

    Returns
    -------
    bool
        Whether nothing was found; what was found is in the working directory.
    """
    fuzzer, image = build(package, folder)
    corpus = folder / f"corpus_{package}"
    corpus.mkdir()
    data = image.read_bytes()
    (corpus / "model").write_bytes(data[: int.from_bytes(data[8:12], "little")])
    options = [f"-runs={runs}", f"-seed={seed}", "-max_len=4096", "-timeout=10"]
    options += ["-rss_limit_mb=2048", "-verbosity=0", "-print_final_stats=1"]
    command = [fuzzer, *files] if files else [fuzzer, *options, corpus]
    environment = {**os.environ, "FUZZ_IMAGE": str(image)}
    return subprocess.run(command, env=environment).returncode == 0
