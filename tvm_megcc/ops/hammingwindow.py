"""HammingWindow."""

from __future__ import annotations

from ._cosines import CosineWindow


class HammingWindow(CosineWindow):
    """See `CosineWindow`."""

    name = "HammingWindow"
    weights = (25 / 46, -21 / 46)
