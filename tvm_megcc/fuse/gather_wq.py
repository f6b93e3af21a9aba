"""gather_wq: rows of a constant quantised table in float.

    call_tir(megcc_table_rows_..., (table, index, scales, zeros))

The kernel has the table in rows; `tied_tables` lets it read the panels of a product.
"""

from __future__ import annotations

from collections.abc import Iterator

from tvm import relax
from tvm.relax.dpl import is_op, wildcard

from tvm_megcc.dims import product
from tvm_megcc.fuse.epilogue import Tail
from tvm_megcc.fuse.matmul_wq import centred
from tvm_megcc.fuse.request import Anchor, Parts, Request
from tvm_megcc.kernels.expression import Fact
from tvm_megcc.relax_tools.calls import tir_name
from tvm_megcc.relax_tools.exprs import constant
from tvm_megcc.relax_tools.quantised_tables import block_of

#: Facts of a table that stands in rows; `tied_tables` has those of panels.
IN_ROWS: dict[str, Fact] = {"nr": 1, "kr": 0, "flip": 0}


def anchors() -> Iterator[Anchor]:
    pattern = is_op("relax.call_tir")(wildcard(), wildcard(), varg_default_wildcard=True)
    yield Anchor("gather_wq", pattern, {}, _request)


def _request(parts: Parts, tail: Tail) -> Request | None:
    call = parts["root"]
    block = block_of(tir_name(call))
    if block is None:
        return None
    assert isinstance(call.args[1], relax.Tuple)
    table, index, scales, zeros = call.args[1].fields
    numbers, scale, zero = (constant(expr) for expr in (table, scales, zeros))
    where = parts.shape_of(index)
    if numbers is None or scale is None or zero is None or where is None or not numbers.size:
        return None
    found = centred(numbers, zero)
    if found is None:
        return None
    bits, numbers, zero = found
    operands = {"x": numbers, "index": index, "scale": scale.reshape(-1)}
    if zero.any():
        operands["zero"] = zero.reshape(-1)
    facts: dict[str, Fact] = {
        "axis": numbers.shape[0], "depth": numbers.shape[1], "block": block,
        "count": product(where), "bits": bits, "zero": int("zero" in operands), **IN_ROWS,
    }  # fmt: skip
    return Request("gather_wq", facts, operands)
