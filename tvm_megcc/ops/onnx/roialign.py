"""RoiAlign."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvm import relax, te, tirx

from tvm_megcc.relax_tools.extremes import extreme

from ...dims import compare
from ...shapes.constraints import Labels, Shape
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.indexing import all_of, in_bounds

#: From so many samples on a bin has more than are counted.
_MANY = 2.0**30


class RoiAlign(OnnxOp):
    """Samples of the data in the bins of a region; each bin gives their mean or their largest."""

    slow = True

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        return [[], ["region"], ["region"]]

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        default = "half_pixel" if ctx.opset >= 16 else "output_half_pixel"
        pixels = attrs.get("coordinate_transformation_mode", default)
        mode = attrs.get("mode", "avg")
        if pixels not in ("half_pixel", "output_half_pixel") or mode not in ("avg", "max"):
            raise ctx.unsupported(
                f"mode '{mode}' with coordinates '{pixels}'", "use modes that ONNX knows"
            )
        rois, batches = inputs.shape(1), inputs.shape(2)
        if compare("eq", rois[0], batches[0]) == 0 or compare("eq", rois[1], 4) == 0:
            raise ctx.ill_typed(f"regions [{rois[0]}, {rois[1]}] with {batches[0]} batch indices")
        bins = _Bins(
            attrs.get("output_height", 1),
            attrs.get("output_width", 1),
            attrs.get("sampling_ratio", 0),
            attrs.get("spatial_scale", 1.0),
            pixels == "half_pixel",
            mode == "max",
        )
        data = inputs[0]
        for axis in (2, 3):  # of nothing there is no sample
            data = ctx.at_least(data, axis, 1)
        images = in_bounds(ctx, inputs[2], 0, inputs.shape(0)[0] - 1)
        batch = ctx.checked(inputs[2], images)
        regions = ctx.cast(inputs[1], [rois[0], 4])
        regions = ctx.checked(regions, bins.are_sampled(ctx, regions))
        return ctx.builder.call_te(
            bins.compute,
            data,
            regions,
            batch,
            primfunc_name_hint="roi_align",
        )


@dataclass(frozen=True, slots=True)
class _Bins:
    """The attributes of a node."""

    height: int
    width: int
    samples: int  # per side of a bin; 0: one per pixel that the bin is wide
    scale: float
    aligned: bool
    largest: bool

    def are_sampled(self, ctx: Context, rois: relax.Expr) -> relax.Expr:
        """Whether all regions are finite, with so few samples in each bin that they are counted."""
        op = relax.op
        wide = ctx.emit(op.astype(rois, "float64"))
        known = ctx.emit(op.isfinite(wide))
        if self.samples <= 0:
            start, end = (op.strided_slice(wide, [1], [k], [k + 2], [1]) for k in (0, 2))
            length = op.multiply(op.subtract(end, start), ctx.const(self.scale, "float64"))
            sides = op.ceil(op.divide(length, ctx.const([self.width, self.height], "float64")))
            count = op.prod(op.maximum(sides, ctx.const(1, "float64")), [1], keepdims=True)
            few = op.less(ctx.emit(count), ctx.const(_MANY, "float64"))
            known = ctx.emit(op.logical_and(known, few))
        return all_of(ctx, known)

    def compute(self, data: te.Tensor, rois: te.Tensor, batches: te.Tensor) -> te.Tensor:
        batch_size, channels, *dims = data.shape
        dtype = data.dtype

        def real(value: Any) -> Any:
            return (
                tirx.Cast(dtype, value)
                if not isinstance(value, float)
                else tirx.const(value, dtype)
            )

        def span(roi: Any, axis: int, count: int) -> tuple[Any, Any, Any]:
            """Where the first bin begins, how long a bin is, how many samples it has."""
            shift = 0.5 if self.aligned else 0.0
            start, end = (rois[roi, k] * real(self.scale) - real(shift) for k in (axis, axis + 2))
            length = end - start if self.aligned else tirx.max(end - start, real(1.0))
            step = length / real(float(count))
            if self.samples > 0:
                return start, step, tirx.const(self.samples, "int32")
            return start, step, tirx.max(tirx.Cast("int32", tirx.ceil(step)), 1)

        def corners(position: Any, size: Any) -> tuple[Any, Any, Any]:
            """The two elements around a position, and how near it is to the second."""
            last = tirx.Cast("int32", size) - 1
            inside = tirx.max(position, real(0.0))
            low = tirx.min(tirx.Cast("int32", inside), last)
            part = tirx.if_then_else(low >= last, real(0.0), inside - real(low))
            return low, tirx.min(low + 1, last), part

        def value(roi: Any, channel: Any, y: Any, x: Any) -> Any:
            # Kernels read inside their tensors whatever the numbers are.
            batch = tirx.max(tirx.min(batches[roi], tirx.Cast("int64", batch_size) - 1), 0)
            (top, bottom, down), (left, right, across) = corners(y, dims[0]), corners(x, dims[1])
            one = real(1.0)
            terms = [
                weight * data[batch, channel, row, column]
                for weight, row, column in (
                    ((one - down) * (one - across), top, left),
                    ((one - down) * across, top, right),
                    (down * (one - across), bottom, left),
                    (down * across, bottom, right),
                )
            ]
            # ONNX's largest is that of the weighted corners, not of what lies between them.
            mixed = terms[0]
            for term in terms[1:]:
                mixed = tirx.max(mixed, term) if self.largest else mixed + term
            outside = tirx.any(y < real(-1.0), y > real(dims[0]), x < real(-1.0), x > real(dims[1]))
            return tirx.if_then_else(outside, real(0.0), mixed)

        def bin_of(roi: Any, channel: Any, row: Any, column: Any) -> Any:
            (y0, dy, rows), (x0, dx, columns) = span(roi, 1, self.height), span(roi, 0, self.width)
            i, j = te.reduce_axis((0, rows), "i"), te.reduce_axis((0, columns), "j")
            y = y0 + real(row) * dy + (real(i) + real(0.5)) * dy / real(rows)
            x = x0 + real(column) * dx + (real(j) + real(0.5)) * dx / real(columns)
            found = value(roi, channel, y, x)
            return extreme(found, [i, j], True) if self.largest else te.sum(found, [i, j])

        shape = (rois.shape[0], channels, self.height, self.width)
        bins = te.compute(shape, bin_of, name="bins")

        def result(roi: Any, channel: Any, row: Any, column: Any) -> Any:
            (_, dy, rows), (_, dx, columns) = span(roi, 1, self.height), span(roi, 0, self.width)
            found = bins[roi, channel, row, column]
            if not self.largest:
                found = found / real(rows * columns)
            if self.samples > 0:
                return found
            # A region without an extent has no samples.
            return tirx.if_then_else(tirx.all(dy > real(0.0), dx > real(0.0)), found, real(0.0))

        return te.compute(shape, result, name="roi_align")
