"""Expand: leading dims, dims of 1 that only the run shows, and targets that it reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.ops.contracts import Port, Row, feed, ints, joined
from tests.ops.packages import runner
from tvm_megcc.errors import ToolError

ROWS = {
    "leading": Row("Expand", [Port((8, 7, 7)), ints(1, 8, 7, 7)], {}, []),
    "leading_given": Row("Expand", [Port((3, 2)), Port((4,), "int64", [1, 2, 3, 1])], {},
                         [{"1": [1, 2, 2, 2]}, {"1": [1, 2, 3, 3]}, {"1": [1, 2, 6, 1]}]),
    "fixed_given": Row("Expand", [Port((1, 5)), Port((1,), "int64", [5])], {},
                       [{"1": [2]}, {"1": [6]}, {"1": [10]}, {"1": [0]}]),
    "empty_given": Row("Expand", [Port((2, 0)), Port((2,), "int64", [2, 1])], {},
                       [{"1": [2, 2]}, {"1": [3, 1]}]),
    "open": Row("Expand", [Port(("n", 3)), ints(4, 3)], {"n": 4}, [{"n": 3}]),
    "open_leading": Row("Expand", [Port(("n", 3)), ints(1, 1, 1)], {"n": 4}, []),
    "given": Row("Expand", [Port(("n", 3)), Port((2,), "int64", [4, 3])], {"n": 4},
                 [{"n": 3}, {"1": [2, 3]}, {"1": [4, 2]}]),
}  # fmt: skip
#: Sizes and targets that go together in another way than the good ones.
MORE = {
    "open": [{"n": 1}],
    "open_leading": [{"n": 1}, {"n": 2}],
    "given": [{"n": 1}, {"1": [1, 1]}, {"1": [1, 3]}, {"n": 1, "1": [7, 1]}],
    "leading_given": [{"1": [2, 1, 1, 2]}],
    "fixed_given": [{"1": [1]}],
    "empty_given": [{"1": [1, 1]}, {"1": [1, 0]}],
}


def test_expand(tmp_path: Path) -> None:
    run = runner(joined(ROWS, 18), tmp_path)
    good = {k: v for name, row in ROWS.items() for k, v in feed(name, row, {}).items()}
    cases = [{}, *({name: changed} for name in MORE for changed in MORE[name])]
    for case in cases:
        given = {**good}
        for name, changed in case.items():
            given |= feed(name, ROWS[name], changed)
        found = run(given)
        for name, row in ROWS.items():
            target = given.get(f"{name}_1", row.operands[1])
            want = given[f"{name}_0"] * np.ones(target, "float32")
            np.testing.assert_array_equal(found[f"{name}_y0"], want, err_msg=f"{name} {case}")
    for name, row in ROWS.items():
        for changed in row.bad:
            with pytest.raises(ToolError, match="^run: error: "):
                run({**good, **feed(name, row, changed)})
