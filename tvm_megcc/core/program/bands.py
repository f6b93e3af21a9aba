"""Calls that compute a band of an image's rows at a time, in a loop, and where these rows lie.

In iteration ``t`` of the loop around it, a call computes its output's rows from ``at(t)`` to
``at(t + 1)``. A tensor that the loop needs a few rows of is a *line buffer*: it begins with the
first row that is still read, and `Slide` moves the rows that stay to its beginning.

Example
-------
>>> path = Path(step=2, first=-3, height=5)
>>> [path.at(t) for t in range(5)]
[0, 0, 1, 3, 5]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tvm_megcc.dims import Size, ceildiv, fixed, maximum, minimum


@dataclass(frozen=True, slots=True)
class Path:
    """A row of an image of `height` rows that moves on by `step` rows an iteration."""

    step: int
    first: int
    height: Size

    def at(self, iteration: int) -> int:
        """The row, which is never above the image nor more than a row below it."""
        return min(max(self.step * iteration + self.first, 0), fixed(self.height))

    def moves(self, count: Size) -> Size:
        """Of the first `count` iterations of an image with rows, those from whose row it moves."""
        begin = max(-self.first // self.step, 0)
        end = minimum(count, ceildiv(self.height - self.first, self.step))
        return maximum(end - begin, 0)

    def sized(self, number: Callable[[Size], int]) -> Path:
        return replace(self, height=number(self.height))


@dataclass(frozen=True, slots=True)
class Window:
    """Input rows of output row ``r``: `reach` of them from ``r * stride // up - pad`` on.

    Those outside of the `height` rows of the input are padding.
    """

    stride: int
    up: int
    reach: int
    pad: int
    height: Size


@dataclass(frozen=True, slots=True)
class Images:
    """Images of a batch that a loop computes one after the other, `period` iterations each.

    The path of iteration ``t`` of the loop is that of ``t % period``, in image ``t // period``.
    """

    count: int = 1
    period: int = 0  # 0: there is one image


@dataclass(frozen=True, slots=True)
class BandOperand:
    """An operand of which a call needs the rows of its band only.

    Attributes
    ----------
    operand : int
        Position in ``Call.operands``.
    row_bytes : Size
    base : Path
        The row that lies at the tensor's first byte.
    is_input : bool
        Whether its rows are those of the window, and not the output's.
    has_all_images : bool
        Whether it is no line buffer, so that its images lie one after the other.
    """

    operand: int
    row_bytes: Size
    base: Path
    is_input: bool
    has_all_images: bool = False


@dataclass(frozen=True, slots=True)
class Patch:
    """An attribute that says how large the band is, or where: a number of rows times `factor`."""

    attribute: int
    rows: str  # of "out" or "in", of padding "above" or "below", or of the output before: "first"
    factor: Size = 1


@dataclass(frozen=True, slots=True)
class Rows:
    """The band of a call.

    Attributes
    ----------
    output : Path
        First row of the band in the output.
    window : Window
    units : Size
        Work of a row, or of `tile` rows.
    tile, block, columns : int
        With `block` 0 the call does the range of its work that is the band's, and sees the whole
        image; else it sees the band as an image, by its patches, whose work is
        ``ceil(ceil(rows / tile) * units / block) * columns``.
    operands : tuple of BandOperand
    patches : tuple of Patch
    images : Images
    shape : tuple of Size
        Dims of the whole output, of which memory perhaps never has all rows.
    """

    output: Path
    window: Window
    units: Size
    tile: int
    block: int
    columns: Size
    operands: tuple[BandOperand, ...]
    patches: tuple[Patch, ...] = ()
    images: Images = Images()
    shape: tuple[Size, ...] = ()

    @property
    def sizes(self) -> tuple[Size, ...]:
        """Everything that may follow from the shapes."""
        found = [self.output.height, self.window.height, self.units, self.columns]
        for band in self.operands:
            found += [band.row_bytes, band.base.height]
        return (*found, *(patch.factor for patch in self.patches))

    def sized(self, number: Callable[[Size], int]) -> Rows:
        """The same with numbers in place of all sizes."""
        operands = (
            replace(b, row_bytes=number(b.row_bytes), base=b.base.sized(number))
            for b in self.operands
        )
        return replace(
            self,
            output=self.output.sized(number),
            window=replace(self.window, height=number(self.window.height)),
            units=number(self.units),
            columns=number(self.columns),
            operands=tuple(operands),
            patches=tuple(replace(p, factor=number(p.factor)) for p in self.patches),
            shape=tuple(map(number, self.shape)),
        )
