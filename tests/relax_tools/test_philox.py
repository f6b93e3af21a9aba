"""Philox: the published vectors, in our C and in TVM's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import te, tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from tests.codegen_c.tir_support import call, compile_c
from tests.philox import philox
from tests.tvm_target import LLVM
from tvm_megcc.codegen_c.tir import emit_prim_func
from tvm_megcc.relax_tools.philox import block_of

#: Counter, key, block: the rows "philox4x32 10" of the authors' file kat_vectors.
VECTORS = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000",
     "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff",
     "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0",
     "d16cfe09 94fdcceb 5001e420 24126ea1"),
]  # fmt: skip
COUNTERS, KEYS, BLOCKS = (
    np.array([[int(word, 16) for word in row[k].split()] for row in VECTORS], np.uint32)
    for k in range(3)
)


@pytest.fixture(scope="module")
def func() -> tirx.PrimFunc:
    """A block of each row of counters and keys."""

    def kernel(ins: Sequence[Any], outs: Sequence[Any]) -> tirx.Stmt:
        with IRBuilder() as builder:
            counters, keys, result = (T.buffer_proxy(v) for v in (*ins, *outs))
            with T.parallel(0, len(VECTORS)) as row:
                counter = [counters[row, k] for k in range(4)]
                for k, word in enumerate(block_of(counter, [keys[row, k] for k in range(2)])):
                    result[row, k] = word
        return builder.get()

    operands = [te.placeholder((len(VECTORS), n), "uint32") for n in (4, 2)]
    made = te.extern([(len(VECTORS), 4)], operands, kernel, dtype=["uint32"])
    return te.create_prim_func([*operands, made])


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_published_vectors_in_c(func: tirx.PrimFunc, compiler: str, tmp_path: Path) -> None:
    kernel = emit_prim_func(func, "philox")
    found = np.zeros_like(BLOCKS)
    call(compile_c(kernel, tmp_path, compiler), kernel, [COUNTERS, KEYS, found], pieces=2)
    np.testing.assert_array_equal(found, BLOCKS)


def test_the_published_vectors_in_tvm(func: tirx.PrimFunc) -> None:
    found = tvm.runtime.tensor(np.zeros_like(BLOCKS))
    built = tvm.compile(func, target=LLVM)
    built(tvm.runtime.tensor(COUNTERS), tvm.runtime.tensor(KEYS), found)
    np.testing.assert_array_equal(found.numpy(), BLOCKS)


def test_the_published_vectors_in_numpy() -> None:
    """What other tests compare with."""
    np.testing.assert_array_equal(philox(COUNTERS, KEYS), BLOCKS)
