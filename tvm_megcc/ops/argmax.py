"""ArgMax."""

from __future__ import annotations

from ._argument import Argument


class ArgMax(Argument):
    """``argmax``."""

    name = "ArgMax"
