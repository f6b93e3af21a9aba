"""Operators of com.microsoft on floats through compiled packages, against ONNX Runtime."""

from dataclasses import replace
from itertools import product

import ml_dtypes  # noqa: F401 - int4 and uint4 by name
import numpy as np
import pytest

from tests.ops.cases import Weight, node_model, rand
from tests.ops.together import Case, Open, check_together, right_answer
from tvm_megcc import importers
from tvm_megcc.core.dtypes import packed_rows
from tvm_megcc.errors import UnsupportedError

X = rand(2, 3, 8)
OPEN = Open(X, ["batch", "words", 8])


def contrib(op, operands, outputs=1, **attrs):
    return Case(op, operands, attrs, 1, "com.microsoft", outputs)


@pytest.mark.slow
def test_activations_and_norms(tmp_path):
    cases = [contrib(op, [OPEN]) for op in ("Gelu", "FastGelu", "QuickGelu")]
    cases += [contrib(op, [X, rand(8, seed=1)]) for op in ("BiasGelu", "FastGelu")]
    cases += [contrib("QuickGelu", [X], alpha=1.1)]
    gamma, beta, bias = (rand(8, seed=k) for k in (2, 3, 4))
    wanted = ["y", "", "", "sum"]
    skip = rand(2, 3, 8, seed=5)
    cases += [contrib("SkipLayerNormalization", [X, skip, gamma, beta, bias], wanted, epsilon=1e-5)]
    cases += [contrib("SkipLayerNormalization", [X, skip[:1], gamma])]
    skipped = Open(skip, ["batch", "words", 8])
    cases += [contrib("SkipLayerNormalization", [OPEN, skipped, gamma, beta])]
    cases += [contrib("SkipSimplifiedLayerNormalization", [X, skip, gamma, bias], wanted)]
    half = [v.astype("float16") for v in (X, skip, gamma, beta, bias)]
    every = ["y", "mean", "inverse", "sum"]  # those in the middle are f32
    cases += [replace(contrib("SkipLayerNormalization", half, every), close=4e-3)]
    simple = [Case("SimplifiedLayerNormalization", [OPEN, gamma], {"epsilon": 1e-5}, outputs=n)
              for n in (1, 2)]  # fmt: skip
    cases += [*simple, replace(simple[0], operands=half[:2], close=4e-3)]
    ids = np.array([[1, 4, 2], [0, 3, 3]], np.int32)
    tables = [rand(n, 8, seed=n) for n in (5, 6, 2)]
    mask = np.array([[1, 1, 0], [1, 1, 1]], np.int32)
    cases += [contrib("EmbedLayerNormalization", [ids, ids % 2, *tables, gamma, beta, mask],
                      ["y", "count", "sum"])]  # fmt: skip
    opened = Open(ids, ["batch", "words"])
    cases += [contrib("EmbedLayerNormalization", [opened, None, *tables[:2], None, gamma, beta],
                      ["y", "count"])]  # fmt: skip
    check_together(cases, tmp_path)


@pytest.mark.slow
def test_products(tmp_path):
    a, b = rand(2, 3, 4, 5), rand(2, 3, 5, 6, seed=1)
    cases = [contrib("FusedMatMul", [a, b], alpha=0.5)]
    cases += [contrib("FusedMatMul", [a, Weight(np.swapaxes(b, 2, 3).copy())], transB=1)]
    turned = Open(np.moveaxis(a, 2, 0).copy(), [4, "n", 3, 5])
    cases += [contrib("FusedMatMul", [turned, b], transBatchA=1)]
    turned = np.moveaxis(b, 2, 0).copy()
    cases += [contrib("FusedMatMul", [a, turned], transBatchB=1)]
    cases += [contrib("FusedMatMul", [np.moveaxis(a, 3, 0).copy(), b], transBatchA=1, transA=1)]
    m, n, c = rand(3, 4), rand(4, 5, seed=1), rand(5, seed=2)
    cases += [contrib("FusedGemm", [m, n, c], activation=name) for name in ("Relu", "Tanh")]
    cases += [contrib("FusedGemm", [m.T.copy(), n], activation="LeakyRelu", activation_alpha=0.2,
                      transA=1, alpha=0.5)]  # fmt: skip
    square = rand(2, 3, 4, 4, seed=3)
    cases += [contrib("Inverse", [data]) for data in (square, Open(square[0], ["count", 4, 4]))]
    check_together(cases, tmp_path)


@pytest.mark.slow
def test_attention(tmp_path):
    weights, bias = rand(8, 24, seed=1), rand(24, seed=2)
    masks = [[[1, 1, 0], [1, 1, 1]], [2, 3], [3, 2, 1, 0], [[[1, 1, 0]] * 3] * 2]
    cases = [contrib("Attention", [X, weights, bias, np.array(mask, np.int32)], num_heads=2)
             for mask in masks]  # fmt: skip
    past = rand(2, 2, 2, 4, 4, seed=3)
    cases += [contrib("Attention", [X, weights, bias, None, past], 2, num_heads=2,
                      unidirectional=1)]  # fmt: skip
    extra = rand(1, 2, 3, 3, seed=4)
    cases += [contrib("Attention", [X, rand(8, 20, seed=5), rand(20), None, None, extra],
                      num_heads=2, qkv_hidden_sizes=[8, 8, 4], scale=0.3)]  # fmt: skip
    cases += [contrib("Attention", [OPEN, Weight(weights), Weight(bias)], num_heads=2,
                      unidirectional=1)]  # fmt: skip
    cases += [contrib("MultiHeadAttention", [X, rand(2, 5, 8, seed=6), rand(2, 5, 4, seed=7),
                                             rand(20, seed=8)], num_heads=2)]  # fmt: skip
    opened = [Open(rand(2, 5, 8, seed=k), ["batch", "keys", 8]) for k in (6, 7)]
    cases += [contrib("MultiHeadAttention", [OPEN, *opened, None, None], num_heads=4)]
    padded = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    cases += [contrib("MultiHeadAttention", [X, *(v.value for v in opened), None, padded],
                      num_heads=2)]  # fmt: skip
    # ONNX Runtime has packed operands on other devices only.
    three, two = rand(2, 3, 2, 3, 4), rand(2, 5, 2, 2, 4)
    for packed in ([three], [X, two]):
        apart = [np.moveaxis(packed[-1], 3, 0)[k].reshape(2, -1, 8) for k in range(-2, 0)]
        query = X if len(packed) == 2 else three[:, :, :, 0].reshape(2, 3, 8)
        want = right_answer(contrib("MultiHeadAttention", [query, *apart], num_heads=2))
        cases += [replace(contrib("MultiHeadAttention", packed, num_heads=2), want=want)]
    pasts = [rand(2, 2, 4, 4, seed=k) for k in (9, 10)]
    cases += [contrib("MultiHeadAttention", [X, X, X, None, None, None, *pasts], 3, num_heads=2,
                      unidirectional=1)]  # fmt: skip
    check_together(cases, tmp_path)


@pytest.mark.slow
def test_rotaryembedding(tmp_path):
    tables = [np.cos(rand(9, 2)), np.sin(rand(9, 2))]
    places = np.array([[3, 1, 0], [8, 2, 5]])
    cases = [contrib("RotaryEmbedding", [X, places, *tables], interleaved=k) for k in (0, 1)]
    cases += [contrib("RotaryEmbedding", [OPEN, np.array([4]), *tables])]
    cases += [contrib("RotaryEmbedding", [rand(2, 3, 3, 4), places, *tables])]
    cases += [contrib("RotaryEmbedding", [X, places, tables[0][:, :1], tables[1][:, :1]],
                      num_heads=2, rotary_embedding_dim=2)]  # fmt: skip
    check_together(cases, tmp_path)


def grouped(length, before, room, *extra, past=True, packed=False, outputs=3, **attrs):
    """Grouped attention of 4 heads of queries and 2 of keys, each of 16 elements."""
    q, k, v = rand(2, length, 64), rand(2, length, 32, seed=1), rand(2, length, 32, seed=2)
    pasts = [rand(2, 2, room, 16, seed=s) for s in (3, 4)] if past else [None, None]
    for row, filled in enumerate(before if past else ()):  # behind them nothing is said
        for cache in pasts:
            cache[row, :, filled:] = 0
    last = np.array([b + length - 1 for b in before], np.int32)
    total = np.array(max(before) + length, np.int32)
    operands = [np.concatenate([q, k, v], 2), None, None] if packed else [q, k, v]
    return contrib("GroupQueryAttention", [*operands, *pasts, last, total, *extra], outputs,
                   num_heads=4, kv_num_heads=2, **attrs)  # fmt: skip


@pytest.mark.slow
def test_groupqueryattention(tmp_path):
    tables = [f(rand(16, 8)) for f in (np.cos, np.sin)]
    cases = [grouped(3, [0, 0], 0, past=False), grouped(1, [2, 4], 5, packed=True)]
    cases += [grouped(1, [3, 3], 3, *tables, do_rotary=1, rotary_interleaved=k) for k in (0, 1)]
    cases += [grouped(4, [0, 0], 0, past=False, local_window_size=2, softcap=2.0)]
    cases += [grouped(3, [0, 0], 0, *tables, past=False, do_rotary=1, smooth_softmax=1)]
    cases += [grouped(1, [3, 5], 6, None, None, None, None, rand(4))]  # sinks
    places = np.array([[5], [2]])
    cases += [grouped(1, [3, 5], 6, *tables, places, do_rotary=1)]
    places = np.array([[4, 1, 1], [0, 9, 9]])  # of a first prompt the first one counts
    cases += [grouped(3, [0, 0], 0, *tables, places, past=False, do_rotary=1)]
    check_together(cases, tmp_path)


def test_groupqueryattention_norms(tmp_path):
    """Norms of queries and keys, which ONNX Runtime has on other devices only."""
    tables = [f(rand(16, 8)) for f in (np.cos, np.sin)]
    norms = [1 + rand(16, seed=k) / 4 for k in (5, 6)]
    last = (None,) * 5
    case = grouped(1, [2, 4], 5, *tables, *last, *norms, do_rotary=1, qk_norm_epsilon=0.1,
                   k_norm_epsilon=0.2)  # fmt: skip
    plain = grouped(1, [2, 4], 5, *tables, do_rotary=1)
    parts = list(plain.operands)
    for index, norm, epsilon in zip((0, 1), norms, (0.1, 0.2), strict=True):
        x = parts[index].reshape(2, 1, -1, 16)
        root = np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(epsilon))
        parts[index] = (x / root * norm).astype("f4").reshape(parts[index].shape)
    want = right_answer(replace(plain, operands=parts))
    check_together([replace(case, want=want)], tmp_path)


@pytest.mark.slow
def test_gatherblockquantized(tmp_path):
    index = np.array([[0, 4], [-1, 2]])

    def gather(kind, shape, block, zero, known=True, index=index, scale="float32", **attrs):
        rng = np.random.default_rng(0)
        bits = 4 if "4" in kind else attrs.get("bits", 4)
        axis = attrs.get("quantize_axis", 1)
        sizes = [-(-d // block) if k == axis else d for k, d in enumerate(shape)]
        hold = Weight if known else np.asarray
        scales = hold(rand(*sizes, seed=2).astype(scale))
        tables = []
        for dims in (shape, sizes) if zero else (shape,):
            numbers = rng.integers(0, 1 << bits, dims).astype("u1")
            if kind == "uint8":
                tables.append(packed_rows(numbers, f"u{bits}"))
            else:
                tables.append(numbers.astype("i1" if kind == "int4" else "u1").astype(kind))
        operands = [hold(tables[0]), index, scales, *map(hold, tables[1:])]
        return contrib("GatherBlockQuantized", operands, block_size=block, **attrs)

    axes = {"gather_axis": 0, "quantize_axis": 1}
    forms = product((2, 4, 8), (False, True), (False, True))
    cases = [gather("uint8", (5, 64), 16, zero, known, bits=bits, **axes)
             for bits, zero, known in forms]  # fmt: skip
    cases += [gather("uint8", (5, 3, 40), 16, True, bits=4, gather_axis=0, quantize_axis=2)]
    cases += [gather("uint8", (5, 32), 32, True, scale="float16", **axes)]
    for kind in ("int4", "uint4"):
        cases += [gather(kind, (5, 48), 16, True, **axes)]
        cases += [gather(kind, (48, 5), 16, True, gather_axis=1, quantize_axis=0)]
        cases += [gather(kind, (48, 5), 16, False, gather_axis=0, quantize_axis=0)]
    cases += [gather("int4", (5, 33), 16, False, index=Open(index, ["n", 2]), **axes)]
    check_together(cases, tmp_path)


@pytest.mark.slow
def test_matmulnbits(tmp_path):
    def nbits(bits, length, size, zero=None, bias=False, known=False, data=None):
        rows, blocks = 5, -(-length // size)
        rng = np.random.default_rng(bits)
        packed = rng.integers(0, 256, (rows, blocks, size * bits // 8)).astype("uint8")
        scales = rand(rows * blocks, seed=2)
        whole = rng.integers(0, 256, rows * -(-blocks * bits // 8)).astype("uint8")
        points = {None: None, "real": rand(rows * blocks, seed=3), "packed": whole}
        data = rand(3, length) if data is None else data
        operands = [data, *map(Weight if known else np.asarray, (packed, scales)), points[zero]]
        operands += [None, rand(rows, seed=4)] if bias else []
        return contrib("MatMulNBits", operands, K=length, N=rows, bits=bits, block_size=size)

    cases = [nbits(4, 64, 16), nbits(4, 70, 32, "packed", True), nbits(8, 32, 16, "packed")]
    cases += [nbits(4, 48, 16, "packed", known=True, data=Open(rand(2, 3, 48), ["n", 3, 48]))]
    cases += [nbits(4, 32, 16, "real")]
    check_together(cases, tmp_path)


WORDS, PLACES = np.array([[0, 1]], np.int32), np.array([[0, 1, 2]])
TABLES = [rand(3, 4), rand(5, 1), None, rand(4), rand(4)]
SHARED = [rand(1, 2, 64), rand(1, 2, 32), rand(1, 2, 32), None, None]
SHARED += [Weight(1 + np.zeros(1, np.int32)), Weight(np.array(2, np.int32))]
TURN, GROUPS = {"num_heads": 2}, {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1}
UNFIT = {
    "tables wider than a head": ("RotaryEmbedding", [rand(1, 3, 8), PLACES, rand(5, 4), rand(5, 4)],
                                 {**TURN, "rotary_embedding_dim": 8}),
    "other tables": ("RotaryEmbedding", [rand(1, 3, 16), PLACES, rand(5, 2), rand(5, 2)],
                     {**TURN, "rotary_embedding_dim": 8}),
    "several first places": ("RotaryEmbedding", [rand(1, 3, 8), PLACES[0], rand(9, 2), rand(9, 2)],
                             {}),
    "a head's tables": ("GroupQueryAttention", [*SHARED, rand(5, 12), rand(5, 12)], GROUPS),
    "a sine": ("GroupQueryAttention", [*SHARED, rand(5, 8), rand(5, 1)], GROUPS),
    "heads of keys": ("MultiHeadAttention", [rand(1, 3, 8), rand(1, 1, 5, 4), rand(1, 1, 5, 4)],
                      TURN),
    "a long bias": ("MultiHeadAttention", [X, X, X, rand(30)], TURN),
    "merged weights": ("Attention", [X, rand(8, 13), rand(13)], TURN),
    "their parts": ("Attention", [X, rand(8, 12), rand(12)],
                    {**TURN, "qkv_hidden_sizes": [4, 4, 2]}),
    "places of one number": ("EmbedLayerNormalization", [WORDS, None, *TABLES], {}),
    "a residual": ("FusedConv", [rand(1, 3, 4, 4), rand(2, 3, 1, 1), rand(2), rand(1, 2, 1, 1)],
                   {"activation": "Relu"}),
}  # fmt: skip


@pytest.mark.parametrize("name", UNFIT)
def test_operands_that_do_not_fit_are_refused(name):
    """They broadcast, or were cut, or read past their ends."""
    op, operands, attrs = UNFIT[name]
    model, _ = node_model(op, operands, 17, domain="com.microsoft", **attrs)
    with pytest.raises(UnsupportedError, match=f"{op} 'node': .+; "):
        importers.import_model(model)
