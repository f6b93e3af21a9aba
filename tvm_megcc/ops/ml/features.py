"""Features: columns that are chosen, scaled, compared or joined."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from tvm import relax

from ...dims import product
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.indexing import rows


class ArrayFeatureExtractor(OnnxOp):
    """The named columns of the last axis; of a vector, as one row."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape = inputs.shape(0)
        data = ctx.reshape(inputs[0], [1, *shape]) if len(shape) == 1 else inputs[0]
        found = ctx.emit(rows(ctx, inputs, max(len(shape) - 1, 1), data=data))
        return ctx.reshape(found, [*ctx.shape(data)[:-1], product(inputs.shape(1))])


class Binarizer(OnnxOp):
    """1 above the threshold, else 0."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        x, dtype, limit = inputs[0], inputs.dtype(0), float(attrs.get("threshold", 0.0))
        if "int" in dtype:
            return relax.op.astype(ctx.emit(_is_above(ctx, x, dtype, limit)), dtype)
        above = relax.op.greater(x, ctx.const(limit, dtype))
        return relax.op.astype(ctx.emit(above), dtype)


def _is_above(ctx: Context, x: relax.Expr, dtype: str, limit: float) -> relax.Expr:
    """Integers are above a real number where they are above the next integer down."""
    info = np.iinfo(dtype)
    if limit < info.min:
        return relax.op.greater_equal(x, ctx.const(info.min, dtype))
    last = math.floor(limit) if limit < info.max else info.max  # of NaN, too: none is above
    return relax.op.greater(x, ctx.const(last, dtype))


class FeatureVectorizer(OnnxOp):
    """The columns of all operands, in f32; of each as many as are asked for, zeros behind."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        op, parts = relax.op, []
        wanted = attrs.get("inputdimensions") or [None] * len(inputs)
        for k, count in enumerate(wanted):
            shape = inputs.shape(k)
            height = shape[0] if len(shape) > 1 else 1
            (columns,) = ctx.static([product(shape[1:] if len(shape) > 1 else shape)])
            part = ctx.reshape(ctx.emit(op.astype(inputs[k], "float32")), [height, columns])
            if count is not None and count < columns:
                part = ctx.emit(op.strided_slice(part, [1], [0], [count], [1]))
            elif count is not None and count > columns:
                part = ctx.emit(op.nn.pad(part, [0, 0, 0, count - columns]))
            parts.append(part)
        return op.concat(parts, 1)


class Normalizer(OnnxOp):
    """Each row by its largest element (MAX), its sum (L1) or its length (L2); not by 0.

    MAX is that of the elements with their signs, as ONNX Runtime has it. Numbers of 64 bits have
    sums that f32 does not hold.
    """

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        op, norm = relax.op, attrs.get("norm", "MAX")
        axis = [inputs.rank(0) - 1]
        dtype = "float64" if inputs.dtype(0) in ("int64", "float64") else "float32"
        x = inputs[0]
        if inputs.dtype(0) != dtype:
            x = ctx.emit(op.astype(x, dtype))
        if norm == "MAX":
            size = op.max(x, axis, keepdims=True)
        elif norm == "L1":
            size = op.sum(ctx.emit(op.abs(x)), axis, keepdims=True)
        elif norm == "L2":
            squares = ctx.emit(op.sum(ctx.emit(op.multiply(x, x)), axis, keepdims=True))
            size = op.sqrt(squares)
        else:
            raise ctx.unsupported(f"norm '{norm}'", "use MAX, L1 or L2")
        size = ctx.emit(size)
        none = ctx.emit(op.equal(size, ctx.const(0, dtype)))
        result = op.divide(x, ctx.emit(op.where(none, ctx.const(1, dtype), size)))
        return ctx.as_f32(ctx.emit(result))


class OneHotEncoder(OnnxOp):
    """Each element, cut to an integer, compared with the categories.

    Of categories that are equal the last one counts, as in ONNX Runtime. With ``zeros`` at 0, an
    element that is no category ends the run.
    """

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        if not attrs.get("cats_int64s"):
            raise ctx.unsupported("its categories are strings", "give it integer categories")
        data = ctx.emit(relax.op.astype(inputs[0], "int64"))
        data = ctx.reshape(data, [*inputs.shape(0), 1])
        categories = np.array(attrs["cats_int64s"])
        found = ctx.emit(relax.op.equal(data, ctx.const(categories, "int64")))
        last = [c not in categories[k + 1 :] for k, c in enumerate(categories)]
        if not all(last):
            found = ctx.emit(relax.op.logical_and(found, ctx.const(np.array(last), "bool")))
        if not attrs.get("zeros", 1):
            data = ctx.emit(relax.op.astype(found, "int64"))
            any_of = ctx.emit(relax.op.max(data, [-1]))
            holds = relax.op.greater(relax.op.min(any_of), ctx.const(0, "int64"))
            found = ctx.checked(found, ctx.emit(holds))
        return relax.op.astype(found, "float32")


def for_columns(ctx: Context, x: relax.Expr, numbers: Sequence[float], whose: str) -> relax.Expr:
    """Check that the operand has a column for each number, unless there is only a single number."""
    if len(numbers) == 1:
        return x
    return ctx.agreeing(x, [*ctx.shape(x)[:-1], len(numbers)], whose)


class Imputer(OnnxOp):
    """Replace a value (NaN equals NaN) by another number, or by a number for each column."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        dtype = inputs.dtype(0)
        kind, one = ("floats", "float") if "float" in dtype else ("int64s", "int64")
        values = attrs.get(f"imputed_value_{kind}")
        if not values:
            raise ctx.unsupported(f"has no imputed_value_{kind}", "give it what to put there")
        x = for_columns(ctx, inputs[0], values, f"its imputed_value_{kind}")
        replaced = attrs.get(f"replaced_value_{one}", 0)
        if math.isnan(replaced):
            found = relax.op.isnan(x)
        else:
            found = relax.op.equal(x, ctx.const(replaced, dtype))
        return relax.op.where(ctx.emit(found), ctx.const(np.array(values), dtype), x)


class Scaler(OnnxOp):
    """``(x - offset) * scale``, numbers for all or for each column; in f32, of f64 in f64."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        dtype = "float64" if inputs.dtype(0) == "float64" else "float32"
        x = inputs[0] if inputs.dtype(0) == dtype else ctx.as_f32(inputs[0])
        for function, name in ((relax.op.subtract, "offset"), (relax.op.multiply, "scale")):
            if attrs.get(name):
                x = for_columns(ctx, x, attrs[name], f"its {name}")
                x = ctx.emit(function(x, ctx.const(np.array(attrs[name]), dtype)))
        return ctx.as_f32(x)


class ZipMap(OnnxOp):
    """The matrix itself: the keys of the maps are the labels of its columns, in order."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        return inputs[0]


OPERATORS = [
    ArrayFeatureExtractor,
    Binarizer,
    FeatureVectorizer,
    Normalizer,
    OneHotEncoder,
    Imputer,
    Scaler,
    ZipMap,
]
