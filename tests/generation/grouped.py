"""A decoder with GroupQueryAttention, in the form of onnxruntime-genai's builder, and its names."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LAYERS, HEADS, KEPT, SIZE, VOCABULARY, LONGEST = 2, 4, 2, 8, 272, 1100
WIDTH = HEADS * SIZE


def decoder(seed: int = 0) -> onnx.ModelProto:
    """The model in f32: past and present have lengths of their own, as the builder writes them."""
    rng = np.random.default_rng(seed)
    nodes: list[onnx.NodeProto] = []
    weights: list[onnx.TensorProto] = []

    def weight(name: str, value: np.ndarray) -> str:
        weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def drawn(name: str, rows: int, columns: int) -> str:
        return weight(name, rng.standard_normal((rows, columns), "f4") / np.float32(np.sqrt(rows)))

    def add(op: str, inputs: list[str], *outputs: str, domain: str = "", **attrs: object) -> str:
        nodes.append(helper.make_node(op, inputs, outputs, domain=domain, **attrs))
        return outputs[0]

    one = weight("one", np.array([1]))
    rows = add("ReduceSum", ["attention_mask", one], "rows", keepdims=0)
    last = add("Cast", [add("Sub", [rows, one], "before")], "last", to=TensorProto.INT32)
    length = add("Shape", ["attention_mask"], "length", start=1)
    total = add("Cast", [add("Squeeze", [length], "most")], "total", to=TensorProto.INT32)
    angles = np.arange(LONGEST)[:, None] * 1e4 ** (-np.arange(0, SIZE, 2) / SIZE)
    cos, sin = (
        weight("cos", np.cos(angles).astype("f4")),
        weight("sin", np.sin(angles).astype("f4")),
    )
    scale = weight("scale", 1 + 0.1 * rng.standard_normal(WIDTH).astype("f4"))
    x = add("Gather", [drawn("words", VOCABULARY, WIDTH), "input_ids"], "embedded")
    x = add("Mul", [x, weight("loud", np.array(16, "f4"))], "x")
    pasts, presents = [], []
    for k in range(LAYERS):
        y = add("LayerNormalization", [x, scale], f"normed{k}", axis=-1)
        qkv = add("MatMul", [y, drawn(f"qkv{k}", WIDTH, WIDTH + 2 * KEPT * SIZE)], f"qkv{k}_y")
        past = [f"past_key_values.{k}.{role}" for role in ("key", "value")]
        present = [f"present.{k}.{role}" for role in ("key", "value")]
        y = add(
            "GroupQueryAttention", [qkv, "", "", *past, last, total, cos, sin], f"read{k}",
            *present, domain="com.microsoft", num_heads=HEADS, kv_num_heads=KEPT, do_rotary=1,
        )  # fmt: skip
        y = add("MatMul", [y, drawn(f"out{k}", WIDTH, WIDTH)], f"out{k}_y")
        x = add("Add", [x, y], f"x{k}")
        pasts, presents = pasts + past, presents + present
    x = add("LayerNormalization", [x, scale], "normed", axis=-1)
    add("MatMul", [x, drawn("head", WIDTH, VOCABULARY)], "logits")

    port, float_ = helper.make_tensor_value_info, TensorProto.FLOAT
    graph = helper.make_graph(
        nodes, "decoder",
        [port("input_ids", TensorProto.INT64, [1, "tokens"]),
         port("attention_mask", TensorProto.INT64, [1, "total_length"]),
         *(port(name, float_, [1, KEPT, "past_length", SIZE]) for name in pasts)],
        [port("logits", float_, [1, "tokens", VOCABULARY]),
         *(port(name, float_, [1, KEPT, "total_length", SIZE]) for name in presents)],
        weights,
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)
