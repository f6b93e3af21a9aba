"""Convolutions, pooling and resizing in other layouts, for `channels_first`, `channels_last`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tvm import relax

from tvm_megcc.relax_tools.calls import op_name, rebuilt
from tvm_megcc.relax_tools.traits import CONVOLUTIONS, POOLS, named

NCHW_OF_NHWC = (0, 3, 1, 2)  # logical NCHW = permute_dims(raw NHWC, these axes)
NHWC_OF_NCHW = (0, 2, 3, 1)

#: Operators that have layouts.
_WITH_LAYOUTS = CONVOLUTIONS | POOLS | named("image.resize2d image.resize3d")

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
    if op_name(call) not in _WITH_LAYOUTS:
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
    space = "".join(letter for letter in "DHW" if letter in given.data)
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
    names = {
        "layout": wanted.data, "data_layout": wanted.data, "kernel_layout": wanted.kernel,
        "out_layout": wanted.out,
    }  # fmt: skip
    return rebuilt(call, args, **{n: v for n, v in names.items() if hasattr(call.attrs, n)}), out
