"""The words that ONNX allows in text attributes, which its schemas do not list.

Enters: a node. Leaves: nothing, or an `InputError` for a word that ONNX does not have.
"""

from __future__ import annotations

from collections.abc import Mapping

import onnx

from ..errors import InputError
from .values import label

_PADS = {"auto_pad": ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", "")}
_DEPTH = {"mode": ("DCR", "CRD")}
_LOSS = {"reduction": ("none", "mean", "sum")}
_REDUCED = {"reduction": ("none", "add", "mul", "max", "min")}
# Opset 1 of GRU has a slip in its default.
_DIRECTION = {"direction": ("forward", "reverse", "bidirectional", "foward")}
_SAMPLED = {
    "mode": ("linear", "bilinear", "nearest", "cubic", "bicubic"),
    "padding_mode": ("zeros", "border", "reflection"),
}
_CAST = {"round_mode": ("up", "down", "nearest")}
_SCORES = {"post_transform": ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")}
_KERNEL = {"kernel_type": ("LINEAR", "POLY", "RBF", "SIGMOID")}
_TREES = {
    "nodes_modes": (
        "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF",
    ),
    **_SCORES,
}  # fmt: skip

#: (domain, operator) -> attribute -> its words, of all opsets.
WORDS: Mapping[tuple[str, str], Mapping[str, tuple[str, ...]]] = {
    **{("", op): _PADS for op in (
        "AveragePool", "Conv", "ConvInteger", "ConvTranspose", "LpPool", "MaxPool", "QLinearConv",
    )},
    **{("", op): _DIRECTION for op in ("GRU", "LSTM", "RNN")},
    **{("", op): _LOSS for op in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")},
    **{("", op): _REDUCED for op in ("ScatterElements", "ScatterND")},
    **{("", op): _DEPTH for op in ("DepthToSpace", "SpaceToDepth")},
    **{("", op): _CAST for op in ("Cast", "CastLike")},
    **{(domain, "GridSample"): _SAMPLED for domain in ("", "com.microsoft")},
    ("", "BitShift"): {"direction": ("LEFT", "RIGHT")},
    ("", "Gelu"): {"approximate": ("none", "tanh")},
    ("", "Pad"): {"mode": ("constant", "reflect", "edge", "wrap")},
    ("", "Resize"): {
        "coordinate_transformation_mode": (
            "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
            "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize",
        ),
        "keep_aspect_ratio_policy": ("stretch", "not_larger", "not_smaller"),
        "mode": ("nearest", "linear", "cubic"),
        "nearest_mode": ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
    },
    ("", "RoiAlign"): {
        "coordinate_transformation_mode": ("half_pixel", "output_half_pixel"),
        "mode": ("avg", "max"),
    },
    ("", "TensorScatter"): {"mode": ("linear", "circular")},
    ("", "TfIdfVectorizer"): {"mode": ("TF", "IDF", "TFIDF")},
    ("", "Upsample"): {"mode": ("nearest", "linear", "bilinear")},
    ("ai.onnx.ml", "LinearClassifier"): _SCORES,
    ("ai.onnx.ml", "LinearRegressor"): _SCORES,
    ("ai.onnx.ml", "Normalizer"): {"norm": ("MAX", "L1", "L2")},
    ("ai.onnx.ml", "SVMClassifier"): {**_KERNEL, **_SCORES},
    ("ai.onnx.ml", "SVMRegressor"): {**_KERNEL, **_SCORES},
    ("ai.onnx.ml", "TreeEnsembleClassifier"): _TREES,
    ("ai.onnx.ml", "TreeEnsembleRegressor"): {
        **_TREES, "aggregate_function": ("AVERAGE", "SUM", "MIN", "MAX"),
    },
    ("ai.onnx.preview.training", "Momentum"): {"mode": ("standard", "nesterov")},
}  # fmt: skip

_REMEDY = "correct the attribute"


def check_words(node: onnx.NodeProto, domain: str) -> None:
    """Refuse text attributes that are not UTF-8, or not a word that ONNX allows.

    Parameters
    ----------
    node : onnx.NodeProto
    domain : str
        Its domain, "" for ai.onnx.
    """
    table = WORDS.get((domain, node.op_type), {})
    for attr in node.attribute:
        found = attr.strings if attr.type == attr.STRINGS else [attr.s]
        if attr.type not in (attr.STRING, attr.STRINGS) or attr.ref_attr_name:
            continue
        for data in found:
            try:
                word = data.decode()
            except UnicodeDecodeError:
                raise InputError(
                    f"{label(node)}: its attribute '{attr.name}' is no text; {_REMEDY}"
                ) from None
            if attr.name in table and word not in table[attr.name]:
                words = ", ".join(f"'{w}'" for w in table[attr.name] if w)
                raise InputError(
                    f"{label(node)}: {attr.name} {word!r} is none of {words}; {_REMEDY}"
                )
