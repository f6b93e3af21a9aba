"""Convolutions, pooling, products of matrices, resampling."""

from __future__ import annotations

import numpy as np

from tests.fuzz.data import F16, F32, F64, I32, I64
from tests.fuzz.operators._common import ints, often
from tests.fuzz.sketch import Sketch


def _window(s: Sketch, sizes, rank: int, pooling: bool = False) -> dict[str, object]:
    """Attributes of a window over spatial dims of these sizes."""
    dilated = s.rng.chance(0.25) and not pooling
    kernel = [s.rng.between(1, max(1, min(3, n))) for n in sizes]
    dilations = [s.rng.between(1, 2) if dilated else 1 for _ in range(rank)]
    found: dict[str, object] = {"kernel_shape": kernel}
    if dilated:
        found["dilations"] = dilations
    if s.rng.chance(0.6):
        found["strides"] = [s.rng.between(1, 3) for _ in range(rank)]
    kind = s.rng.below(5)
    if kind < 2:
        most = [(k - 1) * d for k, d in zip(kernel, dilations, strict=True)]
        found["pads"] = [s.rng.between(0, min(2, m)) for m in (*most, *most)]
    elif kind == 2:
        found["auto_pad"] = s.rng.one(("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"))
        if found["auto_pad"] != "NOTSET":
            found.pop("dilations", None)
    return found


def _image(s: Sketch, rank: int, dtypes=(F32,), channels=None) -> str:
    def dims() -> tuple[int, ...]:
        sizes = [s.rng.one((1, 3, 4, 5, 6, 7, 8)) for _ in range(rank)]
        return (s.rng.one((1, 1, 2)), channels or s.rng.one((1, 2, 3, 4, 6, 8)), *sizes)

    return s.data(dtypes, rank=2 + rank, shape=dims, tame=True,
                  fits=lambda a: 0 not in a.shape and channels in (None, a.shape[1]))  # fmt: skip


@often(5)
def conv(s: Sketch) -> None:
    rank = s.rng.one((1, 2, 2, 2, 2, 3))
    dtype = s.rng.one((F32, F32, F32, F32, F16))
    x = _image(s, rank, (dtype,))
    n, c, *sizes = s.shape_of(x)
    attrs = _window(s, sizes, rank)
    group = s.rng.one([g for g in (1, 1, 2, 3, c) if c % g == 0])
    out = group * s.rng.one((1, 1, 2, 3, 4))
    kernel = attrs["kernel_shape"]
    w = s.give(s.rng.array(dtype, (out, c // group, *kernel), tame=True), 0.2)  # type: ignore[misc]
    b = s.give(s.rng.array(dtype, (out,), tame=True), 0.2) if s.rng.chance(0.6) else None
    if s.rng.chance(0.3):
        attrs.pop("kernel_shape")
    s.node("Conv", [x, w, b], group=group if group > 1 or s.rng.chance(0.5) else None, **attrs)


@often(3)
def conv_transpose(s: Sketch) -> None:
    rank = s.rng.one((1, 2, 2, 2))
    x = _image(s, rank)
    n, c, *sizes = s.shape_of(x)
    attrs = _window(s, [3] * rank, rank)
    group = s.rng.one([g for g in (1, 1, 2, c) if c % g == 0])
    strides = attrs.get("strides", [1] * rank)
    if s.rng.chance(0.3):
        attrs["output_padding"] = [s.rng.below(v) for v in strides]  # type: ignore[union-attr]
    w = s.give(s.rng.array(F32, (c, s.rng.between(1, 3), *attrs["kernel_shape"]), tame=True), 0.15)  # type: ignore[misc]
    b = (
        s.give(s.rng.array(F32, (s.shape_of(w)[1] * group,), tame=True), 0.2)
        if s.rng.chance(0.5)
        else None
    )
    s.node("ConvTranspose", [x, w, b], group=group, **attrs)


@often(5)
def pool(s: Sketch) -> None:
    op = s.rng.one(("MaxPool", "MaxPool", "AveragePool", "AveragePool", "LpPool"))
    rank = s.rng.one((1, 2, 2, 2, 3))
    x = _image(s, rank)
    attrs = _window(s, s.shape_of(x)[2:], rank, pooling=True)
    if (
        op == "MaxPool"
        and s.opset >= 10
        or op == "AveragePool"
        and s.opset >= 19
        or op == "LpPool"
        and s.opset >= 18
    ):
        if s.rng.chance(0.5):
            attrs["ceil_mode"] = s.rng.below(2)
        if s.rng.chance(0.2) and "auto_pad" not in attrs:
            attrs["dilations"] = [s.rng.between(1, 2) for _ in range(rank)]
    elif op == "AveragePool" and s.opset >= 10 and s.rng.chance(0.4):
        attrs["ceil_mode"] = s.rng.below(2)
    if op == "AveragePool":
        attrs["count_include_pad"] = s.rng.one((None, 0, 1))
    if op == "LpPool":
        attrs["p"] = s.rng.one((None, 1, 2, 3))
    s.node(op, [x], **attrs)


@often(2)
def global_pool(s: Sketch) -> None:
    op = s.rng.one(("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"))
    s.node(op, [_image(s, s.rng.one((1, 2, 2, 3)))])


@often(5)
def mat_mul(s: Sketch) -> None:
    dtypes = (F32, F32, F32, F64) if s.rng.chance(0.9) else (I32, I64)
    x = s.data(
        dtypes, fits=lambda a: a.ndim > 0, shape=lambda: s.rng.shape(s.rng.between(1, 4)), tame=True
    )
    shape = s.shape_of(x)
    k = shape[-1]
    if s.rng.chance(0.15):
        other: tuple[int, ...] = (k,)
    else:
        lead = [1 if s.rng.chance(0.3) else d for d in shape[:-2]]
        lead = lead[s.rng.below(len(lead) + 1) :] if s.rng.chance(0.4) else lead
        other = (*lead, k, s.rng.dim())
    y = s.data((s.dtype_of(x),), fits=lambda a: a.shape == other, shape=lambda: other, tame=True)
    if s.rng.chance(0.4):
        y = s.give(s.rng.array(s.dtype_of(x), other, tame=True), 0.1)
    s.node("MatMul", [x, y])


@often(4)
def gemm(s: Sketch) -> None:
    m, k, n = (s.rng.dim() for _ in range(3))
    dtype = s.rng.one((F32, F32, F32, F64, I32, F16))
    flags = {key: s.rng.below(2) for key in s.rng.some(("transA", "transB"))}
    scales = {key: s.rng.one((0.5, 2.0, 1.0, 0.0)) for key in s.rng.some(("alpha", "beta"))}
    if dtype == I32:
        scales = {}
    a_shape = (k, m) if flags.get("transA") else (m, k)
    a = s.data((dtype,), fits=lambda v: v.shape == a_shape, shape=lambda: a_shape, tame=True)
    b = s.give(s.rng.array(dtype, (n, k) if flags.get("transB") else (k, n), tame=True), 0.3)
    c = None
    if s.opset < 11 or s.rng.chance(0.7):
        c = s.give(
            s.rng.array(dtype, s.rng.one(((n,), (m, n), (1, n), (m, 1), (1,), ())), tame=True), 0.3
        )
    s.node("Gemm", [a, b, c], **flags, **scales)


#: Equation, then the letters of each operand.
_EINSUMS = (
    "ij,jk->ik ij jk",
    "bij,bjk->bik bij bjk",
    "ij->ji ij",
    "ij->i ij",
    "i,j->ij i j",
    "bhwc,hkc->bhwk bhwc hkc",
    "ij,ij-> ij ij",
    "ii->i ii",
    "...ij,...jk->...ik bij bjk",
    "ij,kj ij kj",
    "bnqd,bnkd->bnqk bnqd bnkd",
)


def _equation(s: Sketch) -> list[str]:
    """An equation of at most three operands, then their letters; one may repeat a letter."""
    letters = s.rng.shuffled("abcdhijk")[: s.rng.between(1, 5)]
    rows = [s.rng.shuffled(s.rng.some(letters))[:4] for _ in range(s.rng.one((1, 1, 2, 2, 2, 3)))]
    for row in rows:
        if row and len(row) < 4 and s.rng.chance(0.12):
            row.insert(s.rng.below(len(row) + 1), s.rng.one(row))
    used = sorted({letter for row in rows for letter in row})
    words = ["".join(row) for row in rows]
    equation = ",".join(words)
    if s.rng.chance(0.85):
        equation += "->" + "".join(s.rng.shuffled(s.rng.some(used)))
    # Without letters an operand is a scalar, of which split() would leave nothing.
    return [equation, *words]


@often(3)
def einsum(s: Sketch) -> None:
    if s.opset < 12:
        return
    equation, *shapes = s.rng.one(_EINSUMS).split() if s.rng.chance(0.5) else _equation(s)
    sizes = {letter: s.rng.dim(1) for letter in "abcdhijknqw"}
    rows = [s.rng.array(F32, [sizes[c] for c in row], tame=True) for row in shapes]
    s.node("Einsum", [s.give(row, 0.8) for row in rows], equation=equation)


@often(5)
def resize(s: Sketch) -> None:
    if s.opset < 11:
        return
    rank = s.rng.one((1, 2, 2, 2, 3))
    integer = s.rng.chance(0.15)
    x = _image(s, rank, (np.dtype("u1"), np.dtype("i1"), I32) if integer else (F32,))
    shape = s.shape_of(x)
    mode = s.rng.one(("nearest", "linear", "linear", "cubic"))
    attrs: dict[str, object] = {"mode": mode}
    frames = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]
    frames += ["half_pixel_symmetric"] * (s.opset >= 19)
    if s.rng.chance(0.8):
        attrs["coordinate_transformation_mode"] = s.rng.one(frames)
    if mode == "nearest" and s.rng.chance(0.7):
        attrs["nearest_mode"] = s.rng.one(
            ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
        )
    if mode == "cubic":
        attrs["cubic_coeff_a"] = s.rng.one((None, -0.5))
        attrs["exclude_outside"] = s.rng.one((None, 0, 1))
    axes = None
    used = list(range(len(shape)))
    if s.opset >= 18 and s.rng.chance(0.4):
        used = axes = list(range(2, len(shape)))
        attrs["axes"] = axes
    if s.opset >= 18 and mode != "nearest" and s.rng.chance(0.2):
        attrs["antialias"] = 1
    scales = [1.0 if a < 2 else s.rng.one((1.0, 2.0, 0.5, 1.5, 3.0, 0.6)) for a in used]
    empty = s.give(np.zeros(0, np.float32), 0) if s.opset < 13 else None
    if s.rng.chance(0.5):
        operands = [x, empty, s.give(np.array(scales, np.float32), 0.25)]
    else:
        sizes = [
            shape[a] if a < 2 else max(1, int(shape[a] * v))
            for a, v in zip(used, scales, strict=True)
        ]
        operands = [x, empty, empty, s.give(ints(*sizes), 0.25)]
        if s.opset >= 18 and axes and s.rng.chance(0.4):
            attrs["keep_aspect_ratio_policy"] = s.rng.one(("stretch", "not_larger", "not_smaller"))
    s.node("Resize", operands, **attrs)


@often(2)
def upsample(s: Sketch) -> None:
    if s.opset > 9:
        return
    x = _image(s, 2)
    scales = s.give(np.array([1, 1, s.rng.between(1, 3), s.rng.between(1, 3)], np.float32), 0.2)
    s.node("Upsample", [x, scales], mode=s.rng.one(("nearest", "linear")))


def max_unpool(s: Sketch) -> None:
    x = _image(s, 2)
    if min(s.shape_of(x)[2:]) < 2:
        return
    window = {"kernel_shape": [2, 2], "strides": [2, 2]}
    made = s.node("MaxPool", [x], 2, **window)
    if made is not None:
        s.node("MaxUnpool", made, **window)
