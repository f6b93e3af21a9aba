"""Conversions between float and the 16-bit floats, and the integer helpers, are exact."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

from . import math_support as ms

pytestmark = pytest.mark.together

SOURCE = """
#include "simd/megcc_f16.h"
void to_f32(const uint16_t *x, float *y, int n) {
  for (int i = 0; i < n; ++i) y[i] = F16_TO_F32(x[i]);
}
void to_f16(const float *x, uint16_t *y, int n) {
  for (int i = 0; i < n; ++i) y[i] = F32_TO_F16(x[i]);
}
void bf_to_f32(const uint16_t *x, float *y, int n) {
  for (int i = 0; i < n; ++i) y[i] = megcc_bf16_to_f32(x[i]);
}
void to_bf(const float *x, uint16_t *y, int n) {
  for (int i = 0; i < n; ++i) y[i] = megcc_f32_to_bf16(x[i]);
}
void ints(const int32_t *a, const int32_t *b, int32_t *y, int n) {
  for (int i = 0; i < n; ++i) {
    y[6 * i] = megcc_floordiv_i32(a[i], b[i]);
    y[6 * i + 1] = megcc_floormod_i32(a[i], b[i]);
    y[6 * i + 2] = megcc_div_i32(a[i], b[i]);
    y[6 * i + 3] = megcc_mod_i32(a[i], b[i]);
    y[6 * i + 4] = megcc_shl_i32(a[i], b[i]);
    y[6 * i + 5] = megcc_shr_i32(a[i], b[i]);
  }
}
void casts(const float *x, int32_t *i32, int64_t *i64, uint64_t *u64, int n) {
  for (int i = 0; i < n; ++i) {
    i32[i] = megcc_f32_to_i32(x[i]);
    i64[i] = megcc_f32_to_i64(x[i]);
    u64[i] = megcc_f32_to_u64(x[i]);
  }
}
"""


def build(folder: Path, *flags: str) -> ctypes.CDLL:
    (folder / "half.c").write_text(SOURCE)
    target = folder / "half.so"
    subprocess.run(
        ["gcc", "-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", *flags,
         f"-I{ms.INCLUDE}", str(folder / "half.c"), "-o", str(target)],
        check=True,
    )  # fmt: skip
    return ctypes.CDLL(str(target))


def run(function, *arrays: np.ndarray) -> None:
    function(*(ctypes.c_void_p(a.ctypes.data) for a in arrays), arrays[0].size)


SOFT = ("-DF16_TO_F32=megcc_f16_to_f32_soft", "-DF32_TO_F16=megcc_f32_to_f16_soft")
HARD = ("-DF16_TO_F32=megcc_f16_to_f32", "-DF32_TO_F16=megcc_f32_to_f16")


def has_f16c() -> bool:
    try:
        return "f16c" in Path("/proc/cpuinfo").read_text()
    except OSError:
        return False


@pytest.fixture(scope="module", params=["soft", "f16c"])
def half(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "soft":
        return build(folder, *SOFT)
    if not has_f16c():
        pytest.skip("this processor has no F16C")
    return build(folder, *HARD, "-mf16c", "-mavx")


def test_f16_to_f32_all_patterns(half: ctypes.CDLL):
    x = np.arange(65536, dtype=np.uint16)
    y = np.empty(65536, np.float32)
    run(half.to_f32, x, y)
    np.testing.assert_array_equal(y, x.view(np.float16).astype(np.float32))
    assert np.isnan(y).sum() == 2 * 1023


def every_float() -> np.ndarray:
    """Bit patterns spread over all floats, and around every boundary of binary16."""
    spread = np.arange(0, 2**32, 4093, dtype=np.uint64).astype(np.uint32).view(np.float32)
    exact = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float32)
    with np.errstate(all="ignore"):
        middle = (exact[:-1].astype(np.float64) + exact[1:]) / 2
        near = [middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf)]
        parts = [spread, exact, *(n.astype(np.float32) for n in near)]
        parts += [np.nextafter(parts[2], np.float32(s)) for s in (np.inf, -np.inf)]
    return np.concatenate(parts)


def test_f32_to_f16_rounds_to_even(half: ctypes.CDLL):
    x = every_float()
    y = np.empty(x.size, np.uint16)
    run(half.to_f16, x, y)
    with np.errstate(all="ignore"):
        want = x.astype(np.float16)
    numbers = ~np.isnan(x)
    np.testing.assert_array_equal(y[numbers], want.view(np.uint16)[numbers])
    assert np.isnan(y.view(np.float16)[~numbers]).all()


def test_bf16_both_ways(half: ctypes.CDLL):
    bits = np.arange(65536, dtype=np.uint16)
    y = np.empty(65536, np.float32)
    run(half.bf_to_f32, bits, y)
    np.testing.assert_array_equal(y.view(np.uint32), bits.astype(np.uint32) << 16)
    x = every_float()
    x = x[~np.isnan(x)]
    back = np.empty(x.size, np.uint16)
    run(half.to_bf, x, back)
    # Exact rounding of the upper half by integers: above the tie, or at it with an odd last bit.
    pattern = x.view(np.uint32).astype(np.uint64)
    low, high = pattern & 0xFFFF, pattern >> 16
    want = high + ((low > 0x8000) | ((low == 0x8000) & (high & 1 == 1)))
    np.testing.assert_array_equal(back, want.astype(np.uint16))


def test_integer_helpers_have_no_undefined_case(tmp_path: Path):
    library = build(tmp_path, *SOFT, "-fsanitize=undefined", "-fno-sanitize-recover=all",
                    "-static-libubsan")  # fmt: skip
    edges = np.array([0, 1, -1, 2, -2, 7, -7, 31, 32, 33, -(2**31), 2**31 - 1], np.int32)
    a, b = (np.ascontiguousarray(v.ravel()) for v in np.meshgrid(edges, edges))
    y = np.empty((a.size, 6), np.int32)
    run_pairs = library.ints
    run_pairs(*(ctypes.c_void_p(v.ctypes.data) for v in (a, b, y)), a.size)
    for (fd, fm, d, m, left, right), p, q in zip(y.tolist(), a.tolist(), b.tolist(), strict=True):
        if q == 0:
            assert (fd, fm, d, m) == (0, 0, 0, 0)
        else:
            wrap = (p // q + 2**31) % 2**32 - 2**31
            assert (fd, fm) == (wrap, p % q)
            truncated = abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1)
            assert d == (truncated + 2**31) % 2**32 - 2**31
            assert m == p - truncated * q
        assert left == ((p << q) + 2**31) % 2**32 - 2**31 if 0 <= q < 32 else left == 0
        assert right == p >> (q if 0 <= q < 32 else 31)


def test_float_to_integer_saturates(tmp_path: Path):
    library = build(
        tmp_path, *SOFT, "-fsanitize=undefined,float-cast-overflow",
        "-fno-sanitize-recover=all", "-static-libubsan",
    )  # fmt: skip
    x = np.array(
        [0.0, -0.7, 1.9, 3e9, -3e9, 1e19, -1e19, 1e30, np.inf, -np.inf, np.nan], np.float32
    )
    i32, i64, u64 = (np.empty(x.size, t) for t in (np.int32, np.int64, np.uint64))
    library.casts(*(ctypes.c_void_p(v.ctypes.data) for v in (x, i32, i64, u64)), x.size)
    top32, low32, low64 = 2**31 - 128, -(2**31), -(2**63)
    top64, topu = 2**63 - 2**39, 2**64 - 2**40
    assert i32.tolist() == [0, 0, 1, top32, low32, top32, low32, top32, top32, low32, low32]
    assert i64.tolist() == [
        0,
        0,
        1,
        3000000000,
        -3000000000,
        top64,
        low64,
        top64,
        top64,
        low64,
        low64,
    ]
    assert u64.tolist()[:4] == [0, 0, 1, 3000000000]
    assert u64.tolist()[5] == 9999999980506447872 and u64.tolist()[7] == topu
