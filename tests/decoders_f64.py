"""Decoders of onnxruntime-genai's operators in f64, by `onnx.reference` and the operators here.

Enters: a model of `scripts/llm_models.py` in f32. Leaves: what it gives in f64, also for batches
and chunks that ONNX Runtime refuses.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

Arrays = dict[str, np.ndarray]


class SimplifiedLayerNormalization(OpRun):  # type: ignore[misc]
    op_domain = ""

    def _run(self, x, gain, **_):  # type: ignore[no-untyped-def]
        return (x / np.sqrt((x * x).mean(-1, keepdims=True) + self.epsilon) * gain,)


class SkipSimplifiedLayerNormalization(OpRun):  # type: ignore[misc]
    op_domain = "com.microsoft"

    def _run(self, x, skip, gain, **_):  # type: ignore[no-untyped-def]
        x = x + skip
        y = x / np.sqrt((x * x).mean(-1, keepdims=True) + self.epsilon) * gain
        return y, np.empty(0), np.empty(0), x


class GroupQueryAttention(OpRun):  # type: ignore[misc]
    """Of queries, keys and values in one operand, whose places are turned by halves."""

    op_domain = "com.microsoft"

    def _run(self, x, key, value, past_k, past_v, last, total, cos, sin, **_):  # type: ignore[no-untyped-def]
        batch, rows, _ = x.shape
        heads, kept = self.num_heads, self.kv_num_heads
        parts = x.reshape(batch, rows, heads + 2 * kept, -1)
        caches = [past_k.copy(), past_v.copy()]
        y = np.zeros((batch, rows, heads, parts.shape[-1]))
        for b in range(batch):
            before = 0 if total == rows else int(last[b]) + 1 - rows
            turned = self._turned(parts[b], before + np.arange(rows), cos, sin)
            for cache, first in zip(caches, (heads, heads + kept), strict=True):
                cache[b, :, before : before + rows] = turned[:, first : first + kept].swapaxes(0, 1)
            for i in range(rows):
                seen = [cache[b, :, : before + i + 1] for cache in caches]
                for h in range(heads):
                    k, v = (cache[h // (heads // kept)] for cache in seen)
                    scores = k @ turned[i, h] * self.scale
                    weights = np.exp(scores - scores.max())
                    y[b, i, h] = weights / weights.sum() @ v
        return y.reshape(batch, rows, -1), *caches

    def _turned(self, parts, places, cos, sin):  # type: ignore[no-untyped-def]
        count = self.num_heads + self.kv_num_heads
        low, high = np.split(parts[:, :count], 2, axis=-1)
        c, s = cos[places][:, None], sin[places][:, None]
        turned = np.concatenate([low * c - high * s, low * s + high * c], -1)
        return np.concatenate([turned, parts[:, count:]], 1)


_OPERATORS = [SimplifiedLayerNormalization, SkipSimplifiedLayerNormalization, GroupQueryAttention]


class Decoder:
    """A decoder whose weights are in f64."""

    def __init__(self, model: onnx.ModelProto) -> None:
        wide = onnx.ModelProto()
        wide.CopyFrom(model)
        for tensor in wide.graph.initializer:
            if tensor.data_type == TensorProto.FLOAT:
                array = numpy_helper.to_array(tensor).astype(np.float64)
                tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
        self.names = [port.name for port in wide.graph.output]
        self.evaluator = ReferenceEvaluator(wide, new_ops=_OPERATORS)

    def run(self, given: Mapping[str, np.ndarray]) -> Arrays:
        """The outputs; floats of the inputs may be of any type."""
        wide = {k: a.astype("f8") if a.dtype.kind == "f" else a for k, a in given.items()}
        return dict(zip(self.names, self.evaluator.run(None, wide), strict=True))
