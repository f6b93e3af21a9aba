"""BlackmanWindow."""

from __future__ import annotations

from ..common.cosines import CosineWindow


class BlackmanWindow(CosineWindow):
    """See `CosineWindow`."""

    name = "BlackmanWindow"
    weights = (0.42, -0.5, 0.08)
