"""Operators that no converter is to be added for, and what to do in place of them."""

from __future__ import annotations

from collections.abc import Mapping

#: (domain, name) -> the remedy, for the message that lists what has no converter.
REFUSED: Mapping[tuple[str, str], str] = {
    ("", "ImageDecoder"): "decode image files before the model",
    ("ai.onnx.preview.training", "Gradient"): "export the nodes that compute the gradient",
}
