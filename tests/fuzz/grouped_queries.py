"""GroupQueryAttention by its text, in the type of its operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx

Array = np.ndarray
Operands = Sequence[Array | None]

#: Rows of the longest present that is evaluated.
_LONG = 10_000


def group_query_attention(given: Mapping[str, Any], operands: Operands) -> list[Array]:
    """Causal attention over a cache, to which new rows are appended.

    Rows of the present behind a sequence's end are those of the past.
    """
    query, key, value, *_ = operands = [*operands, *[None] * (12 - len(operands))]
    past_key, past_value, last, total, cos, sin, places, bias, sinks = operands[3:12]
    assert query is not None and last is not None and total is not None
    batch, rows, _ = query.shape
    count, kept = given["num_heads"], given["kv_num_heads"]
    if key is None or value is None:
        size = query.shape[2] // (count + 2 * kept)
        query, key, value = np.split(query, [count * size, (count + kept) * size], 2)
    parts = zip((query, key, value), (count, kept, kept), strict=True)
    q, k, v = (x.reshape(batch, rows, n, x.shape[2] // n) for x, n in parts)
    most = int(total.reshape(-1)[0])
    before = _before(last, most, rows)
    if given.get("do_rotary", 0):
        assert cos is not None and sin is not None
        at = before[:, None] + np.arange(rows)
        if places is not None:
            # Of a prompt ONNX Runtime reads the first sequence's first place alone.
            first = places[:1, :1] + np.zeros((batch, 1), np.int64)
            at = first + np.arange(rows) if most == rows else places
        q, k = (_rotated(x, cos[at], sin[at], given.get("rotary_interleaved", 0)) for x in (q, k))
    presents = []
    for past, new in ((past_key, k), (past_value, v)):
        present = np.zeros((batch, kept, max(most, 0 if past is None else past.shape[2]),
                            new.shape[3]), new.dtype)  # fmt: skip
        if past is not None:
            present[:, :, : past.shape[2]] = past
        for b, first in enumerate(before):
            present[b, :, first : first + rows] = new[b].swapaxes(0, 1)
        presents.append(present)
    y = np.zeros(q.shape, q.dtype)
    for b, i, h in np.ndindex(batch, rows, count):
        bias_of = None if bias is None else bias[b % len(bias), h % bias.shape[1], i]
        extra = None if sinks is None else sinks[h]
        keys, values = (present[b, h // (count // kept)] for present in presents)
        y[b, i, h] = _read(given, q[b, i, h], keys, values, before[b] + i, bias_of, extra)
    return [y.reshape(batch, rows, count * y.shape[3]), *presents]


def _before(last: Array, total: int, rows: int) -> Array:
    """How many rows of each sequence are filled; none where this is a prompt."""
    last = last.reshape(-1).astype(np.int64)
    return np.zeros_like(last) if total == rows else np.maximum(last + 1 - rows, 0)


def _read(
    given: Mapping[str, Any],
    query: Array,
    keys: Array,
    values: Array,
    place: int,
    bias: Array | None,
    extra: Array | None,
) -> Array:
    """The result of one head of one query, which sees the keys up to its own place."""
    window = given.get("local_window_size", -1)
    seen = slice(max(0, place + 1 - window) if window > 0 else 0, place + 1)
    dtype = query.dtype.type
    factor = dtype(np.float32(given.get("scale", 0.0) or 1 / np.sqrt(len(query))))
    scores = factor * (keys[seen] @ query)
    if cap := dtype(np.float32(given.get("softcap", 0.0))):
        scores = cap * np.tanh(scores / cap)
    if bias is not None:
        scores = scores + bias[seen]
    if extra is not None or given.get("smooth_softmax", 0) > 0:
        scores = np.append(scores, dtype(0) if extra is None else extra).astype(dtype)
    weights = np.exp(scores - scores.max())
    weights = weights / weights.sum()
    return np.asarray(weights[: len(keys[seen])] @ values[seen])


def _rotated(x: Array, cos: Array, sin: Array, interleaved: int) -> Array:
    """``[batch, row, head, element]`` with its first elements turned in pairs."""
    half, cos, sin = cos.shape[-1], cos[:, :, None], sin[:, :, None]
    turned = x.copy()
    pair = (
        (np.s_[..., 0 : 2 * half : 2], np.s_[..., 1 : 2 * half : 2])
        if interleaved
        else (np.s_[..., :half], np.s_[..., half : 2 * half])
    )
    a, b = (x[part] for part in pair)
    turned[pair[0]], turned[pair[1]] = a * cos - b * sin, a * sin + b * cos
    return turned


def is_long(node: onnx.NodeProto, arrays: Mapping[str, Array]) -> bool:
    """Whether a total length makes a present that nobody wants in memory."""
    return node.op_type == "GroupQueryAttention" and bool((arrays[node.input[6]] > _LONG).any())


def is_chunk_of_batch(node: onnx.NodeProto, arrays: Mapping[str, Array]) -> bool:
    """Whether several sequences get several rows behind a past: ONNX Runtime takes one each."""
    if node.op_type != "GroupQueryAttention":
        return False
    batch, rows = arrays[node.input[0]].shape[:2]
    return batch > 1 and rows > 1 and int(arrays[node.input[6]].max(initial=0)) != rows
