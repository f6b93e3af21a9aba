"""Sliding windows (convolution, pooling): ONNX's attributes made explicit."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tvm import relax

from ...dims import Size, ceildiv, compare, is_static, maximum
from .context import Attrs, Context, expr_dtype
from .slices import padded


@dataclass(frozen=True, slots=True)
class Window:
    """A window over the spatial axes; ``before`` and ``after`` are its paddings per axis."""

    kernel: list[int]
    strides: list[int]
    dilations: list[int]
    before: list[Size]
    after: list[Size]

    @property
    def padding(self) -> list[Size]:
        """Paddings in Relax's order: all ``before``, then all ``after``."""
        return [*self.before, *self.after]

    def reach(self, axis: int) -> int:
        """Elements between the first and one past the last that the window reads."""
        return (self.kernel[axis] - 1) * self.dilations[axis] + 1


def window(ctx: Context, attrs: Attrs, kernel: list[int], dims: tuple[Size, ...]) -> Window:
    """Resolve ``auto_pad``, ``pads``, ``strides`` and ``dilations`` for spatial ``dims``."""
    plain = plain_window(ctx, attrs, kernel)
    auto = attrs.get("auto_pad", "NOTSET")
    if auto in ("NOTSET", "VALID"):
        return plain
    if auto not in ("SAME_UPPER", "SAME_LOWER"):
        raise ctx.unsupported(f"auto_pad is '{auto}'", "give explicit pads")
    before: list[Size] = []
    after: list[Size] = []
    for axis, size in enumerate(dims):
        total = _same_padding(ctx, plain, axis, size)
        small, large = total // 2, total - total // 2
        before.append(small if auto == "SAME_UPPER" else large)
        after.append(large if auto == "SAME_UPPER" else small)
    return replace(plain, before=before, after=after)


def plain_window(ctx: Context, attrs: Attrs, kernel: list[int]) -> Window:
    """The window with its explicit ``pads``, or without padding where ``auto_pad`` is VALID.

    Refuses attributes that do not fit a window of these sizes, and an empty window.
    """
    rank = len(kernel)
    said = list(attrs.get("kernel_shape", kernel))
    if said != kernel or min(kernel, default=1) < 1:
        raise ctx.unsupported(
            f"kernel_shape is {said} and the weight's window {kernel}", "export the model again"
        )
    for name, count in (("strides", rank), ("dilations", rank), ("pads", 2 * rank)):
        given = list(attrs.get(name, [0] * count))
        if len(given) != count:
            raise ctx.unsupported(
                f"{name} is {given} where a window {kernel} has {count}", "export the model again"
            )
    strides = list(attrs.get("strides", [1] * rank))
    dilations = list(attrs.get("dilations", [1] * rank))
    pads: list[Size] = [0] * (2 * rank)
    if attrs.get("auto_pad") != "VALID":
        pads = list(attrs.get("pads", pads))
    return Window(list(kernel), strides, dilations, pads[:rank], pads[rank:])


def _same_padding(ctx: Context, plain: Window, axis: int, size: Size) -> Size:
    """Elements that ``auto_pad`` SAME adds along an axis.

    ONNX's sum is negative where windows leave gaps: -1 adds nothing on either side, but below that
    it would cut off the beginning, and runtimes (even one runtime's operators) differ in how much.
    """
    stride, reach = plain.strides[axis], plain.reach(axis)
    total = (ceildiv(size, stride) - 1) * stride + reach - size
    least = total if isinstance(total, int) else reach - stride
    if least < -1:
        of = f"a size of {size}" if isinstance(total, int) else "some sizes"
        raise ctx.unsupported(
            f"auto_pad SAME with a window that reaches {reach} elements in steps of {stride} means "
            f"a padding of {least} for {of}, which runtimes read differently",
            "give explicit pads",
        )
    # Where windows leave no gaps, the last one reaches the end.
    return total if reach >= stride and not isinstance(size, int) else maximum(total, 0)


def padded_window(
    ctx: Context, data: relax.Expr, win: Window, value: float
) -> tuple[relax.Expr, Window]:
    """The data with those paddings applied that depend on the shapes, and the window without."""
    if is_static(win.padding):
        return data, win
    zeros: list[Size] = [0] * len(win.kernel)
    fill = ctx.const(value, expr_dtype(data))
    data = padded(ctx, data, [0, 0, *win.before], [0, 0, *win.after], fill)
    return data, Window(win.kernel, win.strides, win.dilations, zeros, zeros)


def pooled_sizes(win: Window, dims: tuple[Size, ...], attrs: Attrs) -> tuple[Window, bool]:
    """The window with paddings that make ``ceil_mode`` a plain floor; and whether it grew."""
    # SAME defines the number of windows.
    if not attrs.get("ceil_mode", 0) or attrs.get("auto_pad", "").startswith("SAME"):
        return win, False
    after = list(win.after)
    for axis, size in enumerate(dims):
        stride = win.strides[axis]
        room = size + win.before[axis] + win.after[axis] - win.reach(axis)
        steps = ceildiv(room, stride)
        # A window has to start inside the input or the padding before it.
        steps = steps - 1 + compare("lt", steps * stride, size + win.before[axis])
        after[axis] = after[axis] + maximum(steps * stride - room, 0)
    grown = Window(win.kernel, win.strides, win.dilations, win.before, after)
    return grown, after != win.after
