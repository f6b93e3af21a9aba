"""Convolutions, pooling and resizing as NHWC, for `channels_last`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tvm
from tvm import relax

NCHW_OF_NHWC = (0, 3, 1, 2)  # logical NCHW = permute_dims(raw NHWC, these axes)
NHWC_OF_NCHW = (0, 2, 3, 1)

#: An expression in the order of axes in which it is permuted.
Raw = Callable[[relax.Expr, tuple[int, ...]], relax.Expr]


def _ints(values: Sequence[object]) -> list[int]:
    return [int(v) for v in values]  # type: ignore[call-overload]


def conv2d(raw: Raw, args: list[relax.Expr], attrs: tvm.ir.Attrs) -> relax.Expr:
    """A convolution of NHWC, whatever the layout of its weights is."""
    return relax.op.nn.conv2d(
        args[0],
        raw(args[1], tuple(map("OHWI".index, str(attrs.kernel_layout)))),
        strides=_ints(attrs.strides),
        padding=_ints(attrs.padding),
        dilation=_ints(attrs.dilation),
        groups=int(attrs.groups),
        data_layout="NHWC",
        kernel_layout="OHWI",
    )


def conv2d_transpose(raw: Raw, args: list[relax.Expr], attrs: tvm.ir.Attrs) -> relax.Expr:
    """A transposed convolution of NCHW, whatever the layout of its weights is."""
    return relax.op.nn.conv2d_transpose(
        args[0],
        raw(args[1], tuple(map("IOHW".index, str(attrs.kernel_layout)))),
        strides=_ints(attrs.strides),
        padding=_ints(attrs.padding),
        output_padding=_ints(attrs.output_padding),
        dilation=_ints(attrs.dilation),
        groups=int(attrs.groups),
    )


def _pool2d(name: str) -> Callable[[Raw, list[relax.Expr], tvm.ir.Attrs], relax.Expr]:
    def build(raw: Raw, args: list[relax.Expr], attrs: tvm.ir.Attrs) -> relax.Expr:
        return getattr(relax.op.nn, name)(
            args[0],
            pool_size=_ints(attrs.pool_size),
            strides=_ints(attrs.strides),
            padding=_ints(attrs.padding),
            dilation=_ints(attrs.dilation),
            ceil_mode=bool(attrs.ceil_mode),
            count_include_pad=bool(attrs.count_include_pad),
            layout="NHWC",
        )

    return build


def _adaptive(raw: Raw, args: list[relax.Expr], attrs: tvm.ir.Attrs) -> relax.Expr:
    size = attrs.output_size
    wanted = None if size is None else _ints(size)
    return relax.op.nn.adaptive_avg_pool2d(args[0], output_size=wanted, layout="NHWC")


def _resize2d(raw: Raw, args: list[relax.Expr], attrs: tvm.ir.Attrs) -> relax.Expr:
    return relax.op.image.resize2d(
        args[0],
        args[1],
        roi=[float(v) for v in attrs.roi],
        layout="NHWC",
        method=str(attrs.method),
        coordinate_transformation_mode=str(attrs.coordinate_transformation_mode),
        rounding_method=str(attrs.rounding_method),
        cubic_alpha=float(attrs.cubic_alpha),
        cubic_exclude=int(attrs.cubic_exclude),
        extrapolation_value=float(attrs.extrapolation_value),
        out_dtype=str(attrs.out_dtype) if attrs.out_dtype else None,
    )


#: Operators with H and W: the attribute that names their layout, and how to build the NHWC form.
SPATIAL = {
    "relax.nn.conv2d": ("data_layout", conv2d),
    "relax.nn.max_pool2d": ("layout", _pool2d("max_pool2d")),
    "relax.nn.avg_pool2d": ("layout", _pool2d("avg_pool2d")),
    "relax.nn.adaptive_avg_pool2d": ("layout", _adaptive),
    "relax.image.resize2d": ("layout", _resize2d),
}
