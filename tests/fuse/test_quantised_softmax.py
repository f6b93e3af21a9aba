"""Softmax of quantised tensors: what one kernel call takes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tvm import relax

from tests.passes.support import build
from tests.passes.test_quantised import held, quantize
from tvm_megcc.fuse.match import find_matches

op = relax.op


def share(x: relax.Expr, axis: int = -1) -> relax.Expr:
    return quantize(op.nn.softmax(held(x), axis), 1 / 256, -128)


def test_one_kernel_takes_every_axis() -> None:
    for body, shape, outer, inner in (
        (share, (2, 3, 10), 6, 1),
        (lambda x: share(x, 1), (3, 10, 1, 1), 3, 1),
        (lambda x: share(x, 1), (3, 10, 4, 2), 3, 8),
    ):
        (match,) = find_matches(build(body, shape)["main"], "portable").values()
        facts, table = match.request.facts, match.request.operands["table"]
        assert match.request.op == "qsoftmax"
        sizes = [facts[name] for name in ("outer", "axis", "inner", "low")]
        assert sizes == [outer, 10, inner, -128]
        assert (facts["y_scale"], facts["y_zero"]) == (1 / 256, -128)
        np.testing.assert_allclose(table, np.exp(-0.05 * np.arange(256)), rtol=1e-5)


LEFT: dict[str, Callable[[relax.Expr], relax.Expr]] = {
    "not quantised again": lambda x: op.nn.softmax(held(x)),
    "of floats": lambda x: quantize(op.nn.softmax(x)),
    "its logarithm": lambda x: quantize(op.nn.log_softmax(held(x))),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_no_kernel_takes(name: str) -> None:
    matches = find_matches(build(LEFT[name], (2, 3, 10))["main"], "portable").values()
    assert "qsoftmax" not in [m.request.op for m in matches]
