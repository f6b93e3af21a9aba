"""Settings of a generated kernel's loops, between which tuning chooses by measuring.

`USUAL` holds without records. No setting has an estimate: what a C compiler makes of a loop is hard
to foresee (docs/tuning.md).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Knobs:
    """A way to arrange the loops of a function.

    Attributes
    ----------
    unroll : int
        Turns of innermost loops at once; 1: the compiler decides.
    longest : int
        1: of the loops over the elements of the result the longest one is the innermost.
    tile : int
        Of a reduction over rows, how many results are summed side by side before the next ones; 0:
        all of a row.
    """

    unroll: int = 1
    longest: int = 0
    tile: int = 0

    @property
    def settings(self) -> tuple[tuple[str, int], ...]:
        """The settings that differ from `USUAL`, by name."""
        pairs = ((name, getattr(self, name)) for name in ("unroll", "longest", "tile"))
        return tuple((name, value) for name, value in pairs if value != getattr(USUAL, name))


USUAL = Knobs()
#: All that are tried; most functions have few different ones.
CANDIDATES = (
    USUAL,
    *(Knobs(unroll=turns) for turns in (2, 4, 8)),
    Knobs(longest=1),
    Knobs(longest=1, unroll=4),
    *(Knobs(tile=lanes) for lanes in (16, 32)),
)
