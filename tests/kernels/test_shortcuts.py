"""Shortcuts of kernels run for the sizes that they are for: counts show it, results do not."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tvm_megcc.codegen_c.sources import kernel_text

INCLUDE = Path(__file__).resolve().parents[2] / "codegen_c" / "include"

#: Kernel, function of its C file; attributes where `n` is the size that decides, number of rows;
#: for which of the sizes 1 to 8 the function runs.
ROWS = [("softmax_f32_rows_simd", "few", "10, n, 1", 10, [1, 2, 3, 4])]

MAIN = """
#include <stdlib.h>
int main(int count, char **words) {
  static float x[4096];
  const int32_t n = count > 1 ? atoi(words[1]) : 0, attr[] = {ATTRS};
  void *ptr[] = {x, x, x};
  MEGCC_SYMBOL(ptr, attr, NULL, 0, ROWS);
  return 0;
}
"""


@pytest.mark.skipif(not shutil.which("gcov"), reason="needs gcov")
@pytest.mark.parametrize(("kernel", "function", "attrs", "rows", "sizes"), ROWS)
def test_shortcut(
    kernel: str, function: str, attrs: str, rows: int, sizes: list[int], tmp_path: Path
) -> None:
    main = MAIN.replace("ATTRS", attrs).replace("ROWS", str(rows))
    (tmp_path / "k.c").write_text(kernel_text(kernel) + main)
    command = ["gcc", "-O0", "-w", "--coverage", f"-I{INCLUDE}", "-c", "k.c"]
    subprocess.run(command, cwd=tmp_path, check=True)
    subprocess.run(["gcc", "--coverage", "k.o", "-o", "k"], cwd=tmp_path, check=True)
    found = []
    for size in range(1, 9):
        (tmp_path / "k.gcda").unlink(missing_ok=True)
        subprocess.run(["./k", str(size)], cwd=tmp_path, check=True)
        asked = ["gcov", "--json-format", "--stdout", "k.c"]
        said = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=True)
        counts = {
            f["name"]: f["execution_count"]
            for file in json.loads(said.stdout)["files"]
            for f in file["functions"]
        }
        if counts[function]:
            found.append(size)
    assert found == sizes
