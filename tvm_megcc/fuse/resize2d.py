"""resize2d: ``image.resize2d`` in NHWC, nearest and linear."""

from __future__ import annotations

from collections.abc import Iterator

from tvm_megcc.dims import Size
from tvm_megcc.fuse.epilogue import Tail
from tvm_megcc.fuse.request import Anchor, Parts, Request, anchor_of
from tvm_megcc.kernels.contract import codes

#: Modes of Relax -> names of codes in ``op/resize2d.h``.
MODES = {"nearest_neighbor": "NEAREST", "linear": "LINEAR"}
COORDINATES = {
    name: name.upper()
    for name in ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")
}
ROUNDING = {
    "floor": "FLOOR", "ceil": "CEIL", "round_prefer_floor": "PREFER_FLOOR",
    "round": "PREFER_FLOOR", "round_prefer_ceil": "PREFER_CEIL",
}  # fmt: skip


def anchors() -> Iterator[Anchor]:
    yield anchor_of("relax.image.resize2d", "resize2d", _request)


def _request(parts: Parts, tail: Tail) -> Request | None:
    facts = sampling(parts)
    return None if facts is None else Request("resize2d", facts, {"x": parts["x"]})


def sampling(parts: Parts) -> dict[str, Size | float] | None:
    """Facts of a call without types; None if ``op/resize2d.h`` has no code for a mode."""
    x, attrs = parts["x"], parts["root"].attrs
    shape, out = parts.shape_of(x), parts.shape_of(parts["root"])
    mode = MODES.get(str(attrs.method))
    coordinates = COORDINATES.get(str(attrs.coordinate_transformation_mode))
    rounding = ROUNDING.get(str(attrs.rounding_method) or "floor")
    if mode == "LINEAR":  # which rounds nothing
        rounding = rounding or "FLOOR"
    layout = str(attrs.layout)
    if shape is None or out is None or layout not in ("NHWC", "NCHW"):
        return None
    if mode is None or coordinates is None or rounding is None:
        return None
    code = codes("resize2d")
    nchw = int(layout == "NCHW")
    at = (2, 3, 1) if nchw else (1, 2, 3)
    return {
        "nchw": nchw, "mode": code[mode], "n": shape[0], "c": shape[at[2]],
        "h": shape[at[0]], "w": shape[at[1]], "oh": out[at[0]], "ow": out[at[1]],
        "scale_h": 0.0, "scale_w": 0.0, "coord": code[coordinates],
        "round": code[rounding],
    }  # fmt: skip
