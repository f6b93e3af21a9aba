"""ONNX Runtime's own operators, with all the operands and attributes that they may have."""

from __future__ import annotations

import numpy as np

from tests.fuzz.data import F32, I8, U8
from tests.fuzz.operators._common import often
from tests.fuzz.operators.quantised import _bytes, _parameters, _scale, _zero
from tests.fuzz.sketch import Sketch

_DOMAIN = "com.microsoft"


def _floats(s: Sketch, *shape: int, run_time: float = 0.3) -> str:
    return s.give(s.rng.array(F32, shape, tame=True), run_time)


def _maybe(s: Sketch, name: str, p: float = 0.5) -> str | None:
    """An operand that is there or not."""
    return name if s.rng.chance(p) else None


@often(2)
def gelus(s: Sketch) -> None:
    op = s.rng.one(("BiasGelu", "FastGelu", "Gelu", "QuickGelu"))
    x = s.data((F32,), fits=lambda a: a.ndim > 0, shape=lambda: s.rng.shape(s.rng.between(1, 4)))
    width = s.shape_of(x)[-1]
    operands = [x]
    if op == "BiasGelu" or op == "FastGelu" and s.rng.chance(0.6):
        operands.append(_floats(s, width))
    attrs = {"alpha": s.rng.one((None, 1.0, 0.5))} if op == "QuickGelu" else {}
    s.node(op, operands, domain=_DOMAIN, **attrs)


@often(2)
def fused_products(s: Sketch) -> None:
    if s.rng.chance(0.5):
        flags = {k: s.rng.below(2) for k in s.rng.some(("transA", "transB"))}
        if s.rng.chance(0.3):
            flags |= {k: s.rng.below(2) for k in ("transBatchA", "transBatchB")}
        rank = s.rng.between(2, 4)
        lead = s.rng.shape(rank - 2, 1)
        m, k, n = (s.rng.dim() for _ in range(3))

        def dims(side: str, rows: int, columns: int) -> tuple[int, ...]:
            pair = [columns, rows] if flags.get(f"trans{side}") else [rows, columns]
            whole = [*lead, *pair]
            if flags.get(f"transBatch{side}"):
                whole = [whole[-2], *whole[:-2], whole[-1]]
            return tuple(whole)

        alpha = s.rng.one((None, 0.5, 2.0))
        operands = [_floats(s, *dims("A", m, k), run_time=0.8), _floats(s, *dims("B", k, n))]
        s.node("FusedMatMul", operands, domain=_DOMAIN, alpha=alpha, **flags)
        return
    m, k, n = (s.rng.dim() for _ in range(3))
    flags = {key: s.rng.below(2) for key in s.rng.some(("transA", "transB"))}
    operands = [
        _floats(s, *((k, m) if flags.get("transA") else (m, k)), run_time=0.8),
        _floats(s, *((n, k) if flags.get("transB") else (k, n))),
        _maybe(s, _floats(s, *s.rng.one(((n,), (m, n), (1, n), (m, 1), (1,), ())))),
    ]
    scales = {key: s.rng.one((0.5, 2.0, 1.0)) for key in s.rng.some(("alpha", "beta"))}
    kind = s.rng.one(("Relu", "LeakyRelu", "Sigmoid", "Tanh"))
    numbers = {"activation_alpha": 0.25} if kind == "LeakyRelu" else {}
    s.node("FusedGemm", operands, domain=_DOMAIN, activation=kind, **flags, **scales, **numbers)


@often(2)
def skip_normalization(s: Sketch) -> None:
    batch, rows, size = s.rng.between(1, 3), s.rng.dim(1), s.rng.dim(1)
    shape = (batch, rows, size) if s.rng.chance(0.7) else (rows, size)
    skip = s.rng.one((shape, shape, shape, (1, *shape[1:]) if len(shape) == 3 else shape,
                      (rows, size)))  # fmt: skip
    simplified = s.rng.chance(0.4)
    operands = [_floats(s, *shape, run_time=0.9), _floats(s, *skip, run_time=0.7), _floats(s, size)]
    if not simplified:
        operands.append(_maybe(s, _floats(s, size), 0.7))
    operands.append(_maybe(s, _floats(s, size)))
    outputs = s.rng.one(([True], [True, False, False, True]))
    name = "SkipSimplifiedLayerNormalization" if simplified else "SkipLayerNormalization"
    s.node(name, operands, outputs, domain=_DOMAIN, epsilon=s.rng.one((None, 1e-3)))


def embed_normalization(s: Sketch) -> None:
    batch, words, size = s.rng.between(1, 3), s.rng.between(1, 5), s.rng.between(1, 6)
    counts = [s.rng.between(1, 9), words + s.rng.below(3), s.rng.between(1, 3)]
    tables = [_floats(s, n, size, run_time=0.2) for n in counts]
    ids = s.give(s.rng.bits.integers(0, counts[0], (batch, words)).astype(np.int32), 0.9)
    parts = s.rng.chance(0.6)
    segment = s.give(s.rng.bits.integers(0, counts[2], (batch, words)).astype(np.int32), 0.8)
    mask = s.give(s.rng.bits.integers(0, 2, (batch, words)).astype(np.int32), 0.8)
    rows = s.rng.one((1, batch))
    places = s.give(s.rng.bits.integers(0, counts[1], (rows, words)).astype(np.int32), 0.8)
    kind = s.rng.one((None, 0, 1))
    operands = [
        ids, segment if parts else None, *tables[:2], tables[2] if parts else None,
        _floats(s, size), _floats(s, size), _maybe(s, mask), _maybe(s, places, 0.3),
    ]  # fmt: skip
    outputs = [True, kind == 1 or s.rng.chance(0.5), *([True] if s.rng.chance(0.4) else [])]
    s.node("EmbedLayerNormalization", operands, outputs, domain=_DOMAIN,
           epsilon=s.rng.one((None, 1e-3)), mask_index_type=kind)  # fmt: skip


def _mask(s: Sketch, batch: int, queries: int, keys: int) -> str | None:
    """A padding mask in one of its forms."""
    kind = s.rng.below(5)
    if kind == 0:
        return None
    if kind == 1:
        return s.give(s.rng.bits.integers(1, keys + 1, batch).astype(np.int32), 0.8)
    if kind == 2:
        ends = s.rng.bits.integers(1, keys + 1, batch)
        starts = s.rng.bits.integers(0, ends)
        return s.give(np.concatenate([ends, starts]).astype(np.int32), 0.8)
    shape = (batch, keys) if kind == 3 else (batch, queries, keys)
    found = s.rng.bits.random(shape) < 0.7
    found[..., 0] = True
    return s.give(found.astype(np.int32), 0.8)


@often(2)
def attention(s: Sketch) -> None:
    batch, queries, count = s.rng.between(1, 3), s.rng.between(1, 5), s.rng.between(1, 3)
    size, hidden = s.rng.between(1, 4), s.rng.between(1, 6)
    wide = s.rng.between(1, 4) if s.rng.chance(0.3) else size
    past = s.rng.between(0, 3) if s.rng.chance(0.4) and wide == size else None
    keys = queries + (past or 0)
    merged = count * (2 * size + wide)
    operands = [
        _floats(s, batch, queries, hidden, run_time=0.9), _floats(s, hidden, merged, run_time=0.1),
        _maybe(s, _floats(s, merged), 0.8), _mask(s, batch, queries, keys),
        None if past is None else _floats(s, 2, batch, count, past, size, run_time=0.9),
        _maybe(s, _floats(s, s.rng.one((1, batch)), s.rng.one((1, count)), queries, keys), 0.3),
    ]  # fmt: skip
    sizes = [count * size] * 2 + [count * wide] if wide != size or s.rng.chance(0.2) else None
    outputs = 2 if past is not None or s.rng.chance(0.2) and wide == size else 1
    s.node(
        "Attention", operands, outputs, domain=_DOMAIN, num_heads=count, qkv_hidden_sizes=sizes,
        unidirectional=s.rng.one((None, 0, 1)), scale=s.rng.one((None, 0.3)),
        mask_filter_value=s.rng.one((None, -5.0)),
    )  # fmt: skip


@often(3)
def multi_head_attention(s: Sketch) -> None:
    batch, queries, count = s.rng.between(1, 3), s.rng.between(1, 5), s.rng.between(1, 3)
    size = s.rng.between(1, 4)
    wide = s.rng.between(1, 4) if s.rng.chance(0.3) else size
    keys = s.rng.one((queries, s.rng.between(1, 5)))
    kind = s.rng.one(("plain", "plain", "heads"))
    if kind == "heads":
        operands = [_floats(s, batch, queries, count * size, run_time=0.9),
                    _floats(s, batch, count, keys, size, run_time=0.9),
                    _floats(s, batch, count, keys, wide, run_time=0.9)]  # fmt: skip
    else:
        operands = [_floats(s, batch, n, count * d, run_time=0.9)
                    for n, d in ((queries, size), (keys, size), (keys, wide))]  # fmt: skip
    past = s.rng.between(0, 3) if kind == "plain" and s.rng.chance(0.4) else None
    whole = keys + (past or 0)
    operands.append(_maybe(s, _floats(s, count * (2 * size + wide), run_time=0.2)))
    operands.append(_mask(s, batch, queries, whole))
    bias = _floats(s, s.rng.one((1, batch)), s.rng.one((1, count)), queries, whole, run_time=0.7)
    operands.append(_maybe(s, bias, 0.3))
    if past is not None:
        operands += [_floats(s, batch, count, past, d, run_time=0.9) for d in (size, wide)]
    outputs = 3 if past is not None or s.rng.chance(0.2) else 1
    s.node(
        "MultiHeadAttention", operands, outputs, domain=_DOMAIN, num_heads=count,
        unidirectional=s.rng.one((None, 0, 1)), scale=s.rng.one((None, 0.3)),
        mask_filter_value=s.rng.one((None, -5.0)),
    )  # fmt: skip


def _cache(s: Sketch, shape: tuple[int, ...], filled: np.ndarray) -> np.ndarray:
    """Rows of a cache; those behind what is filled are 0, as nothing else is said of them."""
    cache = s.rng.array(F32, shape, tame=True)
    for batch, rows in enumerate(filled):
        cache[batch, :, rows:] = 0
    return cache


@often(2)
def group_query_attention(s: Sketch) -> None:
    batch, shared, kept = s.rng.between(1, 3), s.rng.between(1, 3), s.rng.between(1, 2)
    size, length = 16, s.rng.between(1, 4)
    room = s.rng.one((None, 0, 3, 6))
    prompt = room in (None, 0) or s.rng.chance(0.3)
    past = 0 if prompt else s.rng.between(1, room)
    total = length + past
    last = np.full(batch, total - 1, np.int32)
    if not prompt and length == 1:
        last = s.rng.bits.integers(0, total, batch).astype(np.int32)
        last[0] = total - 1
    packed = s.rng.chance(0.3)
    count = shared * kept
    if packed:
        operands = [_floats(s, batch, length, (count + 2 * kept) * size, run_time=0.9), None, None]
    else:
        operands = [_floats(s, batch, length, n * size, run_time=0.9) for n in (count, kept, kept)]
    room = None if room is None else max(room, 0)
    filled = np.zeros(batch, int) if prompt else np.maximum(last + 1 - length, 0)
    cache = [None if room is None else s.give(_cache(s, (batch, kept, room, size), filled), 0.9)
             for _ in range(2)]  # fmt: skip
    operands += [*cache, s.give(last, 0.8), s.give(np.array(total, np.int32), 0.1)]
    turns = s.rng.chance(0.4)
    if turns:
        longest = total + s.rng.below(3)
        operands += [_floats(s, longest, size // 2, run_time=0.2) for _ in range(2)]
    if turns and s.rng.chance(0.3):
        places = s.rng.bits.integers(0, longest - length + 1, (batch, length))
        operands.append(s.give(places, 0.8))
    if s.rng.chance(0.3):
        operands += [None] * (10 - len(operands))
        lead = s.rng.one((1, batch)), s.rng.one((1, count))
        operands.append(_floats(s, *lead, length, total, run_time=0.7))
    if s.rng.chance(0.2):
        operands += [None] * (11 - len(operands))
        operands.append(_floats(s, count, run_time=0.5))
    s.node(
        "GroupQueryAttention", operands, 3, domain=_DOMAIN, num_heads=count, kv_num_heads=kept,
        do_rotary=int(turns) if turns or s.rng.chance(0.5) else None,
        rotary_interleaved=s.rng.one((None, 0, 1)) if turns else None,
        local_window_size=s.rng.one((None, None, -1, 2)), scale=s.rng.one((None, 0.3)),
        softcap=s.rng.one((None, None, 2.0)), smooth_softmax=s.rng.one((None, None, 1)),
    )  # fmt: skip


@often(2)
def rotary_embedding(s: Sketch) -> None:
    batch, length, count = s.rng.between(1, 3), s.rng.between(1, 4), s.rng.between(1, 3)
    half = s.rng.between(1, 4)
    size = 2 * half if s.rng.chance(0.7) else 2 * half + 2 * s.rng.between(1, 2)
    partial = size != 2 * half
    by_heads = s.rng.chance(0.4)
    shape = (batch, count, length, size) if by_heads else (batch, length, count * size)
    longest = length + s.rng.below(4)
    if s.rng.chance(0.5):
        places = s.rng.bits.integers(0, longest - length + 1, 1)
    else:
        places = s.rng.bits.integers(0, longest, (batch, length))
    tables = [_floats(s, longest, half, run_time=0.3) for _ in range(2)]
    s.node(
        "RotaryEmbedding", [_floats(s, *shape, run_time=0.9), s.give(places, 0.7), *tables],
        domain=_DOMAIN, interleaved=s.rng.one((None, 0, 1)),
        num_heads=count if partial or s.rng.chance(0.3) else None,
        rotary_embedding_dim=2 * half if partial else None,
    )  # fmt: skip


@often(2)
def nbits(s: Sketch) -> None:
    bits, size = s.rng.one((4, 4, 8, 2)), s.rng.one((16, 32))
    length, columns = s.rng.one((8, 16, 20, 33, 64)), s.rng.between(1, 5)
    blocks = -(-length // size)
    packed = s.rng.bits.integers(0, 256, (columns, blocks, size * bits // 8)).astype(np.uint8)
    scales = s.rng.bits.uniform(0.01, 0.2, columns * blocks).astype(np.float32)
    point: str | None = None
    if s.rng.chance(0.6):
        width = -(-blocks * bits // 8)
        row = s.rng.bits.integers(0, 256, (columns * width)).astype(np.uint8)
        point = s.give(row, 0.1)
    lead = s.rng.shape(s.rng.between(1, 2))
    bias = _floats(s, columns, run_time=0.3) if s.rng.chance(0.4) else None
    s.node(
        "MatMulNBits", [_floats(s, *lead, length, run_time=0.9), s.give(packed, 0.1),
                        s.give(scales, 0.1), point, None, bias],
        domain=_DOMAIN, K=length, N=columns, bits=bits, block_size=size,
    )  # fmt: skip


@often(2)
def block_gather(s: Sketch) -> None:
    bits, size = s.rng.one((4, 4, 8, 2)), s.rng.one((16, 32))
    rows, blocks = s.rng.between(1, 5), s.rng.between(1, 3)
    packed = s.rng.bits.integers(0, 256, (rows, blocks * size * bits // 8)).astype(np.uint8)
    scales = s.rng.bits.uniform(0.01, 0.2, (rows, blocks)).astype(np.float32)
    point: str | None = None
    if s.rng.chance(0.5):
        width = -(-blocks * bits // 8)
        point = s.give(s.rng.bits.integers(0, 256, (rows, width)).astype(np.uint8), 0.1)
    index = s.rng.bits.integers(-rows, rows, s.rng.shape(s.rng.between(1, 2)))
    s.node(
        "GatherBlockQuantized",
        [s.give(packed, 0.1), s.give(index, 0.9), s.give(scales, 0.1), point],
        domain=_DOMAIN, bits=bits, block_size=size, gather_axis=0, quantize_axis=1,
    )  # fmt: skip


def inverse(s: Sketch) -> None:
    n = s.rng.between(1, 4)
    array = s.rng.array(F32, (*s.rng.shape(s.rng.below(2)), n, n), tame=True)
    s.node("Inverse", [s.give(array + 3 * np.eye(n, dtype=np.float32), 0.9)], domain=_DOMAIN)


@often(2)
def quantised_products(s: Sketch) -> None:
    op = s.rng.one(("QGemm", "QGemm", "DynamicQuantizeMatMul", "MatMulIntegerToFloat"))
    m, k, n = (s.rng.dim(1) for _ in range(3))
    per = s.rng.chance(0.4)
    shape = (n,) if per else ()
    b_type = s.rng.one((U8, I8))
    if op == "DynamicQuantizeMatMul":
        lead = s.rng.shape(s.rng.between(1, 2), 1)
        b = s.give(s.rng.array(b_type, (k, n)), 0.3)
        point = _maybe(s, s.give(_zero(s, b_type, shape), 0.1), 0.6)
        operands = [_floats(s, *lead, k, run_time=0.9), b, s.give(_scale(s, shape), 0.1), point,
                    _maybe(s, _floats(s, n))]  # fmt: skip
        s.node(op, operands, domain=_DOMAIN)
        return
    if op == "MatMulIntegerToFloat":
        lead = s.rng.shape(s.rng.between(1, 2), 1)
        a = _bytes(s, (*lead, k))
        b = s.give(s.rng.array(b_type, (k, n)), 0.3)
        points = [_maybe(s, s.give(_zero(s, s.dtype_of(a)), 0.1), 0.6),
                  _maybe(s, s.give(_zero(s, b_type, shape), 0.1), 0.6)]  # fmt: skip
        operands = [a, b, s.give(_scale(s), 0.1), s.give(_scale(s, shape), 0.1), *points,
                    _maybe(s, _floats(s, n))]  # fmt: skip
        s.node(op, operands, domain=_DOMAIN)
        return
    flags = {key: s.rng.below(2) for key in s.rng.some(("transA", "transB"))}
    a = _bytes(s, (k, m) if flags.get("transA") else (m, k))
    if s.dtype_of(a) == I8:
        b_type = I8
    b = s.give(s.rng.array(b_type, (n, k) if flags.get("transB") else (k, n)), 0.3)
    c = s.rng.bits.integers(-500, 500, s.rng.one(((n,), (m, n), (1, n), (m, 1), (1,)))).astype(
        np.int32
    )
    rows = [a, *_parameters(s, s.dtype_of(a)), b, *_parameters(s, b_type, shape)]
    rows.append(_maybe(s, s.give(c, 0.3)))
    if s.rng.chance(0.7):
        rows += _parameters(s, s.dtype_of(a))
    s.node(op, rows, domain=_DOMAIN, alpha=s.rng.one((None, 0.5)), **flags)


@often(3)
def quantised_moves(s: Sketch) -> None:
    """Those of one tensor, or of several that go together."""
    op = s.rng.one(("QLinearAveragePool", "QLinearGlobalAveragePool", "QLinearConcat",
                    "QLinearSoftmax", "QLinearWhere", "NhwcMaxPool"))  # fmt: skip
    if op == "QLinearConcat":
        shape = list(s.rng.shape(s.rng.between(1, 4), 1))
        axis = s.rng.below(len(shape))
        dtype = s.rng.one((U8, I8))
        rows = [*_parameters(s, dtype)]
        for _ in range(s.rng.between(1, 3)):
            shape[axis] = s.rng.dim(1)
            rows += [s.give(s.rng.array(dtype, shape), 0.8), *_parameters(s, dtype)]
        given = axis - len(shape) if s.rng.chance(0.3) else axis
        s.node(op, rows, domain=_DOMAIN, axis=given)
        return
    if op == "QLinearSoftmax":
        x = _bytes(s, s.rng.shape(s.rng.between(1, 4), 1))
        opset = s.rng.one((1, 12, 13))
        axis = s.rng.between(-len(s.shape_of(x)), len(s.shape_of(x)) - 1)
        dtype = s.dtype_of(x)
        rows = [x, *_parameters(s, dtype), s.give(np.float32(1 / 256), 0.1),
                s.give(np.array(-128 if dtype == I8 else 0, dtype), 0.1)]  # fmt: skip
        s.node(op, rows, domain=_DOMAIN, axis=axis if s.rng.chance(0.8) else None, opset=opset)
        return
    if op == "QLinearWhere":
        shape = s.rng.shape(s.rng.between(1, 4), 1)
        dtype = s.rng.one((U8, I8))
        flags = s.give(s.rng.bits.random(shape) < 0.5, 0.8)
        rows = [flags]
        for _ in range(2):
            dims = tuple(1 if s.rng.chance(0.2) else d for d in shape)
            rows += [s.give(s.rng.array(dtype, dims), 0.7), *_parameters(s, dtype)]
        s.node(op, [*rows, *_parameters(s, dtype)], domain=_DOMAIN)
        return
    last = op == "NhwcMaxPool" or s.rng.chance(0.4)
    sizes = [s.rng.one((1, 3, 4, 5, 7)) for _ in range(2)]
    n, c = s.rng.between(1, 2), s.rng.one((1, 2, 3, 9, 18))
    x = _bytes(s, (n, *sizes, c) if last else (n, c, *sizes))
    dtype = s.dtype_of(x)
    ends = [*_parameters(s, dtype), *_parameters(s, dtype)]
    if op == "QLinearGlobalAveragePool":
        s.node(op, [x, *ends], domain=_DOMAIN, channels_last=int(last))
        return
    kernel = [s.rng.between(1, min(3, d)) for d in sizes]
    attrs: dict[str, object] = {"kernel_shape": kernel}
    if s.rng.chance(0.6):
        attrs["strides"] = [s.rng.between(1, 2) for _ in range(2)]
    if s.rng.chance(0.5):
        attrs["pads"] = [s.rng.between(0, k - 1) for k in (*kernel, *kernel)]
    elif s.rng.chance(0.4):
        attrs["auto_pad"] = s.rng.one(("SAME_UPPER", "SAME_LOWER", "VALID"))
    attrs["ceil_mode"] = s.rng.one((None, 0, 1))
    if op == "NhwcMaxPool":
        s.node(op, [x], domain=_DOMAIN, **attrs)
        return
    attrs["count_include_pad"] = s.rng.one((None, 0, 1))
    s.node(op, [x, *ends], domain=_DOMAIN, channels_last=int(last), **attrs)


@often(2)
def quantised_lstm(s: Sketch) -> None:
    direction = s.rng.one((None, "forward", "reverse", "bidirectional"))
    sides = 2 if direction == "bidirectional" else 1
    steps, batch, size, hidden = (s.rng.between(1, 4) for _ in range(4))
    kind = s.rng.one((U8, I8))

    def weights(rows: int) -> tuple[str, str, str]:
        shape = (sides,) if s.rng.chance(0.5) else (sides, 4 * hidden)
        point = np.zeros(shape, kind) if kind == I8 and len(shape) > 1 else _zero(s, kind, shape)
        made = s.rng.array(kind, (sides, rows, 4 * hidden))
        return s.give(made, 0), s.give(_scale(s, shape) / 16, 0), s.give(point, 0)

    (w, w_scale, w_zero), (r, r_scale, r_zero) = weights(size), weights(hidden)
    lengths = s.give(s.rng.bits.integers(1, steps + 1, batch).astype(np.int32))

    def small(*shape: int, run_time: float = 0.3) -> str:
        # A saturated gate is 0 by one evaluator, and by no other has what ONNX Runtime computes.
        return s.give(s.rng.array(F32, shape, tame=True) / 8, run_time)

    operands = [
        small(steps, batch, size, run_time=0.9), w, r,
        _maybe(s, small(sides, 8 * hidden, run_time=0.1)), _maybe(s, lengths, 0.3),
        _maybe(s, small(sides, batch, hidden)), _maybe(s, small(sides, batch, hidden)),
        _maybe(s, small(sides, 3 * hidden), 0.2), w_scale, w_zero, r_scale, r_zero,
    ]  # fmt: skip
    s.node("DynamicQuantizeLSTM", operands, 3, domain=_DOMAIN, hidden_size=hidden,
           direction=direction, input_forget=s.rng.one((None, 0, 1)))  # fmt: skip
