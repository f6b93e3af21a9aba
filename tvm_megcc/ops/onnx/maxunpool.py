"""MaxUnpool."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tvm import te, tirx
from tvm.script.ir_builder import tirx as T

from ...dims import Size, product
from ...relax_tools.tir_kernels import computed, local
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.indexing import in_bounds


class MaxUnpool(OnnxOp):
    """Zeros, and each element where its index says; of equal indices the last one counts.

    An index numbers the places of the tensor that was pooled, as the window's attributes give it.
    With an ``output_shape`` that tensor stands in the corner of a larger one: a smaller one is
    refused, as is an index that names no place of the tensor that was pooled.
    """

    slow = True

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape = inputs.shape(0)
        data, indices = inputs[0], ctx.cast(inputs[1], shape)
        pooled, least = _pooled(ctx, shape, attrs)
        for axis, size in enumerate(least, 2):
            data = ctx.at_least(data, axis, size)
        wanted = inputs.need_ints(2, "its output shape", 0) if inputs.has(2) else pooled
        if len(wanted) != len(shape):
            raise ctx.ill_typed(f"an output shape of {len(wanted)} dims for {len(shape)}")
        data = ctx.agreeing(data, wanted[:2], "its output shape")
        outer = ctx.prims(wanted)
        places = in_bounds(ctx, indices, 0, product(pooled) - 1)
        indices = ctx.checked(indices, places)

        def unpool(x: te.Tensor, index: te.Tensor, inner: te.Tensor) -> te.Tensor:
            made = [(outer, str(x.dtype.dtype))]
            return computed("unpool", [x, index, inner], made, _kernel)

        result = ctx.builder.emit_te(unpool, data, indices, ctx.sizes(pooled, "int64"))
        for axis in range(2, len(shape)):
            result = ctx.at_least(result, axis, pooled[axis])
        return result


def _pooled(ctx: Context, shape: Sequence[Size], attrs: Attrs) -> tuple[list[Size], list[int]]:
    """The dims of the tensor that was pooled; of the image at least, as those are not below 0."""
    kernel = attrs["kernel_shape"]
    rank = len(kernel)
    strides, pads = attrs.get("strides", [1] * rank), attrs.get("pads", [0] * 2 * rank)
    if rank != len(shape) - 2:
        raise ctx.ill_typed(f"a window of {rank} dims over {len(shape) - 2}")
    single = [kernel[i] - pads[i] - pads[rank + i] for i in range(rank)]
    sizes = [(shape[2 + i] - 1) * strides[i] + single[i] for i in range(rank)]
    least = [max(0, 1 - single[i] // strides[i]) for i in range(rank)]
    return [*shape[:2], *sizes], least


def _kernel(x: Any, index: Any, inner: Any, result: Any) -> None:
    zero, one = (tirx.const(v, "int64") for v in (0, 1))
    count, total = prod(x.shape, start=one), prod(result.shape, start=one)
    rest, place, step, inside = (local() for _ in range(4))
    with T.serial(0, total) as k:
        result[k] = tirx.const(0, result.dtype)
    with T.serial(0, count) as element:
        rest[0] = index[element]
        place[0], step[0] = zero, one
        inside[0] = tirx.if_then_else(rest[0] < 0, zero, one)
        for k, whole in reversed(list(enumerate(result.shape))):
            own = inner[k]
            at = tirx.floormod(rest[0], own)
            inside[0] = tirx.if_then_else(at < whole, inside[0], zero)
            place[0] = place[0] + at * step[0]
            step[0] = step[0] * whole
            rest[0] = tirx.floordiv(rest[0], own)
        with T.If(tirx.all(inside[0] != 0, rest[0] == 0)), T.Then():
            result[place[0]] = x[element]
