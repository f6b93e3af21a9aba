"""Scales, zero points and biases: one for all, or as many as there are rows, columns or channels.

Others broadcast: three scales made three columns of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from onnx.reference import ReferenceEvaluator

from tests.ops.cases import Weight, node_model, rand
from tests.ops.packages import runner
from tests.ops.together import Case, check_together
from tvm_megcc import importers
from tvm_megcc.errors import ToolError, UnsupportedError

Array = np.ndarray
SCALE, ZERO = np.array(0.5, np.float32), np.array(3, np.uint8)
RESULT = (np.array(0.3, np.float32), np.array(7, np.uint8))


def u8(*shape: int) -> Array:
    return rand(*shape, seed=len(shape), dtype="uint8")


def f32(*shape: int) -> Array:
    return np.abs(rand(*shape, seed=sum(shape))) + np.float32(0.1)


MS = "com.microsoft"
A, COLUMN, ROW = u8(2, 3), u8(3, 1), u8(1, 3)
IMAGE, KERNEL = u8(1, 3, 4, 4), u8(1, 3, 1, 1)
NBITS = {"K": 16, "N": 3, "bits": 4, "block_size": 16}
#: Operator and its domain, operands that do not fit, attributes.
UNFIT: list[tuple[str, str, Sequence[Array | None], dict[str, object]]] = [
    ("QGemm", MS, [A, SCALE, ZERO, COLUMN, f32(3), ZERO, None, *RESULT], {}),
    ("QGemm", MS, [A, SCALE, ZERO, COLUMN, SCALE, u8(3), None, *RESULT], {}),
    ("QGemm", MS, [A, SCALE, ZERO, ROW, f32(3), ZERO, None, *RESULT], {"transB": 1}),
    ("QGemm", MS, [A, SCALE, ZERO, u8(3, 4), f32(3, 4), ZERO, None, *RESULT], {}),
    ("QGemm", MS, [A, SCALE, ZERO, u8(3, 4), SCALE, u8(4, 1), None, *RESULT], {}),
    ("QGemm", MS, [A, SCALE, ZERO, u8(3, 4), f32(1, 1, 3), ZERO, None, *RESULT], {}),
    ("MatMulIntegerToFloat", MS, [A, COLUMN, SCALE, f32(3), ZERO, ZERO], {}),
    ("MatMulIntegerToFloat", MS, [ROW, COLUMN, f32(3), SCALE, ZERO, ZERO], {}),
    ("MatMulIntegerToFloat", MS, [ROW, COLUMN, SCALE, SCALE, u8(3), ZERO], {}),
    ("MatMulIntegerToFloat", MS, [A, COLUMN, SCALE, SCALE, ZERO, ZERO, f32(3)], {}),
    ("MatMulIntegerToFloat", MS, [A, u8(3, 4), SCALE, SCALE, ZERO, ZERO, f32(1)], {}),
    ("MatMulIntegerToFloat", MS, [A, u8(3, 4), SCALE, SCALE, ZERO, ZERO, f32(2, 4)], {}),
    ("DynamicQuantizeMatMul", MS, [f32(2, 3), COLUMN, f32(3), ZERO], {}),
    ("DynamicQuantizeMatMul", MS, [f32(2, 3), COLUMN, SCALE, u8(3)], {}),
    ("DynamicQuantizeMatMul", MS, [f32(2, 3), COLUMN, SCALE, ZERO, f32(3)], {}),
    ("QLinearMatMul", "", [A, SCALE, ZERO, COLUMN, f32(3), u8(3), *RESULT], {}),
    ("QLinearMatMul", "", [A, SCALE, ZERO, u8(3), f32(3), ZERO, *RESULT], {}),
    ("QLinearMatMul", "", [ROW, f32(3), u8(3), COLUMN, SCALE, ZERO, *RESULT], {}),
    ("MatMulInteger", "", [ROW, u8(3, 2), u8(3), ZERO], {}),
    ("MatMulInteger", "", [A, COLUMN, ZERO, u8(3)], {}),
    ("MatMulInteger", "", [u8(2, 1, 3), u8(3, 2), u8(2, 3, 1), ZERO], {}),
    ("QLinearConv", "", [IMAGE, SCALE, ZERO, KERNEL, f32(3), u8(3), *RESULT], {}),
    ("ConvInteger", "", [IMAGE, KERNEL, ZERO, u8(3)], {}),
    ("MatMulNBits", MS, [f32(2, 16), u8(1, 1, 8), f32(1), None, None, f32(3)], {**NBITS, "N": 1}),
    ("MatMulNBits", MS, [f32(2, 16), u8(3, 1, 8), f32(3), None, None, f32(1)], NBITS),
    ("MatMulNBits", MS, [f32(2, 16), u8(3, 2, 8), f32(3)], NBITS),
    ("MatMulNBits", MS, [f32(2, 16), u8(3, 1, 8), f32(3), u8(6)], NBITS),
    ("QLinearGlobalAveragePool", MS, [A, SCALE, ZERO, *RESULT], {}),
]


@pytest.mark.parametrize("known", [False, True], ids=["at run time", "constant"])
@pytest.mark.parametrize("row", range(len(UNFIT)))
def test_others_are_refused(row: int, known: bool) -> None:
    op, domain, operands, attrs = UNFIT[row]
    held = [Weight(v) if known and k and v is not None else v for k, v in enumerate(operands)]
    model, _ = node_model(op, held, 17, domain=domain, **attrs)
    with pytest.raises(UnsupportedError, match=f"{op} 'node': .+; "):
        importers.import_model(model)


@pytest.mark.parametrize("scale", [(), (1,), (4,), (1, 1), (1, 4), (1, 1, 4)], ids=str)
def test_qgemm_takes_one_scale_or_those_of_columns(scale: tuple[int, ...]) -> None:
    """With 1s before, too; the bias has rows of its own, or not."""
    for bias in ((1,), (4,), (2, 1), (1, 4), (2, 4)):
        operands = [
            A,
            SCALE,
            ZERO,
            u8(3, 4),
            f32(*scale),
            u8(*scale),
            np.ones(bias, np.int32),
            *RESULT,
        ]
        importers.import_model(node_model("QGemm", operands, 17, domain=MS)[0])


@pytest.mark.slow
@pytest.mark.parametrize("known", [False, True], ids=["at run time", "constant"])
def test_several_matrices_have_numbers_of_their_own(tmp_path: Path, known: bool) -> None:
    def case(op: str, domain: str, operands: Sequence[Array | None], by: str) -> Case:
        held = [Weight(v) if known and k else v for k, v in enumerate(operands)]
        return Case(op, held, {}, domain=domain, by=by, close=1e-6)

    cases = []
    for n in (1, 5):  # columns
        many, scales, points = u8(3, 4, n), f32(3, 1, n), u8(3, 1, n)
        cases += [
            case("MatMulIntegerToFloat", MS, [u8(3, 2, 4), many, SCALE, scales, ZERO, points],
                 "onnxruntime"),
            case("DynamicQuantizeMatMul", MS, [f32(3, 2, 4), many, scales, points], "onnxruntime"),
            case("MatMulInteger", "", [u8(3, 2, 4), many, ZERO, points], "onnxruntime"),
            case("QLinearMatMul", "", [u8(3, 2, 4), SCALE, ZERO, many, scales, points, *RESULT],
                 "onnxruntime"),
        ]  # fmt: skip
    for m in (1, 5):  # rows
        operands = [u8(3, m, 4), u8(4, 2), u8(3, m, 1), ZERO]
        cases += [case("MatMulInteger", "", operands, "reference")]
        rows = f32(3, m, 1), u8(3, m, 1)
        operands = [u8(3, m, 4), *rows, u8(4, 2), f32(2), u8(2), np.float32(30), RESULT[1]]
        cases += [case("QLinearMatMul", "", operands, "reference")]
    check_together(cases, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("known", [False, True], ids=["at run time", "constant"])
def test_rows_have_numbers_of_their_own(tmp_path: Path, known: bool) -> None:
    """A vector of them, as ONNX has it; the reference wants a column."""
    rows = f32(2), u8(2)
    rest = [u8(3, 4), SCALE, ZERO, np.float32(30), RESULT[1]]
    columns = Case("QLinearMatMul", [A, *(row.reshape(2, 1) for row in rows), *rest])
    proto, feeds = columns.model()
    want = ReferenceEvaluator(proto).run(None, feeds)
    held = [Weight(v) if known else v for v in (*rows, *rest)]
    check_together([Case("QLinearMatMul", [A, *held], want=want)], tmp_path)


@pytest.mark.slow
def test_a_scale_alone_divides_qgemm(tmp_path: Path) -> None:
    operands = [A, SCALE, ZERO, u8(3, 4), SCALE, ZERO, None]
    cases = [Case("QGemm", [*operands, *rest], domain=MS) for rest in (RESULT[:1], [None], RESULT)]
    cases += [Case("QGemm", [*operands, None, RESULT[1]], domain=MS)]
    check_together(cases, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("known", [False, True], ids=["at run time", "constant"])
@pytest.mark.parametrize("op", ["DynamicQuantizeMatMul", "MatMulIntegerToFloat"])
def test_a_bias_says_how_many_open_columns_there_are(op: str, known: bool, tmp_path: Path) -> None:
    bias = Weight(f32(4)) if known else f32(4)
    operands: list[Array | Weight | None] = [f32(2, 3), u8(3, 4), Weight(SCALE), None, bias]
    if op == "MatMulIntegerToFloat":
        operands = [A, u8(3, 4), Weight(SCALE), Weight(SCALE), None, None, bias]
    model, feeds = node_model(op, operands, 17, domain=MS)
    model.graph.input[1].type.tensor_type.shape.dim[1].dim_param = "n"
    run, session = runner(model, tmp_path), ort.InferenceSession(model.SerializeToString())
    np.testing.assert_allclose(run(feeds)["y0"], session.run(None, feeds)[0], rtol=1e-5)
    with pytest.raises(ToolError):
        run({**feeds, "x1": u8(3, 3)})
