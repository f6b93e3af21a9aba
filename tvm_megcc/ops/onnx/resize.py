"""Resize (opset 10 to 19) with every mode, coordinate transformation and rounding, and Upsample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from tvm import relax

from ...dims import Dim, Size
from ...shapes.axes import normal_axes
from ...shapes.known_elements import elements
from ...shapes.sizes import Real, scale_of
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.resample import COORDINATES, ROUNDINGS, Options
from ..common.resample_symbolic import Number
from ..common.resize import Plan, resize
from ..common.resize_data import is_open, plan_by_rounded_scales, plan_by_scales, plan_by_sizes


class Resize(OnnxOp):
    """``image.resize2d`` for the common cases, else a table of indices and weights per axis."""

    slow = True

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        if ctx.opset == 10:
            options = Options(attrs.get("mode", "nearest"), "asymmetric", "simple")
            return resize(ctx, inputs, plan_of_scales(ctx, inputs, 1), options)
        options = Options(
            mode=attrs.get("mode", "nearest"),
            coordinates=attrs.get("coordinate_transformation_mode", "half_pixel"),
            rounding=attrs.get("nearest_mode", "round_prefer_floor"),
            cubic=attrs.get("cubic_coeff_a", -0.75),
            exclude_outside=bool(attrs.get("exclude_outside", 0)),
            antialias=bool(attrs.get("antialias", 0)),
        )
        known = options.coordinates in COORDINATES and options.rounding in ROUNDINGS
        if not known or options.mode not in ("nearest", "linear", "cubic"):
            raise ctx.unsupported(
                f"mode '{options.mode}' / '{options.coordinates}' / '{options.rounding}'",
                "use one ONNX defines",
            )
        plan = self._plan(ctx, inputs, attrs)
        if options.coordinates == "tf_crop_and_resize":
            plan = _with_roi(ctx, inputs, attrs, plan)
        return resize(ctx, inputs, plan, options, attrs.get("extrapolation_value", 0.0))

    @staticmethod
    def _plan(ctx: Context, inputs: Inputs, attrs: Attrs) -> Plan:
        shape = inputs.shape(0)
        rank = len(shape)
        axes = normal_axes(attrs.get("axes", range(rank)), rank)
        if inputs.has(2) and inputs.shape(2) != (0,):
            return plan_of_scales(ctx, inputs, 2, axes)
        if not inputs.has(3):
            raise ctx.unsupported("neither its scales nor its sizes are given", "give one of them")
        policy = attrs.get("keep_aspect_ratio_policy", "stretch")
        if inputs.is_read(3):
            return plan_by_sizes(ctx, inputs, 3, axes, policy)
        wanted = inputs.need_ints(3, "its sizes")
        if len(wanted) != len(axes):
            raise ctx.unsupported(f"{len(wanted)} sizes for {len(axes)} axes", "give one for each")
        sizes: list[Size] = list(shape)
        for axis, size in zip(axes, wanted, strict=True):
            sizes[axis] = size
        if policy != "stretch":
            old, new = ctx.static(shape), ctx.static(sizes)
            if 0 in (old[a] for a in axes):
                raise ctx.unsupported(
                    f"keep_aspect_ratio_policy '{policy}' of an empty image", "use 'stretch'"
                )
            ratios = [np.float32(new[a]) / np.float32(old[a]) for a in axes]
            ratio = min(ratios) if policy == "not_larger" else max(ratios)
            for axis in axes:
                sizes[axis] = int(np.floor(ratio * np.float32(old[axis]) + np.float32(0.5)))
            kept = [float(ratio) if a in axes else 1.0 for a in range(rank)]
            return Plan(tuple(sizes), tuple(kept))
        both = zip(sizes, shape, strict=True)
        with np.errstate(divide="ignore", invalid="ignore"):  # of an empty axis
            found = [float(np.float32(n) / np.float32(d))
                     if isinstance(d, int) and isinstance(n, int) else None
                     for n, d in both]  # fmt: skip
        return Plan(tuple(sizes), tuple(found))


def plan_of_scales(
    ctx: Context, inputs: Inputs, index: int, axes: Sequence[int] | None = None
) -> Plan:
    """The plan for the scales of some axes, or all, that an operand holds.

    Those that are computed at run time but known, in part, are not read.
    """
    rank = inputs.rank(0)
    axes = range(rank) if axes is None else axes
    at_run_time = is_open(ctx, inputs, index)
    scales: list[Any] = elements(ctx, inputs[index]) if at_run_time else floats(inputs, index)
    if len(scales) != len(axes):
        raise ctx.unsupported(f"{len(scales)} scales for {len(axes)} axes", "give one for each")
    full: list[float | Real] = [1.0] * rank
    for axis, scale in zip(axes, scales, strict=True):
        if scale is not None:
            full[axis] = Real.of(scale) if isinstance(scale, Dim) else scale
    plan = scaled(ctx, inputs, full)
    return plan_by_scales(ctx, inputs, index, axes, scales, plan) if at_run_time else plan


def floats(inputs: Inputs, index: int) -> list[float | Real]:
    """The scales that an operand holds."""
    return inputs.reals(index) or [float(v) for v in inputs.need(index, "its scales").reshape(-1)]


def scaled(ctx: Context, inputs: Inputs, scales: Sequence[float | Real]) -> Plan:
    """The plan for scales that the model gives: every dim is rounded down, as f32 does it."""
    sizes: list[Size] = []
    kept: list[float | None] = []
    rounded: dict[int, float] = {}
    for axis, (dim, scale) in enumerate(zip(inputs.shape(0), scales, strict=True)):
        if isinstance(dim, int) and not isinstance(scale, Real):
            sizes.append(int(np.floor(np.float32(dim) * np.float32(scale))))
            kept.append(float(scale))
            continue
        exact = scale if isinstance(scale, Real) else scale_of(dim, scale)
        if exact is None:
            assert not isinstance(scale, Real)
            rounded[axis] = scale
            sizes.append(dim)
            kept.append(scale)
            continue
        product = Real.of(dim).times(exact)
        sizes.append(product.floor())
        # The quotient of the dims is the scale where nothing was rounded.
        kept.append(None if product.bottom == 1 or isinstance(scale, Real) else scale)
    plan = Plan(tuple(sizes), tuple(kept))
    return plan_by_rounded_scales(ctx, inputs, rounded, plan) if rounded else plan


def _with_roi(ctx: Context, inputs: Inputs, attrs: Attrs, plan: Plan) -> Plan:
    rank = len(plan.sizes)
    axes = normal_axes(attrs.get("axes", range(rank)), rank)
    parts: list[tuple[Number, Number]] = [(0.0, 1.0)] * rank
    if is_open(ctx, inputs, 1):
        (count,) = inputs.static_shape(1)
        given = relax.op.astype(inputs[1], "float32")
        roi = [ctx.emit(relax.op.strided_slice(given, [0], [k], [k + 1])) for k in range(count)]
    else:
        roi = [float(v) for v in inputs.need(1, "its roi").reshape(-1)]
    if len(roi) != 2 * len(axes):
        raise ctx.unsupported(
            f"{len(roi)} numbers in roi for {len(axes)} axes", "give two for each axis"
        )
    for position, axis in enumerate(axes):
        parts[axis] = (roi[position], roi[position + len(axes)])
    return replace(plan, roi=tuple(parts))


class Upsample(OnnxOp):
    """Resize with asymmetric coordinates."""

    slow = True

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        mode: str = attrs.get("mode", "nearest")
        mode = "linear" if mode == "bilinear" else mode
        if "scales" in attrs:
            plan = scaled(ctx, inputs, list(attrs["scales"]))
        else:
            plan = plan_of_scales(ctx, inputs, 1)
        return resize(ctx, inputs, plan, Options(mode, "asymmetric", "simple"))


OPERATORS = [Resize, Upsample]
