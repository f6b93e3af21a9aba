"""Bernoulli, which is refused."""

from __future__ import annotations

from ._random import Random


class Bernoulli(Random):
    """See `Random`."""

    name = "Bernoulli"
