"""ArgMax."""

from __future__ import annotations

from ..common.argument import Argument


class ArgMax(Argument):
    """``argmax``."""

    name = "ArgMax"
