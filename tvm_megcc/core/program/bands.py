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

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Path:
    """A row of an image of `height` rows that moves on by `step` rows an iteration."""

    step: int
    first: int
    height: int

    def at(self, iteration: int) -> int:
        """The row, which is never above the image nor more than a row below it."""
        return min(max(self.step * iteration + self.first, 0), self.height)


@dataclass(frozen=True, slots=True)
class Window:
    """Input rows of output row ``r``: `reach` of them from ``r * stride // up - pad`` on.

    Those outside of the `height` rows of the input are padding.
    """

    stride: int
    up: int
    reach: int
    pad: int
    height: int


@dataclass(frozen=True, slots=True)
class BandOperand:
    """An operand of which a call needs the rows of its band only.

    Attributes
    ----------
    operand : int
        Position in ``Call.operands``.
    row_bytes : int
    base : Path
        The row that lies at the tensor's first byte.
    is_input : bool
        Whether its rows are those of the window, and not the output's.
    """

    operand: int
    row_bytes: int
    base: Path
    is_input: bool


@dataclass(frozen=True, slots=True)
class Patch:
    """An attribute that says how large the band is, or where: a number of rows times `factor`."""

    attribute: int
    rows: str  # of "out" or "in", of padding "above" or "below", or of the output before: "first"
    factor: int = 1


@dataclass(frozen=True, slots=True)
class Rows:
    """The band of a call.

    Attributes
    ----------
    output : Path
        First row of the band in the output.
    window : Window
    units : int
        Work of a row, or of `tile` rows.
    tile, block, columns : int
        With `block` 0 the call does the range of its work that is the band's, and sees the whole
        image; else it sees the band as an image, by its patches, whose work is
        ``ceil(ceil(rows / tile) * units / block) * columns``.
    operands : tuple of BandOperand
    patches : tuple of Patch
    """

    output: Path
    window: Window
    units: int
    tile: int
    block: int
    columns: int
    operands: tuple[BandOperand, ...]
    patches: tuple[Patch, ...] = ()
