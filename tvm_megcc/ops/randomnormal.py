"""RandomNormal, which is refused."""

from __future__ import annotations

from ._random import Random


class RandomNormal(Random):
    """See `Random`."""

    name = "RandomNormal"
