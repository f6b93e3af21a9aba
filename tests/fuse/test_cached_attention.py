"""Attention over a cache: what it computes, against f64 and ONNX Runtime, and what it leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.cache_rows import rounded, widened
from tests.frontend.running import run
from tvm_megcc import driver, execute, frontend, passes
from tvm_megcc.core.program import Call, Copy
from tvm_megcc.dynamic_options import DynamicOptions
from tvm_megcc.errors import InputError, ToolError, UnsupportedError

HEADS, KEPT, SIZE, CAP, LONGEST = 6, 2, 16, 24, 32
STATES = ["past_*=present_*"]
ANGLES = np.arange(LONGEST)[:, None] * 100.0 ** (-np.arange(0, SIZE, 2) / SIZE)
COS, SIN = np.cos(ANGLES).astype("f4"), np.sin(ANGLES).astype("f4")
SINKS = np.linspace(-2, 3, HEADS).astype("f4")


def model(
    batch: int | str = 1,
    rows: int | str = "rows",
    half: bool = False,
    bias: Sequence[int | str] = (),
    sinks: bool = False,
    **attrs: object,
) -> onnx.ModelProto:
    """A GroupQueryAttention over caches of a capacity.

    `bias` are batches and heads of a bias.
    """
    more = ["", "bias" if bias else "", "sinks" if sinks else ""]
    facts = {"num_heads": HEADS, "kv_num_heads": KEPT, "do_rotary": 1, **attrs}
    node = helper.make_node(
        "GroupQueryAttention",
        ["x", "", "", "past_k", "past_v", "last", "total", "cos", "sin", *more],
        ["y", "present_k", "present_v"], name="attention", domain="com.microsoft", **facts,
    )  # fmt: skip
    float_, int_ = TensorProto.FLOAT16 if half else TensorProto.FLOAT, TensorProto.INT32
    arrays = {"cos": COS, "sin": SIN} | ({"sinks": SINKS} if sinks else {})
    tables = {name: array.astype("f2" if half else "f4") for name, array in arrays.items()}
    biases = [helper.make_tensor_value_info("bias", float_, [*bias, rows, "columns"])] * bool(bias)
    cache = [batch, KEPT, "capacity", SIZE]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [node], "g",
        [info("x", float_, [batch, rows, (HEADS + 2 * KEPT) * SIZE]),
         info("past_k", float_, cache), info("past_v", float_, cache),
         info("last", int_, [batch]), info("total", int_, []), *biases],
        [info(n, float_, None) for n in ("y", "present_k", "present_v")],
        [numpy_helper.from_array(t, name) for name, t in tables.items()],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


class Sequences:
    """A batch of sequences: the inputs of each step, and what f64 says of it."""

    def __init__(
        self, batch: int, bias: Sequence[int] = (), sinks: bool = False, **attrs: float
    ) -> None:
        self.rng, self.attrs = np.random.default_rng(batch), attrs
        self.sinks = SINKS if sinks else np.zeros(HEADS) if attrs.get("smooth_softmax") else None
        self.of_bias, self.bias = bias, None
        self.batch, self.filled = batch, np.zeros(batch, int)
        self.caches = [np.full((batch, KEPT, CAP, SIZE), 7, "f4") for _ in range(2)]
        self.exact = [c.astype("f8") for c in self.caches]

    def step(self, rows: int) -> dict[str, np.ndarray]:
        width = (HEADS + 2 * KEPT) * SIZE
        x = self.rng.standard_normal((self.batch, rows, width)).astype("f4")
        total = self.filled + rows
        last, most = (total - 1).astype("i4"), np.array(total.max(), "i4")
        past = {"past_k": self.caches[0], "past_v": self.caches[1]}
        given = {"x": x, **past, "last": last, "total": most}
        if self.of_bias:
            size = (*self.of_bias, rows, int(most))
            self.bias = given["bias"] = self.rng.standard_normal(size).astype("f4")
        return given

    def answer(self, x: np.ndarray) -> np.ndarray:
        rows = x.shape[1]
        heads = x.astype("f8").reshape(self.batch, rows, -1, SIZE)
        y = np.zeros((self.batch, rows, HEADS, SIZE))
        for b in range(self.batch):
            place = self.filled[b] + np.arange(rows)
            turned = heads[b].copy()
            low, high = np.split(heads[b, :, : HEADS + KEPT], 2, axis=-1)
            cos, sin = (np.cos(ANGLES)[place][:, None], np.sin(ANGLES)[place][:, None])
            turned[:, : HEADS + KEPT] = np.concatenate(
                [low * cos - high * sin, low * sin + high * cos], -1
            )
            for cache, first in zip(self.exact, (HEADS, HEADS + KEPT), strict=True):
                cache[b, :, place] = turned[:, first : first + KEPT]
            for i, at in enumerate(place):
                for h in range(HEADS):
                    self._head(y, turned, b, i, int(at), h)
        self.filled += rows
        return y.reshape(self.batch, rows, -1)

    def _head(self, y: np.ndarray, turned: np.ndarray, b: int, i: int, at: int, h: int) -> None:
        window = int(self.attrs.get("local_window_size", 0))
        seen = slice(max(0, at + 1 - window) if window else 0, at + 1)
        keys, values = (c[b, h // (HEADS // KEPT), seen] for c in self.exact)
        scores = keys @ turned[i, h] / np.sqrt(SIZE)
        if cap := self.attrs.get("softcap", 0.0):
            scores = cap * np.tanh(scores / cap)
        if self.bias is not None:
            batches, heads, *_ = self.bias.shape
            scores = scores + self.bias[b % batches, h % heads, i, seen]
        sinks = [] if self.sinks is None else [self.sinks[h]]
        weights = np.exp([*scores, *sinks] - np.max([*scores, *sinks]))
        y[b, i, h] = weights[: len(scores)] / weights.sum() @ values


@pytest.mark.parametrize("states", [[], STATES], ids=["apart", "in place"])
@pytest.mark.parametrize(
    ("batch", "attrs"),
    [
        (1, {}),
        (3, {"local_window_size": 5, "sinks": True}),
        (1, {"softcap": 1.5, "bias": [1, HEADS]}),
        (2, {"smooth_softmax": 1, "bias": [2, 1]}),
    ],
)
def test_prompts_and_steps(tmp_path, states, batch, attrs):
    driver.compile_model(model(batch, **attrs), tmp_path / "p", archs=["host"], states=states)
    sequences = Sequences(batch, **attrs)
    with execute.opened(tmp_path / "p") as runnable:
        for rows in (5, 1, 2, 1, 7):  # a prompt, chunks, single tokens
            given = sequences.step(rows)
            found = runnable.run(given).outputs
            np.testing.assert_allclose(found["y"], sequences.answer(given["x"]), atol=2e-6)
            sequences.caches = [found["present_k"], found["present_v"]]
            for cache, exact in zip(sequences.caches, sequences.exact, strict=True):
                np.testing.assert_allclose(cache, exact, atol=2e-6)  # behind them all stays
        with pytest.raises(ToolError, match="'attention'|data"):
            runnable.run(sequences.step(CAP))


def test_sequences_of_several_lengths(tmp_path):
    driver.compile_model(model(2), tmp_path / "p", archs=["host"], states=STATES)
    sequences = Sequences(2)
    with execute.opened(tmp_path / "p") as runnable:
        given = sequences.step(4)
        found = runnable.run(given).outputs
        sequences.answer(given["x"])
        sequences.caches = [found["present_k"], found["present_v"]]
        sequences.filled[1] = 2  # the second one was shorter
        for _ in range(3):
            given = sequences.step(1)
            found = runnable.run(given).outputs
            np.testing.assert_allclose(found["y"], sequences.answer(given["x"]), atol=2e-6)
            sequences.caches = [found["present_k"], found["present_v"]]


@pytest.mark.parametrize(
    ("states", "attrs"),
    [
        (STATES, {}),
        (STATES, {"local_window_size": 5, "softcap": 1.5}),
        (STATES, {"sinks": True, "bias": [1, 1]}),
        ([], {}),
    ],
)
def test_caches_in_f16(tmp_path, states, attrs):
    half = model(half=True, **attrs)
    driver.compile_model(half, tmp_path / "p", archs=["host"], states=states)
    sequences = Sequences(1, **attrs)
    with execute.opened(tmp_path / "p") as runnable:
        for rows in (5, 1, 2, 1, 7):
            given = sequences.step(rows)
            narrow = {k: a.astype("f2") if a.dtype == "f4" else a for k, a in given.items()}
            found = runnable.run(narrow).outputs
            wanted = sequences.answer(narrow["x"])
            np.testing.assert_allclose(found["y"], wanted, atol=4e-3)
            sequences.caches = [found["present_k"], found["present_v"]]
            assert {cache.dtype for cache in sequences.caches} == {np.dtype("f2")}


@pytest.mark.parametrize(("arch", "kernel"), [("arm64", ""), ("arm64+fp16", "_fp16")])
def test_a_cache_in_f16_stays(arch, kernel):
    """It is neither widened nor copied."""
    compiled = driver.compile_programs(
        model(rows=1, half=True), [arch], states=STATES,
        input_shapes={"past_k": (1, KEPT, 4096, SIZE)},
    )  # fmt: skip
    (program,) = compiled.values()
    names = [
        program.kernels[step.kernel].template for step in program.calls if isinstance(step, Call)
    ]
    assert names.count("cache_append") == 2 and f"attention_cached_f16{kernel}" in names
    assert not any(isinstance(step, Copy) for step in program.calls)
    assert program.arena_bytes is not None and program.arena_bytes < 80_000


def test_what_a_step_does():
    """Two calls write the new rows, one reads them: no copy, and an arena of one row of scores."""
    compiled = driver.compile_programs(
        model(rows=1), ["arm64"], states=STATES, input_shapes={"past_k": (1, KEPT, 4096, SIZE)}
    )
    (program,) = compiled.values()
    calls = [step for step in program.calls if isinstance(step, Call)]
    names = [program.kernels[call.kernel].template for call in calls]
    assert names.count("cache_append") == 2 and names.count("attention_cached_f32") == 1
    assert not any(isinstance(step, Copy) for step in program.calls)
    spaces = {p.name: program.tensors[p.tensor].location.space for p in program.outputs}
    assert spaces["present_k"] == spaces["present_v"] == "output"
    assert program.arena_bytes is not None and program.arena_bytes < 80_000


@pytest.mark.parametrize(
    "attrs",
    [
        {},
        {"local_window_size": 3, "softcap": 2.0},
        {"sinks": True},
        {"bias": [1, HEADS]},
        {"smooth_softmax": 1},
    ],
)
def test_stock_tvm_computes_the_same(attrs):
    """The module is plain TVM before kernels are chosen."""
    given = Sequences(1, attrs.get("bias", ())).step(4)
    if "bias" in given:
        given["bias"] = np.random.default_rng(0).standard_normal((1, HEADS, 4, 13)).astype("f4")
    given["past_k"][:], given["past_v"][:] = 0.25, -0.5
    given["last"] += 9
    given["total"] = np.array(given["total"] + 9)
    fixed = model(rows=4, **attrs)
    for port in fixed.graph.input:
        for dim in port.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_value = CAP if dim.dim_param == "capacity" else 13
    session = ort.InferenceSession(fixed.SerializeToString(), providers=["CPUExecutionProvider"])
    found, wanted = run(frontend.from_onnx(fixed), given), session.run(None, given)
    np.testing.assert_allclose(found[0], wanted[0], atol=3e-6)
    for got, want in zip(found[1:], wanted[1:], strict=True):
        np.testing.assert_allclose(got[:, :, :13], want[:, :, :13], atol=3e-6)


#: ``--cache-dtype`` -> NumPy's name, elements of a row beyond those of a head, largest errors.
DTYPES = {"f32": ("f4", 0, 2e-6), "f16": ("f2", 0, 2e-3), "int8": ("i1", 4, 3e-2)}


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_caches_of_another_type(tmp_path, dtype, half):
    name, more, atol = DTYPES[dtype]
    atol = max(atol, 4e-3 * half)
    driver.compile_model(
        model(half=half, sinks=True), tmp_path / "p", archs=["host"], cache_dtype=dtype
    )
    sequences = Sequences(1, sinks=True)
    sequences.caches = [np.zeros((1, KEPT, CAP, SIZE + more), name) for _ in range(2)]
    with execute.opened(tmp_path / "p") as runnable:
        for rows in (5, 1, 7):
            given = sequences.step(rows)
            given["x"] = given["x"].astype("f2" if half else "f4")
            found = runnable.run(given).outputs
            wanted = sequences.answer(given["x"])
            np.testing.assert_allclose(found["y"], wanted, rtol=0, atol=atol)
            sequences.caches = [found["present_k"], found["present_v"]]
            assert {c.dtype for c in sequences.caches} == {np.dtype(name)}
            for cache, exact in zip(sequences.caches, sequences.exact, strict=True):
                seen = slice(int(sequences.filled[0]))
                kept = widened(cache) if more else cache
                np.testing.assert_allclose(
                    kept[:, :, seen], exact[:, :, seen], rtol=0, atol=max(atol, 4e-3 * half)
                )


@pytest.mark.parametrize("arch", ["arm64", "armv7", "x86", "portable"])
def test_a_cache_in_int8_stays(arch):
    """Two calls write the new rows, one reads them; neither a copy nor a widened cache."""
    compiled = driver.compile_programs(
        model(rows=1), [arch], states=STATES, cache_dtype="int8",
        input_shapes={"past_k": (1, KEPT, 4096, SIZE)},
    )  # fmt: skip
    (program,) = compiled.values()
    calls = [step for step in program.calls if isinstance(step, Call)]
    names = [program.kernels[call.kernel].template for call in calls]
    assert names.count("cache_append_i8") == 2
    assert any(name.startswith("attention_cached_f32_over_i8") for name in names)
    assert not any(isinstance(step, Copy) for step in program.calls)
    assert program.arena_bytes is not None and program.arena_bytes < 80_000
    port = next(port for port in program.inputs if port.name == "past_k")
    tensor = program.tensors[port.tensor]
    assert (tensor.dtype, tensor.shape) == ("i8", (1, KEPT, 4096, SIZE + 4))


@pytest.mark.parametrize("dtype", ["float16", "int8"])
def test_stock_tvm_rounds_the_same(dtype):
    sequences = Sequences(1, sinks=True)
    given = sequences.step(4)
    fixed = model(rows=4, sinks=True)
    for port in fixed.graph.input:
        for dim in port.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_value = CAP
    imported = frontend.from_onnx(fixed, states=STATES)
    inputs = [port.name for port in imported.inputs]
    mod = passes.CacheDtype(dtype, "main", [(1, 1), (2, 2)], inputs)(imported.mod)
    shape = (1, KEPT, CAP, SIZE + 4 * (dtype == "int8"))
    given |= {name: np.zeros(shape, dtype) for name in ("past_k", "past_v")}
    y, *caches = run(replace(imported, mod=mod), given)
    np.testing.assert_allclose(y, sequences.answer(given["x"]), rtol=0, atol=3e-2)
    for cache, exact in zip(caches, sequences.exact, strict=True):
        rows = exact[:, :, :4].astype("f4")
        wanted = rounded(rows) if dtype == "int8" else rows.astype(dtype)
        kept = (widened(a[:, :, :4]) if dtype == "int8" else a[:, :, :4] for a in (cache, wanted))
        np.testing.assert_allclose(*kept, rtol=0, atol=4e-2 if dtype == "int8" else 2e-3)
        assert cache.dtype == dtype and not cache[:, :, 4:].any()


def test_caches_that_cannot_have_another_type():
    def compiled(given: onnx.ModelProto, **options: object) -> None:
        driver.compile_programs(given, ["arm64"], cache_dtype="int8", **options)

    with pytest.raises(
        UnsupportedError, match="'past_k' beside one that is no state; give --state"
    ):
        compiled(model(), states=["past_k=present_k"])
    other = model()
    other.graph.node.append(helper.make_node("Neg", ["present_k"], ["negative"]))
    other.graph.output.append(helper.make_tensor_value_info("negative", TensorProto.FLOAT, None))
    with pytest.raises(UnsupportedError, match="'past_k' is read by more than attention"):
        compiled(other)
    graph = helper.make_graph(
        [helper.make_node("Add", ["h", "x"], ["next"])], "g",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in "hx"],
        [helper.make_tensor_value_info("next", TensorProto.FLOAT, [3])],
    )  # fmt: skip
    recurrent = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    for states in ([], ["h=next"]):
        with pytest.raises(UnsupportedError, match="none of the model's states is a cache"):
            compiled(recurrent, states=states)
    with pytest.raises(InputError, match="a program for each of several shapes"):
        cache = (1, KEPT, CAP, SIZE)
        given = {"past_k": cache, "past_v": cache}
        listed = tuple({"x": (1, rows, 160), **given} for rows in (1, 4))
        compiled(model(), dynamic=DynamicOptions(listed=listed))
    with pytest.raises(InputError, match="cache_dtype 'f8' is not known; choose from f32, f16"):
        driver.compile_programs(model(), ["arm64"], cache_dtype="f8")
