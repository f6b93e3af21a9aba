"""conv2d: ``nn.conv2d`` in NHWC/OHWI with constant weights."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from tvm.relax.dpl import is_const, is_op, wildcard

from tvm_megcc.core.dtypes import numpy_dtype
from tvm_megcc.dims import Size, fixed
from tvm_megcc.fuse.epilogue import Tail, activation, bias, residual
from tvm_megcc.fuse.request import Anchor, Parts, Request, channel_vector
from tvm_megcc.relax_tools.exprs import dtype_of


def anchors() -> Iterator[Anchor]:
    x, w = wildcard(), is_const()
    pattern = is_op("relax.nn.conv2d")(x, w)
    yield Anchor("conv2d", pattern, {"x": x, "w": w}, _request, (bias, residual, activation))


def _request(parts: Parts, tail: Tail) -> Request | None:
    x, w, conv = parts["x"], parts["w"], parts["root"]
    facts = geometry(parts)
    if facts is None:
        return None
    oc = facts["oc"]
    plain = np.zeros(fixed(oc), numpy_dtype(dtype_of(conv)))  # in the type in which the sums are
    added = plain if tail.bias is None else channel_vector(tail.bias, oc)
    if added is None:
        return None
    return Request(
        "conv2d", {**facts, **tail.facts}, {"x": x, "w": w, "bias": added, **tail.operands}
    )


def geometry(parts: Parts) -> dict[str, Size] | None:
    """The sizes and attributes of the convolution ``root`` of ``x`` and ``w``, channels last."""
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
