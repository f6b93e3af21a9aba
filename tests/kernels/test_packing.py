"""Packed weights hold every weight where the kernel reads it, and zeros elsewhere."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tvm_megcc.kernels import packing, registry
from tvm_megcc.kernels.kernel_file import Packing


def _ramp(*shape: int) -> np.ndarray:
    return np.arange(1, 1 + int(np.prod(shape)), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize("nr", [8, 16])
@pytest.mark.parametrize("per_group", [1, 7, 8, 9, 17])
def test_gemm_panels_address(groups: int, nr: int, per_group: int) -> None:
    w = _ramp(groups * per_group, 2, 3, 5)
    packed = packing.gemm_panels(w, packing.Call({"g": groups}), nr=nr).reshape(-1)
    depth, panels = 30, -(-per_group // nr)
    want = np.zeros(groups * panels * depth * nr, np.float32)
    for o in range(w.shape[0]):
        group, lane = divmod(o, per_group)
        for k in range(depth):
            at = (group * panels + lane // nr) * depth * nr + k * nr + lane % nr
            want[at] = w[o].reshape(-1)[k]
    np.testing.assert_array_equal(packed, want)


@pytest.mark.parametrize("m", [2, 4, 6])
@pytest.mark.parametrize("groups", [1, 2])
def test_winograd_panels_hold_values_at_points(m: int, groups: int) -> None:
    """The polynomial of each 3 x 3 kernel at every pair of points, times a factor of each point."""
    w = np.random.default_rng(m).standard_normal((5 * groups, 3, 3, 3)).astype(np.float32)
    packed = packing.winograd_panels(w, packing.Call({"g": groups}), m=m, nr=8)
    assert packed.shape == (m + 2, m + 2, groups, 1, 3, 8) and packed.dtype == np.float32
    assert not packed[..., 5:].any()
    powers = np.array([[1, p, p * p] for p in (0, 1, -1, np.nan, 2, -2, 0.5, -0.5)][: m + 2])
    powers[3] = [0, 0, 1]  # infinity: the highest coefficient
    values = np.einsum("ki,goijc,lj->klgoc", powers, w.reshape(groups, 5, 3, 3, 3), powers)
    ratio = packed[..., 0, :, :5].swapaxes(-1, -2) / values
    factors = np.sqrt(np.abs(np.einsum("kk...->k...", ratio)).reshape(m + 2, -1)[:, 0])
    want = np.abs(np.outer(factors, factors))[:, :, None, None, None]
    np.testing.assert_allclose(np.abs(ratio), np.broadcast_to(want, ratio.shape), rtol=1e-5)


@pytest.mark.parametrize("trans_b", [None, 0, 1])
def test_strassen_panels_make_a_product_of_seven(trans_b: int | None) -> None:
    """With the kernel's sums of rows they give the product, exactly in small integers."""
    rng = np.random.default_rng(1)
    x, w = (rng.integers(-9, 9, shape).astype(np.float32) for shape in ((6, 8), (8, 16)))
    if trans_b is None:
        call = packing.Call({"g": 1})
        packed = packing.strassen_panels(w.T.reshape(16, 1, 1, 8), call, nr=4)
    else:
        call = packing.Call({"trans_b": trans_b})
        packed = packing.strassen_matmul_panels(w.T if trans_b else w, call, nr=4)
    assert packed.shape == (7, 2, 4, 4) and packed.dtype == np.float32
    (x11, x12), (x21, x22) = (np.split(rows, 2, axis=1) for rows in np.split(x, 2))
    s1 = x21 + x22
    s2 = s1 - x11
    sums = [x11, x12, x12 - s2, x22, s1, s2, x11 - x21]
    matrices = packed.swapaxes(1, 2).reshape(7, 4, 8)
    p1, p2, p3, p4, p5, p6, p7 = (a @ b for a, b in zip(sums, matrices, strict=True))
    quarters = [[p1 + p2, p1 + p6 + p5 + p3], [p1 + p6 + p7 + p4, p1 + p6 + p7 + p5]]
    np.testing.assert_array_equal(np.block(quarters), x @ w)


def test_strassen_panels_round_once() -> None:
    w = np.random.default_rng(2).standard_normal((16, 1, 1, 8)).astype(np.float32)
    packed = packing.strassen_panels(w, packing.Call({"g": 1}), nr=4)
    rows = w.reshape(16, 8).astype(np.float64)
    t4 = rows[:8, 4:] - rows[8:, 4:] + rows[8:, :4] - rows[:8, :4]
    matrix = packed[3].swapaxes(0, 1).reshape(4, 8)
    np.testing.assert_array_equal(matrix, t4.T.astype(np.float32))


@pytest.mark.parametrize("trans_b", [0, 1])
@pytest.mark.parametrize("n", [0, 1, 8, 13])
def test_matmul_panels_address(trans_b: int, n: int) -> None:
    rhs = _ramp(6, n)
    operand = rhs.T if trans_b else rhs
    packed = packing.matmul_panels(operand[None], packing.Call({"trans_b": trans_b}), nr=8)
    assert packed.shape == (-(-n // 8), 6, 8)
    for j in range(n):
        np.testing.assert_array_equal(packed[j // 8, :, j % 8], rhs[:, j])
    assert packed.sum() == rhs.sum()


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize(("k", "block"), [(7, 7), (12, 4), (11, 4), (9, 3)])
def test_wq_panels_address(bits: int, k: int, block: int) -> None:
    """Block by block, two numbers of 4 bits to a byte, the first in the lower half."""
    limit = 1 << (bits - 1)
    rows = np.random.default_rng(k).integers(-limit, limit, (5, k), np.int8)
    packed = packing.wq_panels(rows, packing.Call({"bits": bits, "block": block}), nr=8)
    assert packed.dtype == np.int8 and not packed[0, :, 5:].any()
    found = []
    at = 0
    for begin in range(0, k, block):
        length = min(block, k - begin)
        for i in range(length):
            each = packed[0, at + (i // 2 if bits == 4 else i), :5].astype(int)
            found.append(each if bits == 8 else ((each >> 4 * (i % 2)) & 15 ^ 8) - 8)
        at += -(-length // 2) if bits == 4 else length
    assert at == packed.shape[1]
    np.testing.assert_array_equal(np.stack(found, axis=1), rows)


def test_wq_blocks_address() -> None:
    scales = _ramp(6)
    facts = {"k": 11, "block": 4, "channel_scales": 1}
    packed = packing.wq_blocks(scales, packing.Call(facts), nr=8)
    assert packed.shape == (1, 3, 8) and not packed[..., 2:].any()
    np.testing.assert_array_equal(packed[0, :, :2], scales.reshape(2, 3).T)
    one = packing.wq_blocks(scales[:1], packing.Call({**facts, "channel_scales": 0}), nr=8)
    np.testing.assert_array_equal(one, scales[:1])


def test_dw_taps_rows_are_taps() -> None:
    w = _ramp(5, 3, 2, 1)
    packed = packing.dw_taps(w, packing.Call({}))
    np.testing.assert_array_equal(
        packed, np.stack([w[:, i, j, 0] for i in range(3) for j in range(2)])
    )
    assert packed.flags.c_contiguous


def test_packers_keep_the_dtype() -> None:
    w = _ramp(3, 1, 1, 2).astype(np.float16)
    for name, facts, options in [
        ("gemm_panels", {"g": 1}, {"nr": 8}),
        ("dw_taps", {}, {}),
    ]:
        how = Packing(name, tuple(options.items()))
        packed = packing.apply((("w", how),), packing.Call(facts, {"w": w}))
        assert packed["w"].dtype == np.float16


def test_every_pack_line_names_a_packer() -> None:
    named = {how.name for kernel in registry.kernels() for _, how in kernel.pack}
    assert named == packing.PACKERS.keys(), "every packer is some kernel's"


def test_unknown_packer_is_named() -> None:
    how = Packing("spiral")
    with pytest.raises(ValueError, match=re.escape("'spiral'")):
        packing.apply((("w", how),), packing.Call({}, {"w": _ramp(2)}))


def test_packer_sees_all_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an integer kernel needs it: what its input's zero point adds is taken off the bias."""

    def less_zero_point(array: np.ndarray, call: packing.Call, zero: int) -> np.ndarray:
        return array - zero * call.constants["w"].astype(np.int32).sum((1, 2, 3))

    monkeypatch.setitem(packing.PACKERS, "less_zero_point", less_zero_point)
    monkeypatch.setitem(packing.PACKERS, "backwards", lambda array, call: array[::-1])
    w = np.arange(-6, 6, dtype=np.int8).reshape(3, 2, 1, 2)
    bias = np.array([10, 20, 30], np.int32)
    lines = (
        ("w", Packing("backwards")),
        ("bias", Packing("less_zero_point", (("zero", 3),))),
    )
    packed = packing.apply(lines, packing.Call({}, {"w": w, "bias": bias}))
    assert packed["bias"].tolist() == [10 + 3 * 18, 20 + 3 * 2, 30 - 3 * 14]
    np.testing.assert_array_equal(packed["w"], w[::-1])


def test_what_is_packed_is_constant() -> None:
    how = Packing("dw_taps")
    with pytest.raises(ValueError, match="'w' is computed at run time, so dw_taps cannot"):
        packing.apply((("w", how),), packing.Call({}, {"bias": _ramp(2)}))


@pytest.mark.parametrize(("kr", "chunk"), [(4, 4), (8, 8), (8, 16)])
@pytest.mark.parametrize(("groups", "icg", "few"), [(1, 3, 16), (1, 3, 0), (2, 21, 16)])
def test_qgemm_panels_address(kr: int, chunk: int, groups: int, icg: int, few: int) -> None:
    """Run by run, a column's k in chunks, then in groups, of which those of 8 columns are side by
    side."""
    per_group, kh, kw, nr = 11, 2, 3, 8
    rng = np.random.default_rng(0)
    w = rng.integers(-128, 128, (groups * per_group, kh, kw, icg), np.int8)
    call = packing.Call({"g": groups, "dw": 1})
    packed = packing.qgemm_panels(w, call, nr=nr, kr=kr, chunk=chunk, few=few).reshape(-1)
    runs = kh if few and groups == 1 else kh * kw
    length = kh * kw * icg // runs
    depth = -(-length // kr) * kr
    want = np.zeros(groups * 2 * runs * depth * nr, np.int8)
    for o in range(groups * per_group):
        group, lane = divmod(o, per_group)
        for k, value in enumerate(w[o].reshape(-1)):
            run, at = divmod(k, length)
            size = chunk if at < depth // chunk * chunk else kr
            first = at // size * size if size == kr or at < depth // chunk * chunk else 0
            place = first * nr + lane % nr * size + at - first
            want[((group * 2 + lane // nr) * runs + run) * depth * nr + place] = value
    np.testing.assert_array_equal(packed, want)


@pytest.mark.parametrize("trans_b", [0, 1])
def test_qmatmul_panels_are_those_of_one_tap(trans_b: int) -> None:
    w = np.random.default_rng(0).integers(-128, 128, (11, 21), np.int8)
    call = packing.Call({"trans_b": trans_b, "g": 1, "dw": 1})
    packed = packing.qmatmul_panels(w if trans_b else w.T, call, nr=8, kr=4, chunk=4)
    tap = packing.qgemm_panels(w.reshape(11, 1, 1, 21), call, nr=8, kr=4, chunk=4, few=16)
    np.testing.assert_array_equal(packed, tap.reshape(packed.shape))


@pytest.mark.parametrize(("dtype", "flip", "point"), [("u8", 1, 3), ("u8", 0, 131), ("i8", 1, 131)])
def test_qgemm_bias_holds_the_zero_point(dtype: str, flip: int, point: int) -> None:
    w = np.full((2, 1, 1, 5), -128, np.int8)
    bias = np.array([7, -(2**31)], np.int32)
    facts = {"zero_operand": 0, "x_zero": 131, "w_zero": 0, "X": dtype}
    packed = packing.qgemm_bias(bias, packing.Call(facts, {"w": w}), flip=flip)
    assert packed.tolist() == [7 + point * 640, -(2**31) + point * 640]
    centred = packing.Call({**facts, "w_zero": -128}, {"w": w})
    assert packing.qgemm_bias(bias, centred, flip=flip).tolist() == bias.tolist()
    open_point = packing.Call({**facts, "zero_operand": 1}, {"w": w})
    assert packing.qgemm_bias(bias, open_point, flip=flip).tolist() == [*bias.tolist(), -640, -640]


def test_dw_columns_hold_a_column_and_end_with_the_last_channel() -> None:
    w = np.arange(1, 91, dtype=np.int8).reshape(10, 3, 3, 1)
    packed = packing.dw_columns(w, packing.Call({}), lanes=8)
    assert packed.shape == (2, 3, 8, 4)
    for block, start in enumerate((0, 2)):
        for column in range(3):
            for lane in range(8):
                taps = [*w[start + lane, :, column, 0], 0]
                assert packed[block, column, lane].tolist() == taps
