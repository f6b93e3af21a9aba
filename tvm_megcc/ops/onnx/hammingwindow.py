"""HammingWindow."""

from __future__ import annotations

from ..common.cosines import CosineWindow


class HammingWindow(CosineWindow):
    """See `CosineWindow`."""

    name = "HammingWindow"
    weights = (25 / 46, -21 / 46)
