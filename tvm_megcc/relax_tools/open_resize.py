"""Linear ``image.resize2d`` of open sizes, which TVM 0.27 cannot compile with every rule.

Its coordinates of ``align_corners`` and ``asymmetric`` make an integer constant of a float where a
size is symbolic. Our kernels take these calls; this is for modules that TVM compiles.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import tvm
from tvm import relax, te, tirx

_RESIZE, _ATTRIBUTE = "relax.image.resize2d", "FLegalize"
_RULES = ("align_corners", "asymmetric")
Legalise = Callable[[relax.BlockBuilder, relax.Call], relax.Expr]


@cache
def register() -> None:
    """Stand before TVM's own rule for ``image.resize2d``; further calls do nothing."""
    given: Legalise = tvm.ir.Op.get(_RESIZE).get_attr(_ATTRIBUTE)

    def legalise(builder: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
        attrs = call.attrs
        sizes = [*call.args[0].ty.shape.values, *call.ty.shape.values]
        is_open = not all(isinstance(size, tirx.IntImm) for size in sizes)
        rule = str(attrs.coordinate_transformation_mode)
        if not is_open or rule not in _RULES or str(attrs.method) != "linear":
            return given(builder, call)
        axes = (2, 3) if str(attrs.layout) == "NCHW" else (1, 2)
        return builder.call_te(_linear, call.args[0], call.args[1], axes=axes, rule=rule)

    tvm.ir.register_op_attr(_RESIZE, _ATTRIBUTE, legalise, level=11)


def _linear(x: te.Tensor, size: tirx.Tuple, axes: tuple[int, int], rule: str) -> te.Tensor:
    """The image `x` sampled on `size` rows and columns, which are its `axes`."""
    shape = list(x.shape)
    for axis, extent in zip(axes, size, strict=True):
        shape[axis] = extent

    def sample(*at: tirx.Var) -> tirx.Expr:
        lines = [_between(at[a], x.shape[a], n, rule) for a, n in zip(axes, size, strict=True)]

        def element(first: int, second: int) -> tirx.Expr:
            where = list(at)
            where[axes[0]], where[axes[1]] = lines[0][first], lines[1][second]
            return x(*where).astype("float32")

        (*_, down), (*_, right) = lines
        rows = [element(k, 0) * (1 - right) + element(k, 1) * right for k in (0, 1)]
        return (rows[0] * (1 - down) + rows[1] * down).astype(x.dtype)

    return te.compute(shape, sample, name="resize")


def _between(
    o: tirx.Var, old: tirx.Expr, new: tirx.Expr, rule: str
) -> tuple[tirx.Expr, tirx.Expr, tirx.Expr]:
    """The elements that output element `o` of an axis lies between, and how far along."""
    less = 1 if rule == "align_corners" else 0
    top, bottom = ((n - less).astype("float32") for n in (old, new))
    # In this order: `a * b / c - floor(a * b / c)` is one more float that TVM makes an integer of.
    at = o.astype("float32") * (top / te.max(bottom, tirx.const(1.0, "float32")))
    whole, last = te.floor(at), old.astype("int64") - 1
    low = te.min(whole.astype("int64"), last)
    return low, te.min(low + 1, last), at - whole
