"""RandomUniform, which is refused."""

from __future__ import annotations

from ._random import Random


class RandomUniform(Random):
    """See `Random`."""

    name = "RandomUniform"
