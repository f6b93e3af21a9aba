"""resize2d: ``image.resize2d`` in NHWC, nearest and linear."""

from __future__ import annotations

from collections.abc import Iterator

from tvm.relax.dpl import is_op, wildcard

from tvm_megcc.fuse.epilogue import Tail
from tvm_megcc.fuse.request import Anchor, Parts, Request
from tvm_megcc.relax_tools.exprs import dtype_of, shape_of

#: Codes of ``codegen_c/include/op/resize2d.h``.
MODES = {"nearest_neighbor": 0, "linear": 1}
COORDINATES = {
    "half_pixel": 0,
    "align_corners": 1,
    "asymmetric": 2,
    "pytorch_half_pixel": 3,
}
ROUNDING = {"floor": 0, "ceil": 1, "round_prefer_floor": 2, "round": 2, "round_prefer_ceil": 3}


def anchors() -> Iterator[Anchor]:
    op = "relax.image.resize2d"
    x = wildcard()
    pattern = is_op(op)(x, varg_default_wildcard=True)
    yield Anchor("resize2d", pattern, {"x": x}, _request)


def _request(parts: Parts, tail: Tail) -> Request | None:
    x, attrs = parts["x"], parts["root"].attrs
    shape, out = shape_of(x), shape_of(parts["root"])
    mode = MODES.get(str(attrs.method))
    coordinates = COORDINATES.get(str(attrs.coordinate_transformation_mode))
    rounding = ROUNDING.get(str(attrs.rounding_method) or "floor", None if mode == 0 else 0)
    layout = str(attrs.layout)
    if shape is None or out is None or layout not in ("NHWC", "NCHW"):
        return None
    if mode is None or coordinates is None or rounding is None:
        return None
    nchw = int(layout == "NCHW")
    at = (2, 3, 1) if nchw else (1, 2, 3)
    facts = {
        "dtype": dtype_of(x), "nchw": nchw, "mode": mode, "n": shape[0], "c": shape[at[2]],
        "h": shape[at[0]], "w": shape[at[1]], "oh": out[at[0]], "ow": out[at[1]],
        "scale_h": 0.0, "scale_w": 0.0, "coord": coordinates, "round": rounding,
    }  # fmt: skip
    return Request("resize2d", facts, (x,))
