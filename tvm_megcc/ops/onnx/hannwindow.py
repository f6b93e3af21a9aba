"""HannWindow."""

from __future__ import annotations

from ..common.cosines import CosineWindow


class HannWindow(CosineWindow):
    """See `CosineWindow`."""

    name = "HannWindow"
    weights = (0.5, -0.5)
