"""conv2d: ``nn.conv2d`` in NHWC/OHWI with constant weights, and its epilogue."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from tvm.relax.dpl import is_const, is_op, wildcard

from tvm_megcc.kernels.epilogue import Epilogue, epilogues
from tvm_megcc.kernels.request import Parts, Request, Row, channel_vector, dtype_of, shape_of

_ANCHOR = frozenset({"relax.nn.conv2d"})


def rows() -> Iterator[Row]:
    x, w = wildcard(), is_const()
    conv = is_op("relax.nn.conv2d")(x, w)
    for epilogue in epilogues(conv):
        parts = {"x": x, "w": w, "conv": conv, **epilogue.parts}
        build = partial(_request, epilogue)
        yield Row(f"conv2d.{epilogue.name}", _ANCHOR, epilogue.output, parts, build)


def _request(epilogue: Epilogue, parts: Parts) -> Request | None:
    x, w, conv = parts["x"], parts["w"], parts["conv"]
    attrs = conv.attrs
    shapes = [shape_of(e) for e in (x, w, conv)]
    if str(attrs.data_layout) != "NHWC" or str(attrs.out_layout) != "NHWC" or None in shapes:
        return None
    (n, h, width, ic), (oc, kh, kw, _), (_, oh, ow, _) = shapes  # type: ignore[misc]
    bias = np.zeros(oc, np.float32)
    if "bias" in epilogue.parts:
        found = channel_vector(parts["bias"], oc)
        if found is None:
            return None
        bias = found
    tail = epilogue.facts(parts, conv)
    if tail is None:
        return None
    stride, dilation = [[int(v) for v in a] for a in (attrs.strides, attrs.dilation)]
    top, left, bottom, right = (int(v) for v in attrs.padding)
    facts = {
        "dtype": dtype_of(x), "n": n, "h": h, "w": width, "ic": ic, "oh": oh, "ow": ow, "oc": oc,
        "kh": kh, "kw": kw, "sh": stride[0], "sw": stride[1], "dh": dilation[0],
        "dw": dilation[1], "pt": top, "pl": left, "pb": bottom, "pr": right,
        "g": int(attrs.groups), **tail,
    }  # fmt: skip
    residual = (parts["residual"],) if tail["residual"] else ()
    return Request("conv2d", facts, (x, w, bias, *residual))
