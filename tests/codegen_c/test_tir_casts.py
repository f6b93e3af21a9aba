"""Casts between all pairs of dtypes, in one library."""

from __future__ import annotations

import ctypes
import subprocess

import ml_dtypes
import numpy as np
import pytest
from tvm import relax

from tvm_megcc.codegen_c.tir import GeneratedKernel

from .tir_support import WARNINGS, emit_all

pytestmark = pytest.mark.together

DTYPES = (
    "float32 float64 float16 bfloat16 bool int8 uint8 int16 uint16 int32 uint32 int64 uint64"
).split()
PAIRS = [(a, b) for a in DTYPES for b in DTYPES if a != b]


def numpy_dtype(name: str) -> np.dtype:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def values(source: str) -> np.ndarray:
    """Numbers that every target but bool and the small ones holds."""
    if source == "bool":
        return np.array([0, 1, 1, 0, 1], bool)
    small = [0, 1, 2, 3.7, 100, 127, 64.5, 1e-3]
    return np.array(small).astype(numpy_dtype(source))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("casts")
    kernels: dict[tuple[str, str], GeneratedKernel] = {}
    for source, target in PAIRS:
        ((_, kernel),) = emit_all(
            lambda x, target=target: relax.op.astype(x, target), [values(source).shape], source
        )
        kernels[source, target] = kernel
    distinct = {k.symbol: k.source for k in kernels.values()}
    (folder / "casts.c").write_text("\n".join(distinct.values()))
    flags = ["-O1", "-shared", "-fPIC", "-fsanitize=undefined,float-cast-overflow"]
    flags += ["-fno-sanitize-recover=all", "-static-libubsan"]
    target_file = folder / "casts.so"
    subprocess.run(
        ["gcc", *WARNINGS, *flags, str(folder / "casts.c"), "-o", str(target_file)], check=True
    )
    return ctypes.CDLL(str(target_file)), kernels


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_cast_like_numpy(library, source: str, target: str):
    shared, kernels = library
    x = values(source)
    out = np.zeros(x.shape, numpy_dtype(target))
    pointers = (ctypes.c_void_p * 2)(x.ctypes.data, out.ctypes.data)
    getattr(shared, kernels[source, target].symbol)(pointers, None, None, 0, x.size)
    np.testing.assert_array_equal(out, x.astype(numpy_dtype(target)))


@pytest.mark.parametrize("target", ["float32", "float16", "int64", "uint8"])
def test_cast_of_negative_integers(library, target: str):
    shared, kernels = library
    x = np.array([-1, -128, -7, -100], np.int8)
    out = np.zeros(x.shape, target)
    pointers = (ctypes.c_void_p * 2)(x.ctypes.data, out.ctypes.data)
    getattr(shared, kernels["int8", target].symbol)(pointers, None, None, 0, x.size)
    np.testing.assert_array_equal(out, x.astype(target))


def test_any_float_bits_convert_without_undefined_behaviour(library):
    shared, kernels = library
    x = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38, -1.5, 1e-45, -0.0], np.float32)
    for (source, target), kernel in kernels.items():
        if source != "float32":
            continue
        out = np.zeros(x.shape, numpy_dtype(target))
        pointers = (ctypes.c_void_p * 2)(x.ctypes.data, out.ctypes.data)
        getattr(shared, kernel.symbol)(pointers, None, None, 0, x.size)
        if target in ("float16", "bfloat16", "float64"):
            with np.errstate(all="ignore"):
                want = x.astype(numpy_dtype(target)).astype(np.float64)
            np.testing.assert_array_equal(out.astype(np.float64), want)
