"""Dims that are equal in operators that ONNX defines by simpler operators.

Their definitions broadcast here and there what the operators' texts ask to be equal.
"""

from __future__ import annotations

from collections.abc import Hashable

from ...dims import Size
from ...shapes.constraints import EXACTLY, Labels, Rule, Shape
from .context import Attrs


def rule_of(domain: str, op: str) -> Rule | None:
    """The labels of an operator that is computed by its definition; None without labels."""
    return _RULES.get(op) if domain in ("", "ai.onnx") else None


def _rows(shapes: list[Shape | None], *labels: list[Hashable]) -> Labels:
    """The labels of each operand whose rank is the number of its labels; none for others."""
    rows = [*labels, *([] for _ in shapes[len(labels) :])]
    return [
        row if shape is not None and len(shape) == len(row) else []
        for shape, row in zip(shapes, rows, strict=False)
    ]


def _losses(shapes: list[Shape | None], attrs: Attrs) -> Labels:
    rank = len(shapes[0] or ())
    places: list[Hashable] = [f"d{axis}" for axis in range(2, rank)]
    return _rows(shapes, ["batch", "classes", *places], ["batch", *places], ["classes"])


def _of_heads(size: Size | None, heads: int | None, others: int | None) -> Hashable:
    """A label: the length of so many heads, where `others` heads are `size` long together."""
    if size is None or not heads or not others:
        return None
    return EXACTLY, size // others * heads


def _packed(shapes: list[Shape | None], attrs: Attrs) -> tuple[Hashable, Hashable]:
    """The labels of the last axes of queries and keys, whose heads stand side by side there."""
    q, k = (shape[-1] if shape is not None and len(shape) == 3 else None for shape in shapes[:2])
    counts = attrs.get("q_num_heads"), attrs.get("kv_num_heads")
    if isinstance(k, int) and not isinstance(q, int):
        return _of_heads(k, *counts), None
    return None, _of_heads(q, *reversed(counts))


def _attention(shapes: list[Shape | None], attrs: Attrs) -> Labels:
    past: list[list[Hashable]] = [["batch", "kv", "past", "head"], ["batch", "kv", "past", "value"]]
    if len(shapes[0] or ()) == 4:
        q, k, v = (["batch", *names] for names in (
            (None, None, "head"), ("kv", "keys", "head"), ("kv", "keys", "value")
        ))  # fmt: skip
    else:
        query, key = _packed(shapes, attrs)
        q, k, v = ["batch", None, query], ["batch", "keys", key], ["batch", "keys", None]
    return _rows(shapes, q, k, v, [], *past, ["batch"])  # a mask broadcasts


def _linear_attention(shapes: list[Shape | None], attrs: Attrs) -> Labels:
    query, key = _packed(shapes, attrs)
    kept: list[Hashable] = ["batch", (EXACTLY, attrs.get("kv_num_heads", 0)), None, None]
    step: list[Hashable] = ["batch", "steps", None]
    return _rows(shapes, [*step[:2], query], [*step[:2], key], step, kept, step, step)


def _causal_conv(shapes: list[Shape | None], attrs: Attrs) -> Labels:
    weight = shapes[1]
    behind: Hashable = None
    if weight is not None and len(weight) == 3 and isinstance(weight[2], int):
        behind = (EXACTLY, weight[2] - 1)
    taps: list[Hashable] = ["channels", (EXACTLY, 1), None]
    image: list[Hashable] = ["batch", "channels", None]
    return _rows(shapes, image, taps, ["channels"], ["batch", "channels", behind])


def _alike(shapes: list[Shape | None], attrs: Attrs) -> Labels:
    return [[*range(len(shape or ()))] for shape in shapes]


_RULES: dict[str, Rule] = {
    "Attention": _attention,
    "CausalConvWithState": _causal_conv,
    "LinearAttention": _linear_attention,
    "NegativeLogLikelihoodLoss": _losses,
    "SoftmaxCrossEntropyLoss": _losses,
    "SwiGLU": _alike,
}
