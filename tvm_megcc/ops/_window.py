"""Sliding windows (convolution, pooling): ONNX's attributes made explicit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import Attrs, Context


@dataclass(frozen=True, slots=True)
class Window:
    """A window over the spatial axes; ``before`` and ``after`` are its paddings per axis."""

    kernel: list[int]
    strides: list[int]
    dilations: list[int]
    before: list[int]
    after: list[int]

    @property
    def padding(self) -> list[int]:
        """Paddings in Relax's order: all ``before``, then all ``after``."""
        return [*self.before, *self.after]

    def reach(self, axis: int) -> int:
        """Elements between the first and one past the last that the window reads."""
        return (self.kernel[axis] - 1) * self.dilations[axis] + 1


def window(ctx: Context, attrs: Attrs, kernel: list[int], dims: tuple[Any, ...]) -> Window:
    """Resolve ``auto_pad``, ``pads``, ``strides`` and ``dilations`` for spatial ``dims``.

    Raises
    ------
    UnsupportedError
        ``auto_pad`` asks for a padding that depends on a symbolic dim.
    """
    rank = len(kernel)
    strides = list(attrs.get("strides", [1] * rank))
    dilations = list(attrs.get("dilations", [1] * rank))
    pads = list(attrs.get("pads", [0] * (2 * rank)))
    plain = Window(list(kernel), strides, dilations, pads[:rank], pads[rank:])
    auto = attrs.get("auto_pad", "NOTSET")
    if auto == "NOTSET":
        return plain
    if auto == "VALID":
        return Window(plain.kernel, strides, dilations, [0] * rank, [0] * rank)
    if auto not in ("SAME_UPPER", "SAME_LOWER"):
        raise ctx.unsupported(f"auto_pad is '{auto}'", "give explicit pads")
    before, after = [], []
    for axis, size in enumerate(dims):
        total = _same_padding(ctx, plain, axis, size)
        small, large = total // 2, total - total // 2
        before.append(small if auto == "SAME_UPPER" else large)
        after.append(large if auto == "SAME_UPPER" else small)
    return Window(plain.kernel, strides, dilations, before, after)


def _same_padding(ctx: Context, plain: Window, axis: int, size: Any) -> int:
    stride = plain.strides[axis]
    if not isinstance(size, int):
        if stride == 1:
            return plain.reach(axis) - 1
        raise ctx.unsupported(
            f"auto_pad over a symbolic dim with stride {stride}", "fix the dim with --input-shapes"
        )
    steps = -(-size // stride)
    return max(0, (steps - 1) * stride + plain.reach(axis) - size)


def pooled_sizes(
    ctx: Context, win: Window, dims: tuple[Any, ...], ceil_mode: bool
) -> tuple[Window, bool]:
    """The window with paddings that make ``ceil_mode`` a plain floor; and whether it grew."""
    if not ceil_mode:
        return win, False
    after = list(win.after)
    for axis, size in enumerate(dims):
        if not isinstance(size, int):
            raise ctx.unsupported("ceil_mode over a symbolic dim", "fix it with --input-shapes")
        room = size + win.before[axis] + win.after[axis] - win.reach(axis)
        steps = -(-room // win.strides[axis])
        # A window has to start inside the input or the padding before it.
        if steps * win.strides[axis] >= size + win.before[axis]:
            steps -= 1
        after[axis] += max(0, steps * win.strides[axis] - room)
    grown = Window(win.kernel, win.strides, win.dilations, win.before, after)
    return grown, after != win.after
