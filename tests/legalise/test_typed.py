"""What becomes TIR keeps its element type: another one would be other numbers, in silence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tvm
from tvm import relax

from tests.passes.support import run
from tvm_megcc.legalise import LegaliseRest

op = relax.op
F16, F32, I32 = (np.dtype(name) for name in ("f2", "f4", "i4"))
ROWS = np.arange(6).reshape(2, 3)
IMAGE = np.arange(16).reshape(1, 1, 4, 4)
#: A grid that has each pixel where it is.
PLACES = np.stack(np.meshgrid(*[np.linspace(-1, 1, 4)] * 2))[None]
ONES, ZEROS = np.ones(1), np.zeros(1)

#: Operators of which TVM's TIR has another type: operands, and the result.
CASES: dict[str, tuple[Callable[..., relax.Expr], list[np.ndarray], np.ndarray]] = {
    "grid_sample": (
        lambda x, at: op.image.grid_sample(x, at, align_corners=True),
        [IMAGE.astype(F16), PLACES.astype(F32)], IMAGE.astype(F16)),
    "mean": (lambda x: op.mean(x, [1]), [ROWS.astype(I32)], np.array([1, 4], I32)),
    "avg_pool2d": (
        lambda x: op.nn.avg_pool2d(x, (2, 2), (2, 2)), [IMAGE.astype(I32)],
        np.array([[[[2, 4], [10, 12]]]], I32)),
    "a field of several": (
        lambda x, *stats: op.nn.batch_norm(x, *stats, axis=1, training=False)[0],
        [IMAGE.astype(F16), *[v.astype(F16) for v in (ONES, ZEROS, ZEROS, ONES)]],
        IMAGE.astype(F16)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_result_has_the_type_of_its_operator(name: str) -> None:
    function, operands, want = CASES[name]
    builder = relax.BlockBuilder()
    params = [
        relax.Var(f"x{k}", relax.TensorType(v.shape, str(v.dtype))) for k, v in enumerate(operands)
    ]
    with builder.function("main", params):
        with builder.dataflow():
            made = builder.emit(function(*params))
            result = builder.emit_output(op.add(made, relax.const(np.ones((), want.dtype))))
        builder.emit_func_output(result)
    mod: tvm.IRModule = LegaliseRest()(builder.get())
    (found,) = run(mod, *operands)
    assert found.dtype == want.dtype
    np.testing.assert_allclose(found, want + want.dtype.type(1), rtol=1e-3)
