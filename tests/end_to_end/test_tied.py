"""A table that is embedding and output matrix, from the file to a package's bytes and numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.int8_rows import rounded
from tvm_megcc import driver
from tvm_megcc.cli.inspect import work_lines
from tvm_megcc.core.dtypes import packed_rows
from tvm_megcc.core.preference import Preference
from tvm_megcc.host import package, toolchain

_ROWS, _DEPTH = 203, 40
_SIGNATURE = "g (int64[tokens] i, {0}[tokens, 40] h) => ({0}[tokens, 40] x, {0}[tokens, 203] y)"
_TRANSPOSE = "t = Transpose(w) x = Gather(w, i) y = MatMul(h, t)"
#: Row -> type, nodes, whether the table is stored once.
ROWS = {
    "f32": ("float", _TRANSPOSE, True),
    "f16": ("float16", _TRANSPOSE, True),
    "the head's form": ("float", "t = Transpose(w) x = Gather(t, i) y = MatMul(h, w)", True),
    "read again": ("float", "t = Transpose(w) a = Gather(w, i) x = Neg(a) y = MatMul(h, t)", True),
    "int8": (
        "float", "d = DequantizeLinear(w, s) t = Transpose(d) g = Gather(w, i)"
        " x = DequantizeLinear(g, s) y = MatMul(h, t)", True,
    ),
    "along the other axis": (
        "float", "t = Transpose(w) g = Gather<axis=1>(t, i) x = Transpose(g) y = MatMul(h, t)",
        False,
    ),
    "another table": ("float", "t = Transpose(v) x = Gather(w, i) y = MatMul(h, t)", False),
}  # fmt: skip


def _model(name: str) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    kind, text, _ = ROWS[name]
    graph = onnx.parser.parse_graph(f"{_SIGNATURE.format(kind)} {{ {text} }}")
    rng = np.random.default_rng(0)
    dtype = np.int8 if name == "int8" else {"float": np.float32, "float16": np.float16}[kind]
    w, v = (rng.integers(-99, 99, (_ROWS, _DEPTH)).astype(dtype) for _ in range(2))
    if dtype != np.int8:
        w, v = w / dtype(64), v / dtype(64)
    arrays = {"w": w.T if name == "the head's form" else w, "v": v, "s": np.float32(0.25)}
    read = {n for node in graph.node for n in node.input}
    graph.initializer.extend(numpy_helper.from_array(a, n) for n, a in arrays.items() if n in read)
    opset = onnx.helper.make_opsetid("", 21)
    model = onnx.helper.make_model(graph, opset_imports=[opset], ir_version=10)
    inputs = {
        "i": np.array([0, 7, 8, -1, _ROWS - 1, 100, -_ROWS]),
        "h": rng.uniform(-1, 1, (7, _DEPTH)).astype("f2" if kind == "float16" else "f4"),
    }
    return model, inputs


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_a_table_of_two_uses_is_stored_once(name: str, tmp_path: Path) -> None:
    model, inputs = _model(name)
    driver.compile_model(model, tmp_path / "package", archs=["portable"])
    opened = package.load(tmp_path / "package")
    facts = opened.manifest["per_arch"]["portable"]
    size = {"float16": 2, "float": 1 if name == "int8" else 4}[ROWS[name][0]] * _ROWS * _DEPTH
    once = ROWS[name][2]
    assert (facts["weight_bytes"] < 1.5 * size) is once, (facts["weight_bytes"], size)
    said = [line for line in work_lines(facts["work"]) if line.startswith("table of")]
    assert [("stored once" in line) for line in said] == [True] * once, said
    runner = toolchain.build(opened.path, "portable")
    found = toolchain.run_package(runner, "portable", inputs, opened.manifest).outputs
    for label, want in zip("xy", ReferenceEvaluator(model).run(None, inputs), strict=True):
        np.testing.assert_allclose(found[label], want, rtol=2e-3, atol=2e-2, err_msg=label)


#: The layouts in which products have their panels, machine by machine.
_MACHINES = ["portable", "arm64", "arm64+dotprod", "arm64+i8mm", "armv7", "x86+avx2", "x86"]


@pytest.mark.slow
@pytest.mark.parametrize(("zeros", "level"), [(False, 0), (True, 0), (False, 4), (True, 4)])
def test_a_table_of_4_bits_is_stored_once(zeros: bool, level: int, tmp_path: Path) -> None:
    rows, depth, block = 203, 64, 16
    rng = np.random.default_rng(0)
    numbers, scales = (
        rng.integers(0, 16, (rows, depth)),
        rng.uniform(0.1, 1, (rows, depth // block)).astype("f4"),
    )
    points = rng.integers(0, 16, scales.shape) if zeros else np.full(scales.shape, 8)
    packed = packed_rows(numbers.astype("u1"), "u4")
    arrays = {
        "w": packed, "w3": packed.reshape(rows, depth // block, -1), "s": scales,
        "s1": scales.reshape(-1), "z": packed_rows(points.astype("u1"), "u4"),
    }  # fmt: skip
    arrays["z1"] = arrays["z"].reshape(-1)
    facts = dict(bits=4, block_size=block, domain="com.microsoft")
    nodes = [
        onnx.helper.make_node("GatherBlockQuantized", ["w", "i", "s", "z"][: 3 + zeros], ["x"],
                              gather_axis=0, quantize_axis=1, **facts),
        onnx.helper.make_node("MatMulNBits", ["h", "w3", "s1", "z1"][: 3 + zeros], ["y"], K=depth,
                              N=rows, accuracy_level=level, **facts),
    ]  # fmt: skip
    kinds = onnx.TensorProto
    graph = onnx.helper.make_graph(
        nodes, "g",
        [onnx.helper.make_tensor_value_info("i", kinds.INT64, ["tokens"]),
         onnx.helper.make_tensor_value_info("h", kinds.FLOAT, ["tokens", depth])],
        [onnx.helper.make_tensor_value_info(n, kinds.FLOAT, None) for n in "xy"],
        [numpy_helper.from_array(a, n) for n, a in arrays.items() if zeros or n[0] != "z"],
    )  # fmt: skip
    opsets = [onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid("com.microsoft", 1)]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10)
    driver.compile_model(model, tmp_path / "package", archs=_MACHINES)
    opened = package.load(tmp_path / "package")
    held = packed.nbytes + scales.nbytes + zeros * points.size
    for name, found in opened.manifest["per_arch"].items():
        # Panels are whole; of 203 rows the last has 11.
        assert found["weight_bytes"] < 1.1 * held, name
    inputs = {"i": np.array([0, 202, -1, 7]), "h": rng.uniform(-1, 1, (4, depth)).astype("f4")}
    runner = toolchain.build(opened.path, "portable")
    found = toolchain.run_package(runner, "portable", inputs, opened.manifest).outputs
    table = (numbers - np.repeat(points, block, 1)).astype("f4") * np.repeat(scales, block, 1)
    np.testing.assert_array_equal(found["x"], table[inputs["i"]])
    lhs = rounded(inputs["h"], block) if level else inputs["h"]
    np.testing.assert_allclose(found["y"], lhs @ table.T, rtol=1e-4, atol=1e-3)


def test_a_kernel_that_packs_otherwise_is_named() -> None:
    """Strassen's product has sums of weights, not the weights."""
    rng = np.random.default_rng(0)
    w = rng.standard_normal((1024, 512)).astype(np.float32)
    graph = onnx.parser.parse_graph(
        "g (int64[9] i, float[512, 512] h) => (float[9, 512] x, float[512, 1024] y)"
        " { t = Transpose(w) x = Gather(w, i) y = MatMul(h, t) }"
    )
    graph.initializer.append(numpy_helper.from_array(w, "w"))
    opset = onnx.helper.make_opsetid("", 21)
    model = onnx.helper.make_model(graph, opset_imports=[opset], ir_version=10)
    found = {}
    for optimize in ("size", "speed"):
        (program,) = driver.compile_programs(
            model, ["arm64"], preference=Preference(optimize=optimize)
        ).values()
        (found[optimize],) = program.work.tied.values()
    assert "stored once" in found["size"]
    assert "stored twice: the product's matmul_f32_strassen" in found["speed"]
