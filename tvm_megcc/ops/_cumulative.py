"""CumSum and CumProd: along an axis that is known, or computed at run time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from tvm import te, tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from ._axes_data import around
from ._context import Attrs, Context, relax_shape
from ._inputs import Inputs
from ._operator import OnnxOp, Result
from ._shapes import normal_axis


class Cumulative(OnnxOp):
    """A scan along one axis of a tensor that is seen as ``[before, along, behind]``.

    Not ``relax.op.cumsum``, which writes the first element also where the axis is empty.
    """

    #: What two elements become, and what goes with any element.
    combine: ClassVar[Callable[[Any, Any], Any]]
    neutral: ClassVar[int]

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape, known = inputs.shape(0), inputs.ints(1)
        if known is not None and shape:
            axis = normal_axis(int(known[0]), len(shape))
            if not 0 <= axis < len(shape):
                raise ctx.ill_typed(f"axis {known[0]} of a tensor of rank {len(shape)}")
            return ctx.builder.emit_te(
                lambda x: self._scanned(x, attrs, _around(x.shape, axis)),
                inputs[0],
                primfunc_name_hint=self.name.lower(),
            )
        if (relax_shape(inputs[1]) or (1,)) != (1,) or not shape:
            raise ctx.unsupported("its axis is no single number", "give one axis of its operand")
        sizes = around(ctx, inputs[1], shape)
        return ctx.builder.emit_te(
            lambda x, s: self._scanned(x, attrs, s),
            inputs[0],
            sizes,
            primfunc_name_hint=self.name.lower(),
        )

    def _scanned(self, x: te.Tensor, attrs: Attrs, parts: Any) -> te.Tensor:
        """`parts`: the three sizes, or a tensor of them."""
        operands = [x] if isinstance(parts, list) else [x, parts]
        dtype = str(x.dtype.dtype)
        exclusive, reverse = (bool(attrs.get(k, 0)) for k in ("exclusive", "reverse"))

        def kernel(ins: Sequence[Any], outs: Sequence[Any]) -> tirx.Stmt:
            with IRBuilder() as builder:
                data, result = T.buffer_proxy(ins[0]), T.buffer_proxy(outs[0])
                sizes = T.buffer_proxy(ins[1]) if len(ins) > 1 else parts
                before, along, behind = (sizes[k] for k in range(3))
                # Rows are a work range where their number does not come from data.
                rows = T.parallel if isinstance(parts, list) else T.serial
                with rows(0, before * behind) as row:
                    so_far = T.buffer_proxy(T.alloc_buffer((1,), dtype, scope="local"))
                    start = row // behind * along * behind + row % behind
                    so_far[0] = tirx.const(self.neutral, dtype)
                    with T.serial(0, along) as k:
                        at = start + (along - 1 - k if reverse else k) * behind
                        if exclusive:
                            result[at] = so_far[0]
                        so_far[0] = type(self).combine(so_far[0], data[at])
                        if not exclusive:
                            result[at] = so_far[0]
            return builder.get()

        return te.extern([x.shape], operands, kernel, dtype=[dtype], name=self.name.lower())


def _around(shape: Sequence[Any], axis: int) -> list[Any]:
    sizes: list[Any] = [tirx.IntImm("int64", 1)] * 3
    for k, size in enumerate(shape):
        part = 0 if k < axis else 1 if k == axis else 2
        sizes[part] = sizes[part] * size
    return sizes
