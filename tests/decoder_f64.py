"""A decoder of scripts/llm_models.py, a Llama in f32, evaluated in f64 as a whole, without caches.

Enters: the model and the tokens of a sequence. Leaves: the logits behind each of them. It is
written beside the compiler and ONNX Runtime, and shares nothing with either.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

Array = np.ndarray[Any, Any]


def logits(model: onnx.ModelProto, tokens: Array) -> Array:
    """Logits ``[length, vocabulary]`` behind each of the tokens ``[length]``."""
    values: dict[str, Array] = {}
    for weight in model.graph.initializer:
        array = numpy_helper.to_array(weight)
        values[weight.name] = array.astype(np.float64) if array.dtype == np.float32 else array
    values["input_ids"], values["attention_mask"] = tokens[None], np.ones((1, len(tokens)), int)
    for node in model.graph.node:
        attrs = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        given = [values.get(name) for name in node.input]
        found = _node(node.op_type, given, attrs)
        outputs = [name for name in node.output if name]
        values |= dict(zip(outputs, found if isinstance(found, tuple) else (found,), strict=False))
    return values["logits"][0]


def _node(op: str, given: list[Any], attrs: dict[str, Any]) -> Any:
    match op:
        case "ReduceSum":
            return given[0].sum(keepdims=bool(attrs["keepdims"]))
        case "Sub":
            return given[0] - given[1]
        case "Shape":
            return np.array(given[0].shape)
        case "Gather":
            return np.take(given[0], given[1].astype(int), axis=attrs.get("axis", 0))
        case "Cast":
            return given[0]
        case "Transpose":
            return given[0].transpose(attrs["perm"])
        case "MatMul":
            return given[0] @ given[1]
        case "Mul":
            return given[0] * given[1]
        case "Sigmoid":
            return 1 / (1 + np.exp(-given[0]))
        case "SimplifiedLayerNormalization":
            return _normed(given[0], given[1], attrs["epsilon"])
        case "SkipSimplifiedLayerNormalization":
            total = given[0] + given[1]
            return _normed(total, given[2], attrs["epsilon"]), total
        case "GroupQueryAttention":
            return _attention(given, attrs)
    raise NotImplementedError(op)


def _normed(x: Array, weight: Array, epsilon: float) -> Array:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight


def _attention(given: list[Any], attrs: dict[str, Any]) -> Array:
    heads, kept = attrs["num_heads"], attrs["kv_num_heads"]
    x, cos, sin = given[0][0], given[7], given[8]
    length = len(x)
    x = x.reshape(length, heads + 2 * kept, -1)
    size = x.shape[2]
    low, high = np.split(x[:, : heads + kept], 2, axis=-1)
    c, s = cos[:length, None], sin[:length, None]
    turned = np.concatenate([low * c - high * s, low * s + high * c], -1)
    q, k, v = turned[:, :heads], turned[:, heads:], x[:, heads + kept :]
    k, v = (np.repeat(a, heads // kept, axis=1) for a in (k, v))
    scores = np.einsum("ihd,jhd->hij", q, k) * (attrs.get("scale") or size**-0.5)
    scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
    terms = np.exp(scores - scores.max(-1, keepdims=True))
    terms /= terms.sum(-1, keepdims=True)
    return np.einsum("hij,jhd->ihd", terms, v).reshape(1, length, heads * size)
