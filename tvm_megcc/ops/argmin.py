"""ArgMin."""

from __future__ import annotations

from ._argument import Argument


class ArgMin(Argument):
    """``argmin``."""

    name = "ArgMin"
