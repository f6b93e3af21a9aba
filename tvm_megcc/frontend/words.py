"""The words that an attribute of ONNX's own operators may be; another one is no mode of any kind.

ONNX's schemas name them in prose only, so a converter that asks whether a word is one of two would
take every other one for the default. Those with the reason in their converter are not repeated.
"""

from __future__ import annotations

from collections.abc import Mapping

import onnx

from ..errors import InputError
from .values import label

_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
_DIRECTIONS = ("forward", "reverse", "bidirectional")
_BLOCKS = ("DCR", "CRD")

#: Operator and attribute -> its words.
WORDS: dict[tuple[str, str], tuple[str, ...]] = {
    **{
        (op, "auto_pad"): _PADS
        for op in ("AveragePool", "Conv", "ConvInteger", "ConvTranspose", "LpPool", "MaxPool",
                   "QLinearConv")
    },
    **{(op, "direction"): _DIRECTIONS for op in ("GRU", "LSTM", "RNN")},
    ("BitShift", "direction"): ("LEFT", "RIGHT"),
    ("Cast", "round_mode"): ("up", "down", "nearest"),
    ("CastLike", "round_mode"): ("up", "down", "nearest"),
    ("DepthToSpace", "mode"): _BLOCKS,
    ("Gelu", "approximate"): ("none", "tanh"),
    ("Resize", "keep_aspect_ratio_policy"): ("stretch", "not_larger", "not_smaller"),
    ("SpaceToDepth", "mode"): _BLOCKS,
    ("Upsample", "mode"): ("nearest", "linear", "bilinear", "cubic"),
}  # fmt: skip


def check_words(node: onnx.NodeProto, given: Mapping[str, onnx.AttributeProto]) -> None:
    """Raise an `InputError` for an attribute that is none of its words."""
    for name, attr in given.items():
        words = WORDS.get((node.op_type, name))
        if words is None or attr.type != attr.STRING:
            continue
        word = attr.s.decode(errors="replace")
        if word not in words:
            raise InputError(
                f"{label(node)}: {name} is '{word}' and must be {', '.join(words[:-1])} or"
                f" {words[-1]}; export the model again"
            )
