"""Scatter, as ScatterElements was called before opset 11."""

from __future__ import annotations

from .scatterelements import ScatterElements


class Scatter(ScatterElements):
    """The same."""

    name = "Scatter"
