"""gather_dots: both widths, groups of every size, rows and numbers that fill no step."""

from __future__ import annotations

import numpy as np
from cases import gather

from tvm_megcc.core.dtypes import packed_rows
from tvm_megcc.kernels.packing import Call, wq_dots

CASES = [
    {"axis": a, "depth": d, "count": n, "index": index, "bits": bits, "kr": kr, "flip": flip}
    for bits, kr, flip in ((4, 1, 0), (4, 4, 0), (4, 8, 1), (8, 2, 0), (8, 4, 1), (8, 8, 0))
    for index, a, d, n in (
        ("i32", 1, 1, 1), ("i64", 40, 64, 12), ("i32", 33, 37, 8), ("i64", 9, 16, 0)
    )
]  # fmt: skip


def operands(f, rng):
    half = 1 << (f["bits"] - 1)
    table = rng.integers(-half, half, (f["axis"], f["depth"])).astype(np.int8)
    call = Call({"bits": f["bits"]}, {"rhs": table})
    packed = wq_dots(table, call, kr=f["kr"], flip=f["flip"])
    f["table"] = packed_rows(table, "i4").view(np.int8) if f["bits"] == 4 else table
    rows = {"outer": 1, "row_bytes": 1, **f}
    return [packed.view(np.int8), gather.operands(rows, rng)[1]]


def reference(f, inputs):
    table, index = f["table"], inputs[1]
    index = np.where(index < 0, index + f["axis"], index)
    return [table.take(np.clip(index, 0, f["axis"] - 1), 0)]
