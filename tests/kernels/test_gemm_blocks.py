"""How a matrix product is cut: the vectors of the next tile, the rows of a block (megcc_gemm.h)."""

from __future__ import annotations

import ctypes
import subprocess
from itertools import groupby
from pathlib import Path

import pytest

INCLUDE = Path(__file__).resolve().parents[2] / "codegen_c" / "include"

SOURCE = """
#include "gemm/megcc_gemm.h"
int vectors(int cols) { return megcc_gemm_vectors(cols); }
int block_rows(int rows) { return megcc_gemm_block_rows(rows); }
int most_rows(void) { return MEGCC_GEMM_BLOCK; }
int tile_rows(void) { return MEGCC_GEMM_ROWS; }
"""

#: Flags; then, for 1 to 100 columns, vectors of the next tile and the most columns that get them.
#: The widest tile is left out where its last panel would be empty, or where a narrow one was left.
WIDTHS = {
    "-DNR=8": [(2, 100)],
    "-DNR=8 -mavx2 -mfma": [(1, 8), (2, 100)],
    "-DNR=16 -mavx2 -mfma": [(1, 8), (2, 100)],
    "-DNR=16 -mavx2 -mfma -DMEGCC_GEMM_ONE_ROW": [(1, 16), (4, 48), (8, 100)],
    "-DNR=8 -DMEGCC_GEMM_BF16 -DMEGCC_GEMM_ONE_ROW": [(2, 8), (4, 16), (6, 24), (4, 32), (6, 100)],
    "-DNR=8 -DMEGCC_GEMM_BF16 -DMEGCC_GEMM_ONE_ROW -DMEGCC_SMALL": [(2, 8), (4, 100)],
}


def library(folder: Path, flags: str) -> ctypes.CDLL:
    source, target = folder / "gemm.c", folder / "gemm.so"
    source.write_text(SOURCE)
    command = ["gcc", "-O1", "-w", "-shared", "-fPIC", f"-I{INCLUDE}", *flags.split(), str(source)]
    subprocess.run([*command, "-o", str(target)], check=True)
    return ctypes.CDLL(str(target))


@pytest.mark.parametrize("flags", WIDTHS)
def test_vectors_of_the_next_tile(flags: str, tmp_path: Path) -> None:
    gemm = library(tmp_path, flags)
    found = groupby(range(1, 101), key=gemm.vectors)
    assert [(vectors, max(cols)) for vectors, cols in found] == WIDTHS[flags]


@pytest.mark.parametrize("flags", ["-DNR=8", "-DNR=16 -mavx2 -mfma"])
def test_blocks_are_equal_whole_tiles_and_few(flags: str, tmp_path: Path) -> None:
    gemm = library(tmp_path, flags)
    most, tile = gemm.most_rows(), gemm.tile_rows()
    for rows in range(1, 5 * most):
        block, blocks = gemm.block_rows(rows), -(-rows // most)
        assert block <= most and (block % tile == 0 or block == most)
        assert -(-rows // block) == blocks
        assert block < -(-rows // blocks) + tile
