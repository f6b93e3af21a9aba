"""Tied tables: a table whose rows are read, and a product's right-hand side, stored once.

Enters: the matches of a module and the kernel of each, before weights are packed. Leaves: the
matches, and a note for each such table. A language model's embedding is often its output matrix,
too: ``gather`` reads rows, the product panels of columns, so the package would have both orders.
Where the product's kernel packs panels of whole elements, ``gather_panels`` reads the rows from
these, in about 4 instructions for each element of a row. ``gather_wq`` reads a quantised table in
any layout of a product's; numbers, scales and zero points that are packed alike are stored once.

Example
-------
``take(w, i)`` and ``matmul(x, permute_dims(w))``: ``gather_panels`` of the product's packed `w`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from tvm import relax

from tvm_megcc.fuse.match import Match
from tvm_megcc.fuse.request import Request
from tvm_megcc.kernels import packing, registry
from tvm_megcc.kernels.expression import Fact
from tvm_megcc.kernels.kernel_file import KernelFile, Packing
from tvm_megcc.relax_tools.exprs import constant
from tvm_megcc.relax_tools.shape_exprs import symbols_of

_ONCE = "once: rows are read out of the product's panels"
#: Facts of a `matmul_wq` and of a `gather_wq` that are equal where they have one table.
_SAME_QUANTISED = (("n", "axis"), ("k", "depth"), ("bits", "bits"), ("block", "block"))

Matches = Mapping[relax.Var, Match]
Array = packing.Array


@dataclass(frozen=True, slots=True)
class _Product:
    """A product by a constant, and the packing of its kernel."""

    var: relax.Var
    match: Match
    kernel: KernelFile
    operand: str
    how: Packing
    array: Array

    @property
    def call(self) -> packing.Call:
        return packing.Call(self.match.request.facts, {self.operand: self.array})

    @property
    def stays(self) -> bool:
        """Whether rows of a table can be read from the panels."""
        return packing.rows_in_panels(self.how.name, self.array, self.call)[1]

    def has(self, table: Array) -> bool:
        """Whether the columns of the constant are equal to the rows of a table."""
        if self.array.size != table.size or self.array.dtype != table.dtype:
            return False
        rows, _ = packing.rows_in_panels(self.how.name, self.array, self.call)
        return rows.shape == table.shape and _equal(rows, table)

    def has_quantised(self, gather: Request) -> bool:
        """Whether the numbers and blocks of a `gather_wq` are those of the product."""
        mine, facts, table = self.match.request.facts, gather.facts, _array(gather.operands["x"])
        same = [mine.get(a) == facts[b] for a, b in _SAME_QUANTISED]
        return all(same) and table is not None and _equal(self.array, table)

    @property
    def layout(self) -> dict[str, Fact]:
        """Facts of a `gather_wq` of the product's panels."""
        given = {name: int(value) for name, value in self.how.options}
        return {"nr": packing.WQ_COLUMNS, "kr": 0, "flip": 0, **given}

    def packed(self) -> Array:
        options = dict(self.how.options)
        return np.ascontiguousarray(
            packing.PACKERS[self.how.name](self.array, self.call, **options)
        )


def with_tied_tables(
    functions: Sequence[tuple[relax.Function, Matches]],
    kernels: dict[relax.Var, KernelFile],
    arch: str,
    names: Mapping[str, str],
) -> tuple[list[dict[relax.Var, Match]], dict[str, str]]:
    """Let gathers of each function read panels of products where possible.

    Parameters
    ----------
    functions : sequence of (function, matches)
    kernels : dict
        The kernel of each match; those of gathers that change are replaced.
    arch : str
    names : mapping
        Variable -> value of the model.

    Returns
    -------
    matches : list
    said : dict
        Name of a gather's value -> note on its table, for ``tvmc inspect``.
    """
    products = [p for _, matches in functions for p in _products(matches, kernels)]
    panels: dict[relax.Var, Array] = {}
    found, said = [], {}
    for func, matches in functions:
        new = dict(matches)
        for var, match in matches.items():
            name = names.get(var.name, var.name)
            if match.request.op == "gather_wq":
                owner = next((p for p in products if p.has_quantised(match.request)), None)
                if owner is not None:
                    new[var] = _in_layout(match, owner)
                    said[name] = f"{_nbytes(match.request)} bytes, stored {_ONCE}"
                continue
            table = _table(match)
            tied = None if table is None else _tied(products, table)
            if table is None or tied is None:
                continue
            how = f"twice: the product's {tied.kernel.stem} packs it in another order"
            if tied.stays:
                if tied.var not in panels:
                    panels[tied.var] = tied.packed()
                made = _of_panels(match, panels[tied.var], table, arch, func)
                if made is not None:
                    new[var], kernels[var] = made, made.kernels[0]
                    how = _ONCE
            said[name] = f"{table.nbytes} bytes, stored {how}"
        found.append(new)
    return found, said


def _products(matches: Matches, kernels: Mapping[relax.Var, KernelFile]) -> Iterator[_Product]:
    for var, match in matches.items():
        request, kernel = match.request, kernels[var]
        if request.op not in ("matmul", "matmul_wq"):
            continue
        for name, how in kernel.packings(request.facts):
            array = _array(request.operands[name])
            if name == "rhs" and array is not None:
                yield _Product(var, match, kernel, name, how, array)


def _array(operand: relax.Expr | np.ndarray) -> Array | None:
    return operand if isinstance(operand, np.ndarray) else constant(operand)


def _table(match: Match) -> Array | None:
    """Constant matrix whose rows a gather reads; None for any other match."""
    request = match.request
    if request.op != "gather" or request.facts["outer"] != 1:
        return None
    array, rows = _array(request.operands["x"]), request.facts["axis"]
    if array is None or not array.size or not isinstance(rows, int):
        return None
    return array.reshape(rows, -1)


def _tied(products: Sequence[_Product], table: Array) -> _Product | None:
    """A product by the table, preferably one that packs it in panels."""
    found = [product for product in products if product.has(table)]
    return min(found, key=lambda product: not product.stays, default=None)


def _in_layout(gather: Match, product: _Product) -> Match:
    """A `gather_wq` of a product's panels."""
    request = gather.request
    facts = {**request.facts, **product.layout}
    return replace(gather, request=Request(request.op, facts, request.operands))


def _nbytes(gather: Request) -> int:
    """Bytes of the numbers of a `gather_wq`."""
    table = _array(gather.operands["x"])
    assert table is not None
    return table.size // (2 if gather.facts["bits"] == 4 else 1)


def _equal(a: Array, b: Array) -> bool:
    """Whether two matrices hold the same bits, without a copy of either."""
    words = np.dtype(f"u{a.itemsize}")
    step = max(1, (1 << 20) // max(1, a.shape[1]))
    return all(
        np.array_equal(
            np.ascontiguousarray(a[k : k + step]).view(words),
            np.ascontiguousarray(b[k : k + step]).view(words),
        )
        for k in range(0, len(a), step)
    )


def _of_panels(
    match: Match, packed: Array, table: Array, arch: str, func: relax.Function
) -> Match | None:
    """Gather of a product's panels ``[panels, depth, nr]``; None without such a kernel."""
    facts = {
        "axis": len(table), "depth": table.shape[1], "nr": packed.shape[2],
        "count": match.request.facts["count"],
    }  # fmt: skip
    operands = {"x": packed, "index": match.request.operands["index"]}
    asked = Request("gather_panels", facts, operands).checked(match.var, symbols_of(func))
    kernels = registry.alternatives(asked.op, arch, asked.facts)
    return replace(match, request=asked, kernels=kernels) if kernels else None
