"""Multinomial, which is refused."""

from __future__ import annotations

from ._random import Random


class Multinomial(Random):
    """See `Random`."""

    name = "Multinomial"
