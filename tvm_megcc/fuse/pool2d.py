"""pool2d and global_pool: ``nn.max_pool2d``, ``nn.avg_pool2d`` and means over H and W, in NHWC."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tvm.relax.dpl import is_op, wildcard

from tvm_megcc.dims import Size
from tvm_megcc.fuse.epilogue import Tail
from tvm_megcc.fuse.request import Anchor, Parts, Request, anchor_of
from tvm_megcc.kernels.contract import codes
from tvm_megcc.relax_tools.calls import op_name, reduced_axes
from tvm_megcc.relax_tools.exprs import dtype_of


def anchors() -> Iterator[Anchor]:
    for name, func in (("max_pool2d", "MAX"), ("avg_pool2d", "AVG")):
        build = partial(_windowed, codes("pool2d")[func])
        yield anchor_of(f"relax.nn.{name}", f"pool.{name}", build)
    x = wildcard()
    wide = is_op("relax.astype")(x)  # kernels add up f16 in f32
    build = partial(_global, codes("global_pool")["AVG"])
    yield Anchor("pool.wide_mean", is_op("relax.mean")(wide), {"x": x}, build, again=(wide,))
    for name, func in (("nn.adaptive_avg_pool2d", "AVG"), ("max", "MAX"), ("mean", "AVG")):
        build = partial(_global, codes("global_pool")[func])
        yield anchor_of(f"relax.{name}", f"pool.{name.removeprefix('nn.')}", build)


def windows(parts: Parts) -> dict[str, Size] | None:
    """Facts of `op/pool2d.h` about the windows of ``nn.*_pool2d``; None if not NHWC."""
    x, call = parts["x"], parts["root"]
    attrs, shape, out = call.attrs, parts.shape_of(x), parts.shape_of(call)
    if str(attrs.layout) != "NHWC" or shape is None or out is None:
        return None
    (kh, kw), (sh, sw), (dh, dw) = (
        [int(v) for v in a] for a in (attrs.pool_size, attrs.strides, attrs.dilation)
    )
    top, left, bottom, right = (int(v) for v in attrs.padding)
    return {
        "n": shape[0], "h": shape[1], "w": shape[2],
        "c": shape[3], "oh": out[1], "ow": out[2], "kh": kh, "kw": kw, "sh": sh, "sw": sw,
        "dh": dh, "dw": dw, "pt": top, "pl": left, "pb": bottom, "pr": right,
        "count_include_pad": int(bool(attrs.count_include_pad)),
    }  # fmt: skip


def _windowed(func: int, parts: Parts, tail: Tail) -> Request | None:
    facts = windows(parts)
    return None if facts is None else Request("pool2d", {"func": func, **facts}, {"x": parts["x"]})


def whole_image(parts: Parts) -> tuple[Size, ...] | None:
    """Shape ``[n, h, w, c]`` of an image that a call reduces to one pixel, or None."""
    call = parts["root"]
    shape, out = parts.shape_of(parts["x"]), parts.shape_of(call)
    if shape is None or len(shape) != 4 or 0 in shape:
        return None
    if op_name(call) == "relax.nn.adaptive_avg_pool2d":
        is_whole = str(call.attrs.layout) == "NHWC" and out is not None and out[1:3] == (1, 1)
    else:
        is_whole = reduced_axes(call) == [1, 2]
    return shape if is_whole else None


def _global(func: int, parts: Parts, tail: Tail) -> Request | None:
    shape = whole_image(parts)
    if shape is None or dtype_of(parts["x"]) not in ("f32", "f16"):
        return None
    n, h, w, c = shape
    facts = {"func": func, "n": n, "hw": h * w, "c": c}
    return Request("global_pool", facts, {"x": parts["x"]})
