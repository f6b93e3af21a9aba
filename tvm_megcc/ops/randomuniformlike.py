"""RandomUniformLike, which is refused."""

from __future__ import annotations

from ._random import Random


class RandomUniformLike(Random):
    """See `Random`."""

    name = "RandomUniformLike"
