"""Tensors of random numbers, of a shape or like an operand (docs/random-numbers.md)."""

from __future__ import annotations

from collections.abc import Callable

from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.random import Random, between, dtype_of, like, normal
from ..common.rows import row


def _of_shape(name: str, doc: str, draw: Callable[..., relax.Expr]) -> type[OnnxOp]:
    """Numbers for the attribute ``shape``."""

    def convert(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        return draw(ctx, attrs, attrs["shape"], dtype_of(ctx, attrs, "float32"))

    return row(name, doc, Random, convert=convert)


def _like(name: str, doc: str, draw: Callable[..., relax.Expr]) -> type[OnnxOp]:
    """As many numbers as the operand has, whose elements nobody reads."""

    def convert(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        return draw(ctx, attrs, *like(ctx, inputs, attrs))

    return row(name, doc, Random, convert=convert)


OPERATORS = [
    _of_shape("RandomNormal", "Box and Muller's method over a generator that counts", normal),
    _of_shape("RandomUniform", "From ``low`` to below ``high``", between),
    _like("RandomNormalLike", "`RandomNormal` with the operand's shape", normal),
    _like("RandomUniformLike", "`RandomUniform` with the operand's shape", between),
]
