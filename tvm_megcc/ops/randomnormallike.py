"""RandomNormalLike, which is refused."""

from __future__ import annotations

from ._random import Random


class RandomNormalLike(Random):
    """See `Random`."""

    name = "RandomNormalLike"
