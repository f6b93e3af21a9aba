"""Models whose weights alone are quantised: the right numbers, and no more bytes than the file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.closeness import compare
from tests.int8_rows import rounded
from tests.ops.packages import runner
from tvm_megcc.core.dtypes import of, packed
from tvm_megcc.core.preference import DEFAULT, Preference

pytestmark = pytest.mark.slow

K, ROWS = 200, 7
#: ONNX's name of a type -> ours, its least and its greatest number.
TYPES = {"INT8": ("i8", -128, 127), "UINT8": ("u8", 0, 255), "INT4": ("i4", -8, 7),
         "UINT4": ("u4", 0, 15), "UINT2": ("u2", 0, 3)}  # fmt: skip


class Net:
    """Products of one input, each with weights of its own, and what they give in double."""

    def __init__(self, int8: bool = True) -> None:
        self.int8 = int8  # whether rows become int8 where the accuracy level lets them
        self.rng = np.random.default_rng(0)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        #: Output -> the input that it is of, and the product.
        self.answers: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {}

    def constant(self, array: np.ndarray, kind: str = "FLOAT") -> str:
        name = f"c{len(self.constants)}"
        data = packed(array, TYPES[kind][0]) if kind in TYPES else array.tobytes()
        dtype = getattr(TensorProto, kind)
        self.constants.append(helper.make_tensor(name, dtype, array.shape, data, raw=True))
        return name

    def node(self, op: str, *inputs: str, domain: str = "", **attrs: object) -> str:
        name = f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name, domain=domain, **attrs))
        return name

    def integers(self, shape: tuple[int, ...], kind: str) -> np.ndarray:
        ours, low, high = TYPES[kind]
        return self.rng.integers(low, high, shape, endpoint=True).astype(of(ours).held_numpy)

    def scales(self, *shape: int) -> np.ndarray:
        return self.rng.uniform(0.01, 0.02, shape).astype(np.float32)

    def dequantised(
        self, shape: tuple[int, int], kind: str, axis: int, block: int = 0, one: bool = False,
        zero: bool = True,
    ) -> tuple[str, np.ndarray]:  # fmt: skip
        """A DequantizeLinear of weights, and what they are."""
        numbers = self.integers(shape, kind)
        size = [-(-d // (block or d)) if k == axis else d for k, d in enumerate(shape)]
        scale_shape = () if one else tuple(size) if block else (shape[axis],)
        scale, point = self.scales(*scale_shape), self.integers(scale_shape, kind)
        names = [self.constant(numbers, kind), self.constant(scale)]
        if zero:
            names.append(self.constant(point, kind))
        attrs = {} if one else {"axis": axis, **({"block_size": block} if block else {})}
        name = self.node("DequantizeLinear", *names, **attrs)
        wide = [scale.astype(np.float64), point.astype(np.float64) * zero]
        if block:
            wide = [np.repeat(a, block, axis).take(range(shape[axis]), axis) for a in wide]
        elif not one:
            wide = [a.reshape((-1, 1) if axis == 0 else (1, -1)) for a in wide]
        return name, (numbers - wide[1]) * wide[0]

    def nbits(
        self, x: str, n: int, bits: int, block: int, zero: bool, bias: bool, mixed: bool = False,
        level: int = 0,
    ) -> None:  # fmt: skip
        blocks, kind = -(-K // block), f"UINT{bits}"
        numbers, scale = self.integers((n, blocks * block), kind), self.scales(n, blocks)
        point = self.integers((n, blocks), kind) if zero else np.full((n, blocks), 1 << bits - 1)
        last = self.rng.standard_normal(n).astype(np.float32)

        def rows(array: np.ndarray) -> np.ndarray:
            """The bytes of each row, the last one filled up."""
            full = np.pad(array, ((0, 0), (0, -array.shape[1] * bits % 8 // bits)))
            return np.frombuffer(packed(full, f"u{bits}"), np.uint8).reshape(n, -1)

        operands = [
            x,
            self.constant(rows(numbers).reshape(n, blocks, -1), "UINT8"),
            self.constant(scale),
            self.constant(rows(point), "UINT8") if zero else "",
        ]
        groups = np.arange(K) // block
        if mixed:  # places of K go by the scales of blocks elsewhere
            self.rng.shuffle(groups)
        operands.append(self.constant(groups.astype(np.int32), "INT32") if mixed else "")
        operands += [self.constant(last)] if bias else []
        int8 = level == 4 and self.int8
        y = self.node("MatMulNBits", *operands, domain="com.microsoft", K=K, N=n, bits=bits,
                      block_size=block, accuracy_level=level)  # fmt: skip
        wide = [a.astype(np.float64)[:, groups] for a in (point, scale)]
        weights = (numbers[:, :K] - wide[0]) * wide[1]
        self.answers[y] = (
            x, lambda v: (rounded(v, block) if int8 else v) @ weights.T + last * bias
        )  # fmt: skip

    def model(self) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes,
            "net",
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, [m, K])
             for n, m in (("x", ROWS), ("v", 1))],
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in self.answers],
            self.constants,
        )  # fmt: skip
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def products(net: Net) -> None:
    for x, kind, axis, block, options in [
        ("x", "INT8", 1, 0, {"one": True}),
        ("x", "UINT8", 1, 0, {}),
        ("v", "INT8", 1, 0, {"zero": False}),
        ("x", "INT4", 0, 32, {}),
        ("x", "UINT4", 1, 0, {}),
        ("v", "INT8", 0, 24, {}),
    ]:
        name, weights = net.dequantised((K, 48), kind, axis, block, **options)
        y = net.node("Relu", net.node("MatMul", x, name))
        net.answers[y] = (x, lambda v, w=weights: np.maximum(v @ w, 0))
    name, weights = net.dequantised((64, K), "INT8", 0)
    last = net.rng.standard_normal(64).astype(np.float32)
    y = net.node("Gemm", "v", name, net.constant(last), transB=1)
    net.answers[y] = ("v", lambda v, w=weights: v @ w.T + last)
    name, rows = net.dequantised((64, K), "UINT4", 1, 40)
    y = net.node("MatMul", "x", net.node("Transpose", name, perm=[1, 0]))
    net.answers[y] = ("x", lambda v: v @ rows.T)
    net.nbits("x", 48, 4, 32, zero=False, bias=True)
    net.nbits("v", 48, 4, 16, zero=True, bias=False)
    net.nbits("x", 48, 8, 64, zero=True, bias=True)
    net.nbits("v", 32, 4, 32, zero=True, bias=True, mixed=True)


def check(
    net: Net, folder: Path, preference: Preference = DEFAULT, limit: float = 2e-6
) -> onnx.ModelProto:
    """The compiled model gives what its products do in double."""
    model, draw = net.model(), np.random.default_rng(1).standard_normal
    feed = {"x": draw((ROWS, K)).astype(np.float32), "v": draw((1, K)).astype(np.float32)}
    found = runner(model, folder, preference=preference)(feed)
    for number, (name, (x, answer)) in enumerate(net.answers.items()):
        complaint = compare(found[name], answer(feed[x].astype(np.float64)), limit)
        assert not complaint, (number, name, complaint)
    return model


@pytest.mark.parametrize(("precision", "limit"), [("model", 2e-6), ("fp16", 2e-3)])
def test_products_of_quantised_weights(precision: str, limit: float, tmp_path: Path) -> None:
    net = Net()
    products(net)
    model = check(net, tmp_path, Preference(precision=precision), limit)
    (facts,) = json.loads((tmp_path / "pkg" / "manifest.json").read_text())["per_arch"].values()
    assert facts["weight_bytes"] <= 1.1 * sum(len(t.raw_data) for t in model.graph.initializer)


@pytest.mark.parametrize("exact", [False, True])
def test_rows_in_int8(exact: bool, tmp_path: Path) -> None:
    """Accuracy level 4: rows become int8 by the blocks of the weights; not with ``--exact``."""
    net = Net(int8=not exact)
    net.nbits("x", 48, 4, 32, zero=False, bias=True, level=4)
    net.nbits("v", 33, 8, 64, zero=True, bias=True, level=4)
    net.nbits("v", 33, 2, 128, zero=True, bias=True, level=4)
    net.nbits("x", 48, 4, 32, zero=False, bias=True, level=1)
    check(net, tmp_path, Preference(exact=exact))


def test_weights_that_others_read_are_floats(tmp_path: Path) -> None:
    """Those of an addition, and of two products: what no kernel takes is folded as ever."""
    net = Net()
    one, first = net.dequantised((K, 8), "INT8", 1)
    two, second = net.dequantised((K, 8), "INT8", 1)
    y = net.node("Add", net.node("MatMul", "v", one), net.node("MatMul", "v", two))
    both = net.node("MatMul", "x", net.node("Add", one, two))
    net.answers = {name: (x, lambda v: v @ (first + second)) for name, x in ((y, "v"), (both, "x"))}
    check(net, tmp_path)
