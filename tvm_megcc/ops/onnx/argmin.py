"""ArgMin."""

from __future__ import annotations

from ..common.argument import Argument


class ArgMin(Argument):
    """``argmin``."""

    name = "ArgMin"
