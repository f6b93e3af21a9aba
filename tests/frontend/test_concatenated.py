"""Attention over caches that Concat makes longer: what is found, what it becomes, what is not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper, numpy_helper

from tests.scripts.test_scripts import load
from tvm_megcc import frontend, zoo
from tvm_megcc.errors import InputError
from tvm_megcc.frontend.cache_states import cache_states
from tvm_megcc.frontend.capacity import CAPACITY, concatenated_pairs, with_capacity
from tvm_megcc.frontend.load import sort

optimum_models = load("optimum_models")

TINY, CAP = optimum_models.TINY, 32
STATES = ["past_key_values.*=present.*"]
CACHES = [f"{k}.{role}" for k in (0, 1) for role in ("key", "value")]
PAIRS = {f"present.{cache}": f"past_key_values.{cache}" for cache in CACHES}
FORMS = [
    *(("llama", mask, {}) for mask in optimum_models.MASKS),
    ("llama", "places", {"fused_scale": True}),
    *((family, "places", {}) for family in optimum_models.FAMILIES if family != "llama"),
]


def copied(model: onnx.ModelProto) -> onnx.ModelProto:
    made = onnx.ModelProto()
    made.CopyFrom(model)
    return made


def session(model: onnx.ModelProto) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.log_severity_level = 3
    return ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


@pytest.mark.parametrize(
    ("family", "mask", "given"), FORMS, ids=[f"{f}-{m}{'-fused' * bool(g)}" for f, m, g in FORMS]
)
def test_what_it_becomes_is_the_same_model(family, mask, given):
    compared(optimum_models.built(TINY, "f32", family, mask, **given))


def test_caps_and_windows_stay():
    """Scores are 1.5 * tanh(scores / 1.5), and a row sees the last four."""
    model = optimum_models.built(TINY, "f32")
    graph = model.graph
    for name, value in (("cap", np.array(1.5, "f4")), ("window", np.array(4))):
        graph.initializer.append(numpy_helper.from_array(value, name))
    for k in range(TINY.layers):
        softmax = node_of(graph, "Softmax", k)
        add = next(node for node in graph.node if node.output[0] == softmax.input[0])
        names = [f"{what}_{k}" for what in ("part", "turned", "capped")]
        graph.node.append(helper.make_node("Div", [add.input[0], "cap"], [names[0]], names[0]))
        graph.node.append(helper.make_node("Tanh", [names[0]], [names[1]], names[1]))
        graph.node.append(helper.make_node("Mul", [names[1], "cap"], [names[2]], names[2]))
        add.input[0] = names[2]
    seen = node_of(graph, "LessOrEqual")
    made = [
        helper.make_node("Add", [seen.input[0], "window"], ["reach"], "reach"),
        helper.make_node("Greater", ["reach", seen.input[1]], ["near"], "near"),
        helper.make_node("And", ["near", "not_later"], list(seen.output), "both"),
    ]
    seen.output[0] = "not_later"
    graph.node.extend(made)
    sort(graph)
    changed = compared(model)
    caps = [a.f for n in changed.graph.node for a in n.attribute if a.name == "softcap"]
    assert caps == [1.5] * TINY.layers


def compared(model: onnx.ModelProto) -> onnx.ModelProto:
    """By ONNX Runtime, before and after; of two rows in a batch one is shorter, padded left."""
    changed = with_capacity(copied(model), PAIRS)
    kinds = [node.op_type for node in changed.graph.node]
    assert kinds.count("GroupQueryAttention") == TINY.layers and "Softmax" not in kinds
    names = [port.name for port in model.graph.output]
    caches = {port.name: port for port in changed.graph.input if port.name in PAIRS.values()}
    dims = next(iter(caches.values())).type.tensor_type.shape.dim
    assert dims[2].dim_param == CAPACITY
    heads, rng = dims[1].dim_value, np.random.default_rng(0)
    ours, theirs = session(changed), session(model)
    grown = {name: np.zeros((2, heads, 0, TINY.head), "f4") for name in caches}
    filled = {name: np.zeros((2, heads, CAP, TINY.head), "f4") for name in caches}
    real, past = np.ones((2, CAP), np.int64), 0
    real[0, :3] = 0
    for rows in (6, 1, 1):  # ONNX Runtime takes no chunks of a batch
        mask_ = real[:, : past + rows]
        step = {
            "input_ids": rng.integers(0, TINY.vocabulary, (2, rows)),
            "attention_mask": mask_,
            "position_ids": np.maximum(np.cumsum(mask_, 1) - 1, 0)[:, past:],
        }
        wanted = theirs.run(None, {**step, **grown})
        found = ours.run(None, {**step, **filled})
        seen = mask_[:, past:] == 1
        np.testing.assert_allclose(found[0][seen], wanted[0][seen], rtol=0, atol=1e-5)
        past += rows
        grown = {PAIRS[name]: a for name, a in zip(names[1:], wanted[1:], strict=True)}
        filled = {PAIRS[name]: a for name, a in zip(names[1:], found[1:], strict=True)}
        for name in caches:
            np.testing.assert_allclose(filled[name][:, :, 3:past], grown[name][:, :, 3:], atol=1e-5)
    return changed


@pytest.mark.parametrize("model", [zoo.decoder(), optimum_models.built(TINY, "f32")])
def test_such_caches_are_states(model):
    assert set(cache_states(model)) == {f"{past}={present}" for present, past in PAIRS.items()}
    module = frontend.from_onnx(model, states=STATES)
    sizes = {port.name: port.shape for port in module.inputs}
    assert all(sizes[name][2] == CAPACITY for name in PAIRS.values())
    apart = {port.name: port.shape for port in frontend.from_onnx(model).inputs}
    assert all(apart[name][2] != CAPACITY for name in PAIRS.values())


# ---- what is not such attention ------------------------------------------------------------------

Change = Callable[[onnx.GraphProto], None]


def node_of(graph: onnx.GraphProto, kind: str, number: int = 0) -> onnx.NodeProto:
    return [node for node in graph.node if node.op_type == kind][number]


def _output(graph: onnx.GraphProto) -> None:
    """The weights of attention are an output."""
    name = node_of(graph, "Softmax").output[0]
    graph.output.append(helper.make_tensor_value_info(name, 1, None))


def _two_readers(graph: onnx.GraphProto) -> None:
    graph.node.append(helper.make_node("Abs", ["present.0.key"], ["sizes"], "sizes"))
    graph.output.append(helper.make_tensor_value_info("sizes", 1, None))


def _past_is_read(graph: onnx.GraphProto) -> None:
    graph.node.append(helper.make_node("Abs", ["past_key_values.1.value"], ["sizes"], "sizes"))
    graph.output.append(helper.make_tensor_value_info("sizes", 1, None))


def _sees_all(graph: onnx.GraphProto) -> None:
    """The mask hides padding alone."""
    node = node_of(graph, "And")
    node.op_type = "Or"


def _sees_far(graph: onnx.GraphProto) -> None:
    """From the hundredth row on, later ones are seen."""
    node = node_of(graph, "LessOrEqual")
    graph.initializer.append(numpy_helper.from_array(np.array(100), "far"))
    made = helper.make_node("Greater", [node.input[0], "far"], ["is_far"], "is_far")
    both = helper.make_node("Or", ["is_near", "is_far"], list(node.output), "either")
    node.output[0] = "is_near"
    graph.node.extend([made, both])


def _replaced(graph: onnx.GraphProto) -> None:
    """Scores that a mask hides become 0."""
    softmax = node_of(graph, "Softmax")
    seen = node_of(graph, "And").output[0]
    graph.initializer.append(numpy_helper.from_array(np.array(0, "f4"), "zero"))
    given = [seen, softmax.input[0], "zero"]
    softmax.input[0] = "replaced"
    graph.node.append(helper.make_node("Where", given, ["replaced"], "replaced"))


def _other_heads(graph: onnx.GraphProto) -> None:
    """Keys are repeated head after head: 0 1 0 1."""
    expand = node_of(graph, "Expand")
    before = next(node for node in graph.node if node.output[0] == expand.input[0])
    shape = next(node for node in graph.node if node.output[0] == expand.input[1])
    before.input[1] = "one"
    graph.initializer.append(numpy_helper.from_array(np.array([1]), "one"))
    shape.input[1], shape.input[2] = shape.input[2], shape.input[1]


def _columns(graph: onnx.GraphProto) -> None:
    node = node_of(graph, "Softmax")
    node.attribute[0].i = 2


def _fixed(graph: onnx.GraphProto) -> None:
    port = next(p for p in graph.input if p.name == "past_key_values.0.key")
    port.type.tensor_type.shape.dim[2].dim_value = 7


def _no_mask(graph: onnx.GraphProto) -> None:
    port = next(p for p in graph.input if p.name == "attention_mask")
    port.name = "mask"
    for node in graph.node:
        for k, name in enumerate(node.input):
            if name == "attention_mask":
                node.input[k] = "mask"


REFUSED: dict[Change, str] = {
    _output: "'softmax_.*' is read by|an output",
    _two_readers: "'present.0.key' is read by .*Abs 'sizes'",
    _past_is_read: "Abs 'sizes' reads 'past_key_values.1.value', too",
    _sees_all: "MatMul '.*': its mask does not hide what comes later",
    _sees_far: "MatMul '.*': its mask does not hide what comes later",
    _replaced: "MatMul '.*': scores are replaced by others",
    _other_heads: "has not the rows of 'present.0.key'",
    _columns: "Softmax '.*' is along another axis",
    _fixed: "'past_key_values.0.key' needs .* an open number of rows",
    _no_mask: "no inputs 'attention_mask' and 'input_ids'",
}


@pytest.mark.parametrize("change", REFUSED, ids=lambda change: change.__name__.strip("_"))
def test_other_attention_stays(change):
    model = optimum_models.built(TINY, "f32")
    change(model.graph)
    before = copied(model)
    assert not concatenated_pairs(model) and model == before
    assert not cache_states(model)
    reason = f"^--state: .*{REFUSED[change]}.*; .* leave this pair out"
    with pytest.raises(InputError, match=reason):
        frontend.from_onnx(model, states=STATES)


def test_old_operators_stay():
    model = optimum_models.built(TINY, "f32")
    model.opset_import[0].version = 11
    with pytest.raises(InputError, match="the model is of opset 11, 13 is needed; so the cache"):
        with_capacity(model, PAIRS)


def test_a_pair_alone_is_refused():
    model = optimum_models.built(TINY, "f32")
    with pytest.raises(InputError, match="reads no values of another cache|whose keys are no pair"):
        frontend.from_onnx(model, states=["past_key_values.0.key=present.0.key"])
