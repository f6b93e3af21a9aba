"""Convolutions, pooling and resizing in other layouts, for `channels_first`, `channels_last`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax

from tvm_megcc.relax_tools.calls import op_name

NCHW_OF_NHWC = (0, 3, 1, 2)  # logical NCHW = permute_dims(raw NHWC, these axes)
NHWC_OF_NCHW = (0, 2, 3, 1)

#: An expression in the order of axes in which it is permuted.
Raw = Callable[[relax.Expr, tuple[int, ...]], relax.Expr]


@dataclass(frozen=True, slots=True)
class Layouts:
    """Layouts of an operator's data, of its weights (empty: it has none) and of its result."""

    data: str
    kernel: str
    out: str


def layouts_of(call: relax.Expr) -> Layouts | None:
    """The layouts of a convolution, pooling or resizing; None for any other operator."""
    if op_name(call) not in _BUILD:
        return None
    attrs = call.attrs
    data = str(attrs.data_layout if hasattr(attrs, "data_layout") else attrs.layout)
    kernel = str(getattr(attrs, "kernel_layout", ""))
    return Layouts(data, kernel, str(getattr(attrs, "out_layout", "")) or data)


def channels_first(call: relax.Expr) -> Layouts | None:
    """The layouts that ONNX has: ``NCHW`` and ``OIHW``, of any number of spatial dims."""
    given = layouts_of(call)
    if given is None:
        return None
    space = _space(given)
    channels = "IO" if "transpose" in op_name(call) else "OI"
    return Layouts(f"NC{space}", f"{channels}{space}" if given.kernel else "", f"NC{space}")


def channels_last(call: relax.Expr) -> Layouts | None:
    """The layouts that kernels have, ``NHWC`` and ``OHWI``; None for what no kernel computes."""
    given = layouts_of(call)
    if given is None or len(given.data) != 4 or "transpose" in op_name(call):
        return None
    return Layouts("NHWC", "OHWI" if given.kernel else "", "NHWC")


def relaid(
    raw: Raw, call: relax.Call, wanted: Layouts | None
) -> tuple[relax.Call, tuple[int, ...]] | None:
    """A call in the layouts that are wanted, and how its own result is permuted from that.

    None where there is no such form: `wanted` is None, or a layout of the call has other letters,
    as those of blocks have (``NCHW4c``).
    """
    given = layouts_of(call)
    if given is None or wanted is None:
        return None
    pairs = ((given.data, wanted.data), (given.kernel, wanted.kernel), (given.out, wanted.out))
    if any(sorted(old) != sorted(new) for old, new in pairs):
        return None
    data, kernel, out = (tuple(map(new.index, old)) for old, new in pairs)
    args = [raw(call.args[0], data), *call.args[1:]]
    if given.kernel:
        args[1] = raw(call.args[1], kernel)
    return _BUILD[op_name(call)](args, call.attrs, wanted), out


def _space(layouts: Layouts) -> str:
    return "".join(letter for letter in "DHW" if letter in layouts.data)


def _ints(values: Sequence[object]) -> list[int]:
    return [int(v) for v in values]  # type: ignore[call-overload]


Build = Callable[[list[relax.Expr], tvm.ir.Attrs, Layouts], relax.Call]


def _convolution(function: Callable[..., relax.Call]) -> Build:
    def build(args: list[relax.Expr], attrs: tvm.ir.Attrs, layouts: Layouts) -> relax.Call:
        more: dict[str, Any] = {}
        if hasattr(attrs, "output_padding"):
            more["output_padding"] = _ints(attrs.output_padding)
        return function(
            *args,
            strides=_ints(attrs.strides),
            padding=_ints(attrs.padding),
            dilation=_ints(attrs.dilation),
            groups=int(attrs.groups),
            data_layout=layouts.data,
            kernel_layout=layouts.kernel,
            out_dtype=_dtype(attrs),
            **more,
        )

    return build


def _pool(function: Callable[..., relax.Call]) -> Build:
    def build(args: list[relax.Expr], attrs: tvm.ir.Attrs, layouts: Layouts) -> relax.Call:
        return function(
            *args,
            pool_size=_ints(attrs.pool_size),
            strides=_ints(attrs.strides),
            padding=_ints(attrs.padding),
            dilation=_ints(attrs.dilation),
            ceil_mode=bool(attrs.ceil_mode),
            count_include_pad=bool(attrs.count_include_pad),
            layout=layouts.data,
        )

    return build


def _adaptive(function: Callable[..., relax.Call]) -> Build:
    def build(args: list[relax.Expr], attrs: tvm.ir.Attrs, layouts: Layouts) -> relax.Call:
        size = attrs.output_size
        wanted = None if size is None else _ints(size)
        return function(*args, output_size=wanted, layout=layouts.data)

    return build


def _resize(function: Callable[..., relax.Call]) -> Build:
    def build(args: list[relax.Expr], attrs: tvm.ir.Attrs, layouts: Layouts) -> relax.Call:
        return function(
            *args,
            roi=[float(v) for v in attrs.roi],
            layout=layouts.data,
            method=str(attrs.method),
            coordinate_transformation_mode=str(attrs.coordinate_transformation_mode),
            rounding_method=str(attrs.rounding_method),
            cubic_alpha=float(attrs.cubic_alpha),
            cubic_exclude=int(attrs.cubic_exclude),
            extrapolation_value=float(attrs.extrapolation_value),
            out_dtype=_dtype(attrs),
        )

    return build


def _dtype(attrs: tvm.ir.Attrs) -> str | None:
    return str(attrs.out_dtype) if attrs.out_dtype else None


def _builders() -> dict[str, Build]:
    nn, found = relax.op.nn, {}
    kinds: tuple[tuple[str, Callable[..., Build]], ...] = (
        ("conv{}d", _convolution),
        ("conv{}d_transpose", _convolution),
        ("max_pool{}d", _pool),
        ("avg_pool{}d", _pool),
        ("adaptive_avg_pool{}d", _adaptive),
    )
    for pattern, kind in kinds:
        for name in map(pattern.format, (1, 2, 3)):
            found[f"relax.nn.{name}"] = kind(getattr(nn, name))
    for name in ("resize2d", "resize3d"):
        found[f"relax.image.{name}"] = _resize(getattr(relax.op.image, name))
    return found


#: Operators that have layouts -> how to build a call of one in others.
_BUILD = _builders()
