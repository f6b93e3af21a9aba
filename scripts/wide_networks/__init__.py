"""Small networks of today's architectures, from seeds, as PyTorch's exporters write them."""

from __future__ import annotations

from . import detection, generative, language, points, speech, vision
from .graph import NETWORKS, Graph, Network

__all__ = ["NETWORKS", "Graph", "Network", "detection", "generative", "language", "points",
           "speech", "vision"]  # fmt: skip
