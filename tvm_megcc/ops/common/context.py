"""`Context`: the node that a converter converts, and where its expressions go."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy.typing as npt
from tvm import relax

from tvm_megcc.relax_tools import checks

from ...dims import Size
from ...shapes.builder import IllTypedError as IllTypedError
from ...shapes.builder import ShapeBuilder
from ...shapes.builder import constant as constant
from ...shapes.builder import expr_dtype as expr_dtype

#: Attribute name -> int, float, str, list of them, or np.ndarray. Absent attributes are absent.
Attrs = dict[str, Any]
Known = npt.NDArray[Any]

#: Elements that such an ``arange`` may have.
MAX_COUNTED = 1 << 26


@dataclass(eq=False)
class Context(ShapeBuilder):
    """The node being converted and the block it is converted into.

    Attributes
    ----------
    opset : int
        Version of the node's domain.
    stored : mapping of Expr to str
        The values of storage types, and the type (TVM's name) of each (see `common.stored`).
    ranks : tuple of int or None
        How many dims the model gives each of the outputs; None or missing where it gives none.
    states : set of int
        The outputs that will share the memory of an input of the model.
    """

    opset: int = 1
    stored: dict[relax.Expr, str] = field(default_factory=dict)
    ranks: tuple[int | None, ...] = ()
    states: frozenset[int] = frozenset()

    def inside(self, builder: relax.BlockBuilder) -> Context:
        """The same node's place in another function."""
        return replace(self, builder=builder, broadcast_from=dict(self.broadcast_from))

    def at_opset(self, opset: int) -> Context:
        """The same place, for another operator's conversion of that opset."""
        return replace(self, opset=opset)

    def stored_as(self, expr: relax.Expr, dtype: str) -> relax.Var:
        """Bind a result that holds values of a storage type."""
        var = self.emit(expr)
        self.stored[var] = dtype
        return var

    def as_f32(self, expr: relax.Expr) -> relax.Expr:
        """A tensor, cast to f32 unless it is f32."""
        if expr_dtype(expr) == "float32":
            return expr
        return self.emit(relax.op.astype(expr, "float32"))

    def wants(self, index: int) -> bool:
        """Whether the node has an output of that index."""
        return index < len(self.outputs) and self.outputs[index] != ""

    def checked(self, value: relax.Expr, holds: relax.Expr) -> relax.Expr:
        """`value`, for a run that ends with ``MEGCC_ERR_DATA`` when `holds` is false.

        Parameters
        ----------
        value : relax.Expr
            Used after the check, which depends on nothing else that comes before it.
        holds : relax.Expr
            ``bool``, of one element.
        """
        return self.emit(checks.checked(self.typed(value), self.typed(holds), self.label))


def counted(ctx: Context, count: Size) -> None:
    """Refuse an ``arange`` of too many elements, which TVM would store as a constant."""
    if isinstance(count, int) and count > MAX_COUNTED:
        raise ctx.unsupported(
            f"makes {count} elements of constants", "give them as an input of the model"
        )
