"""ONNX's own node tests of operators whose sizes depend on data, with all inputs given at run time.

Cases of one operator and opset are joined into one model, which is built once.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import compose, helper

from tests.ops.packages import runner

#: Operator -> names of its cases.
CASES = {
    "Compress": r"test_compress_\w+",
    "Expand": r"test_expand_dim_\w+",
    "NonZero": r"test_nonzero_\w+",
    "Pad": r"test_(constant|edge|reflect|wrap)_pad\w*",
    "Range": r"test_range_\w+",
    "Reshape": r"test_reshape_\w+",
    "Resize": r"test_resize_\w+",
    "Split": r"test_split_(variable|zero|equal|[12]d)\w+",
    "Tile": r"test_tile\w*",
    "TopK": r"test_top_k\w*",
    "Unique": r"test_unique_\w+",
}
#: Cases that are no node of that operator; those that are refused (docs/dynamic-shapes.md); and two
#: in which ONNX's reference aligns corners of a length that is no integer, unlike ONNX Runtime.
LEFT_OUT = re.compile(
    r".*(_expanded|_antialias)|test_resize_downsample_scales_(linear|cubic)_align_corners"
)


@cache
def cases() -> dict[str, list[object]]:
    """ONNX's cases by operator."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        found = collect_testcases(None)
    return {
        op: [c for c in found if re.fullmatch(name, c.name) and not LEFT_OUT.fullmatch(c.name)]
        for op, name in CASES.items()
    }


def joined(tests: list[object]) -> Iterator[tuple[onnx.ModelProto, dict, dict]]:
    """One model for each opset; its inputs, and its results, by name."""
    for opset in sorted({t.model.opset_import[0].version for t in tests}):
        graph = onnx.GraphProto(name="g")
        inputs: dict[str, np.ndarray] = {}
        results: dict[str, np.ndarray] = {}
        for test in (t for t in tests if t.model.opset_import[0].version == opset):
            prefix = test.name + "_"
            own = compose.add_prefix(test.model, prefix).graph
            for part in ("node", "input", "output", "initializer"):
                getattr(graph, part).extend(getattr(own, part))
            feeds, wanted = test.data_sets[0]
            inputs |= {p.name: np.asarray(v) for p, v in zip(own.input, feeds, strict=True)}
            results |= {p.name: np.asarray(v) for p, v in zip(own.output, wanted, strict=True)}
        opsets = [helper.make_opsetid("", opset)]
        yield helper.make_model(graph, opset_imports=opsets, ir_version=10), inputs, results


@pytest.mark.parametrize("op", CASES)
def test_backend_cases(op: str, tmp_path: Path) -> None:
    assert cases()[op]
    for number, (proto, inputs, results) in enumerate(joined(cases()[op])):
        folder = tmp_path / str(number)
        folder.mkdir()
        found = runner(proto, folder)(inputs)
        wrong = [name for name, want in results.items() if not same(found[name], want)]
        assert not wrong


def same(found: np.ndarray, want: np.ndarray) -> bool:
    if want.dtype.name == "bfloat16":  # of which numpy has no name: we give its bits
        found, want = found.view(want.dtype).astype("f4"), want.astype("f4")
    return found.shape == want.shape and np.allclose(found, want, rtol=1e-5, atol=1e-6)
