"""The form of kernel calls in a module: written by passes, read by ``lower``.

Enters: a kernel, its operands and sizes. Leaves::

    y = R.call_dps_packed(
        "megcc_...", (x, w, R.shape(attrs), R.shape([work, workspace, cost])), out_ty=...
    )

with ``overlap`` as a fourth size where the kernel allows one. 32-bit attributes are written as
unsigned numbers, as a Relax shape holds no others. The module attribute `ATTRIBUTE` has the kernel,
or the C text, of each symbol.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import tvm
from tvm import relax

from tvm_megcc.core.preference import Preference, Spending
from tvm_megcc.core.program import Kernel
from tvm_megcc.dims import Size, magnitude
from tvm_megcc.errors import UnsupportedError
from tvm_megcc.relax_tools.attributes import read, written
from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.shape_exprs import Symbols, prim_of, sizes_of

ATTRIBUTE = "tvm_megcc.kernels"
SPENDING = "tvm_megcc.spending"

_WORDS = 1 << 32
_MOST = 1 << 62


@dataclass(frozen=True, slots=True)
class KernelCall:
    """A call of a kernel: see `core.program.Call` for its sizes; workspace and overlap in bytes."""

    symbol: str
    operands: tuple[relax.Expr, ...]
    attrs: tuple[Size, ...]
    work: Size
    workspace: Size
    cost: Size
    overlap: Size | None = None

    def expr(self, ty: relax.Type, variables: Mapping[str, Any]) -> relax.Call:
        """The call in Relax.

        Parameters
        ----------
        ty : relax.Type
            Of the result: a tensor, or a tuple of tensors.
        variables : mapping of str to tirx.Var
            The function's dims by name (`shape_exprs.variables_of`).

        Raises
        ------
        UnsupportedError
            For an attribute that is no 32-bit number.
        """
        extent = [self.work, self.workspace, _held(self.cost)]
        if self.overlap is not None:
            extent.append(self.overlap)
        shapes = [
            relax.ShapeExpr([prim_of(size, variables) for size in sizes])
            for sizes in ([self._word(a) for a in self.attrs], extent)
        ]
        types = list(ty.fields) if isinstance(ty, relax.TupleType) else ty
        return relax.op.call_dps_packed(self.symbol, [*self.operands, *shapes], types)

    def _word(self, attr: Size) -> Size:
        if not isinstance(attr, int):
            return attr
        if not -_WORDS // 2 <= attr < _WORDS // 2:
            raise UnsupportedError(
                f"an attribute of the kernel '{self.symbol}' is {attr}, which does not fit in 32"
                " bits; make the tensors smaller"
            )
        return attr % _WORDS


def _held(cost: Size) -> Size:
    """Limit an estimated cost to int64, which dims without bounds may exceed."""
    return cost if magnitude(cost) <= _MOST else _MOST


def kernel_call_of(expr: relax.Expr, symbols: Symbols) -> KernelCall | None:
    """Read a kernel call in a function with these dims; None for any other expression."""
    if op_name(expr) != "relax.call_dps_packed":
        return None
    *operands, attrs, extent = expr.args[1].fields
    work, workspace, cost, *overlap = _sizes(extent, symbols)
    given = _sizes(attrs, symbols)
    words = (a - _WORDS if isinstance(a, int) and a >= _WORDS // 2 else a for a in given)
    return KernelCall(
        str(expr.args[0].global_symbol),
        tuple(operands),
        tuple(words),
        work,
        workspace,
        cost,
        overlap[0] if overlap else None,
    )


def _sizes(shape: relax.ShapeExpr, symbols: Symbols) -> tuple[Size, ...]:
    found = sizes_of(shape, symbols)
    assert found is not None, shape
    return found


def with_kernels(mod: tvm.IRModule, kernels: Iterable[Kernel]) -> tvm.IRModule:
    """Add kernels to the module's attribute."""
    found = kernels_of(mod) | {kernel.symbol: kernel for kernel in kernels}
    return written(mod, ATTRIBUTE, {symbol: asdict(kernel) for symbol, kernel in found.items()})


def kernels_of(mod: tvm.IRModule) -> dict[str, Kernel]:
    """Kernels in the module's attribute, by symbol."""
    found = {}
    for symbol, row in (read(mod, ATTRIBUTE) or {}).items():
        lists = {name: tuple(row[name]) for name in ("inplace", "rows", "features")}
        lists["defines"] = tuple(map(tuple, row["defines"]))
        found[symbol] = Kernel(**{**row, **lists})
    return found


def with_spending(mod: tvm.IRModule, spending: Spending) -> tvm.IRModule:
    """Note in the module what the choice of its kernels cost."""
    return written(mod, SPENDING, asdict(spending))


def spending_of(mod: tvm.IRModule) -> Spending | None:
    """The note of `with_spending`, or None."""
    row = read(mod, SPENDING)
    return row and Spending(**{**row, "preference": Preference(**row["preference"])})
