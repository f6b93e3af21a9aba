"""Scores of ai.onnx.ml's models: linear ones, transformations, labels."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi

import numpy as np
from tvm import relax

from .context import Context, expr_dtype

POST_TRANSFORMS = ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT")


def transformed(ctx: Context, scores: relax.Expr, name: str) -> relax.Expr:
    """The attribute ``post_transform``, of ``[rows, columns]``.

    A single column is transformed by PROBIT only, as ONNX Runtime does.
    """
    if name not in POST_TRANSFORMS:
        raise ctx.unsupported(f"post_transform '{name}'", f"use {', '.join(POST_TRANSFORMS)}")
    if name == "PROBIT":
        return _probit(ctx, scores)
    if name == "NONE" or ctx.shape(scores)[1] == 1:
        return scores
    if name == "LOGISTIC":
        return ctx.emit(relax.op.sigmoid(scores))
    if name == "SOFTMAX":
        return ctx.emit(relax.op.nn.softmax(scores, -1))
    return _softmax_zero(ctx, scores)


def _softmax_zero(ctx: Context, x: relax.Expr) -> relax.Expr:
    """Softmax of the scores that are not 0; a row of zeros becomes halves."""
    op, dtype = relax.op, expr_dtype(x)
    top = ctx.emit(op.max(x, [1], keepdims=True))
    nonzero = ctx.emit(op.greater(op.abs(x), ctx.const(1e-7, dtype)))
    tiny = op.multiply(x, op.exp(op.negative(top)))
    parts = ctx.emit(op.where(nonzero, op.exp(op.subtract(x, top)), tiny))
    total = ctx.emit(op.sum(parts, [1], keepdims=True))
    none = ctx.emit(op.equal(total, ctx.const(0, dtype)))
    total = ctx.emit(op.where(none, ctx.const(1, dtype), total))
    return ctx.emit(op.where(none, ctx.const(0.5, dtype), op.divide(parts, total)))


def _probit(ctx: Context, x: relax.Expr) -> relax.Expr:
    """``sqrt(2) * erfinv(2x - 1)``, the inverse by Winitzki's approximation."""
    op, dtype = relax.op, expr_dtype(x)

    def number(value: float) -> relax.Expr:
        return ctx.const(value, dtype)

    y = ctx.emit(op.subtract(op.multiply(x, number(2)), number(1)))
    log = ctx.emit(op.log(op.multiply(op.subtract(number(1), y), op.add(number(1), y))))
    half = op.add(number(2 / (pi * 0.147)), op.multiply(log, number(0.5)))
    half = ctx.emit(half)
    root = op.sqrt(op.subtract(op.multiply(half, half), op.multiply(log, number(1 / 0.147))))
    size = ctx.emit(op.sqrt(ctx.emit(op.subtract(ctx.emit(root), half))))
    sign = op.where(op.less(y, number(0)), number(-1), number(1))
    return ctx.emit(op.multiply(op.multiply(size, sign), number(1.41421356)))


def highest(ctx: Context, scores: relax.Expr) -> relax.Expr:
    """The column of each row's highest score; a NaN is highest in the first column only.

    ONNX Runtime compares every score by ``>`` with the best one before, with this effect.
    """
    dtype, columns = expr_dtype(scores), ctx.static(ctx.shape(scores)[1:])[0]
    instead = np.full(columns, -np.inf, dtype)
    instead[:1] = np.inf
    nan = ctx.emit(relax.op.isnan(scores))
    ordered = ctx.emit(relax.op.where(nan, ctx.const(instead, dtype), scores))
    return ctx.emit(relax.op.argmax(ordered, 1))


def labels(ctx: Context, index: relax.Expr, names: Sequence[int] | None) -> relax.Expr:
    """The labels of the classes of these numbers; the numbers where the labels are just those."""
    index = ctx.emit(relax.op.astype(index, "int64"))
    if names is None or list(names) == list(range(len(names))):
        return index
    return ctx.emit(relax.op.take(ctx.const(np.array(names), "int64"), index, 0, "clip"))


def integer_labels(ctx: Context, attrs: dict[str, object], name: str) -> Sequence[int] | None:
    """The labels of an attribute; strings are refused."""
    if attrs.get("classlabels_strings"):
        raise ctx.unsupported("its labels are strings", "give it integer labels")
    return attrs.get(name) or None  # type: ignore[return-value]


def as_real(ctx: Context, x: relax.Expr) -> relax.Expr:
    """A matrix of features in f32, or in f64 if it is f64; a vector is one row."""
    shape = ctx.shape(x)
    if len(shape) == 1:
        x = ctx.reshape(x, [1, *shape])
    if expr_dtype(x) in ("float32", "float64"):
        return x
    return ctx.emit(relax.op.astype(x, "float32"))
