"""Sizes that are computed during the run, and calls that need them: read before used."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

from tests.ops.packages import runner
from tests.ops.test_backend_cases import joined, same

CASES = re.compile(r"test_(hann|blackman)window_expanded|test_affine_grid_2d_expanded")


def test_expanded_windows_and_grids(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        found = [c for c in collect_testcases(None) if CASES.fullmatch(c.name)]
    assert len(found) == 3
    for number, (proto, inputs, results) in enumerate(joined(found)):
        folder = tmp_path / str(number)
        folder.mkdir()
        got = runner(proto, folder)(inputs)
        wrong = [name for name, want in results.items() if not same(got[name], want)]
        assert not wrong
