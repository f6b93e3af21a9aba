"""conv2d: ``nn.conv2d`` in NHWC/OHWI by weights that are constant, cast or computed; of planes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from tvm import relax
from tvm.relax.dpl import is_const, is_op, wildcard

from tvm_megcc.core.dtypes import numpy_dtype
from tvm_megcc.dims import Size, fixed
from tvm_megcc.fuse.epilogue import Tail, activation, bias, residual
from tvm_megcc.fuse.movement import transposed
from tvm_megcc.fuse.request import Anchor, Instead, Parts, Request, channel_vector
from tvm_megcc.relax_tools.calls import permutation_of
from tvm_megcc.relax_tools.exprs import constant, dtype_of, of_channels

_PLANES_TO_LAST = [0, 2, 3, 1]


def anchors() -> Iterator[Anchor]:
    x, w = wildcard(), is_const()
    planes, shift = wildcard(), is_const()
    shifted = is_op("relax.add")(planes, shift)
    for name, image, parts in (
        ("conv2d_of_planes", planes, {}),
        ("conv2d_of_shifted_planes", shifted, {"shift": shift}),
    ):
        last = is_op("relax.permute_dims")(image)
        yield Anchor(
            name, is_op("relax.nn.conv2d")(last, w),
            {"planes": planes, "image": image, "x": last, "w": w, **parts}, _of_planes,
            (bias, activation), instead=_moved_first,
        )  # fmt: skip
    pattern = is_op("relax.nn.conv2d")(x, w)
    yield Anchor(
        "conv2d_of_a_plane", pattern, {"x": x, "w": w}, _of_one_plane,
        (bias, activation), instead=_as_it_is,
    )  # fmt: skip
    steps = (bias, residual, activation)
    yield Anchor("conv2d", pattern, {"x": x, "w": w}, _request, steps)
    narrow = is_op("relax.nn.conv2d")(x, is_op("relax.astype")(w))
    yield Anchor("conv2d_of_narrow_weights", narrow, {"x": x, "w": w}, _request, steps)
    computed = wildcard()
    yield Anchor(
        "conv2d_of_computed_weights", is_op("relax.nn.conv2d")(x, computed),
        {"x": x, "w": computed}, _computed, steps,
    )  # fmt: skip


def _request(parts: Parts, tail: Tail) -> Request | None:
    facts, added = geometry(parts), _bias(parts, tail)
    if facts is None or added is None:
        return None
    operands = {"x": parts["x"], "w": parts["w"], "bias": added, **tail.operands}
    return Request("conv2d", {**facts, **tail.facts}, operands)


def _computed(parts: Parts, tail: Tail) -> Request | None:
    """As `_request`, of weights that are no constants."""
    if constant(parts["w"]) is not None:
        return None
    request = _request(parts, tail)
    return None if request is None else replace(request, op="conv2d_computed")


def _bias(parts: Parts, tail: Tail) -> np.ndarray | None:
    """Bias vector, zeros by default; None if the bias is not one number for each channel."""
    shape = parts.shape_of(parts["w"])
    if not shape or not isinstance(shape[0], int):
        return None
    if tail.bias is not None:
        return channel_vector(tail.bias, shape[0])
    # The type of the sums.
    return np.zeros(fixed(shape[0]), numpy_dtype(dtype_of(parts["root"])))


def _of_planes(parts: Parts, tail: Tail) -> Request | None:
    """Request for a convolution of an NCHW image, the transpose to NHWC before it included.

    Between both a constant for each channel may be added. None where no kernel takes this.
    """
    if permutation_of(parts["x"]) != _PLANES_TO_LAST:
        return None
    shape = parts.shape_of(parts["planes"])
    if "shift" not in parts:
        return _planes(parts, parts["planes"], tail)
    if shape != parts.shape_of(parts["image"]) or shape is None:
        return None
    given = constant(parts["shift"])
    shift = None if given is None else of_channels(given, fixed(shape[1]))
    return None if shift is None else _planes(parts, parts["planes"], tail, shift)


def _of_one_plane(parts: Parts, tail: Tail) -> Request | None:
    """An image of one channel, which is a plane in any layout."""
    facts = geometry(parts)
    return _planes(parts, parts["x"], tail) if facts is not None and facts["ic"] == 1 else None


def _planes(
    parts: Parts, planes: relax.Expr, tail: Tail, shift: np.ndarray | None = None
) -> Request | None:
    """A convolution of `planes` plus `shift` by channel: the padding is then -shift."""
    facts, added, weights = geometry(parts), _bias(parts, tail), constant(parts["w"])
    if facts is None or added is None or weights is None or facts.pop("g") != 1:
        return None
    dtype = numpy_dtype(dtype_of(planes))
    outside = np.zeros(fixed(facts["ic"]), dtype)
    if shift is not None:
        outside = -shift.astype(dtype)
        with np.errstate(all="ignore"):
            moved = added + weights.astype(np.float64).sum((1, 2)) @ -outside
            added = moved.astype(added.dtype)
        if not np.isfinite(added).all():  # inf * 0, which the sum of some windows is not
            return None
    operands = {"x": planes, "w": parts["w"], "bias": added, "pad": outside}
    return Request("conv2d_planes", {**facts, **tail.activation, "lines": 0}, operands)


def _moved_first(parts: Parts, tail: Tail) -> list[Instead]:
    moved = transposed(parts, parts["image"], parts["x"])
    return [Instead(moved, parts["x"]), *_as_it_is(parts, tail)]


def _as_it_is(parts: Parts, tail: Tail) -> list[Instead]:
    return [Instead(_request(parts, tail))]


def geometry(parts: Parts) -> dict[str, Size] | None:
    """Facts of the convolution ``root`` of ``x`` and ``w``; None unless channels are last."""
    conv = parts["root"]
    attrs = conv.attrs
    shapes = [parts.shape_of(e) for e in (parts["x"], parts["w"], conv)]
    layouts = [str(v) for v in (attrs.data_layout, attrs.kernel_layout, attrs.out_layout)]
    if layouts != ["NHWC", "OHWI", "NHWC"] or None in shapes:
        return None
    (n, h, width, ic), (oc, kh, kw, _), (_, oh, ow, _) = shapes  # type: ignore[misc]
    stride, dilation = [[int(v) for v in a] for a in (attrs.strides, attrs.dilation)]
    top, left, bottom, right = (int(v) for v in attrs.padding)
    return {
        "n": n, "h": h, "w": width, "ic": ic, "oh": oh, "ow": ow, "oc": oc,
        "kh": kh, "kw": kw, "sh": stride[0], "sw": stride[1], "dh": dilation[0],
        "dw": dilation[1], "pt": top, "pl": left, "pb": bottom, "pr": right,
        "g": int(attrs.groups),
    }  # fmt: skip
