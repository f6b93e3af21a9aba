"""Tensors of random numbers, of a shape or like an operand (docs/random-numbers.md)."""

from __future__ import annotations

from collections.abc import Callable

from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.random import Random, between, dtype_of, like, normal, tvm_dtype, uniform, wide_of
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


def _bernoulli(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
    wide = wide_of(inputs.dtype(0))
    chance = inputs[0]
    if inputs.dtype(0) != wide:
        chance = ctx.emit(relax.op.astype(chance, wide))
    dtype = tvm_dtype(ctx, attrs["dtype"]) if "dtype" in attrs else inputs.dtype(0)
    found = ctx.emit(relax.op.less(uniform(ctx, attrs, inputs.shape(0), wide), chance))
    return found if dtype == "bool" else relax.op.astype(found, dtype)


OPERATORS = [
    row("Bernoulli", "1 with the probability that the element is, else 0", Random,
        convert=_bernoulli),
    _of_shape("RandomNormal", "Box and Muller's method over a generator that counts", normal),
    _of_shape("RandomUniform", "From ``low`` to below ``high``", between),
    _like("RandomNormalLike", "`RandomNormal` with the operand's shape", normal),
    _like("RandomUniformLike", "`RandomUniform` with the operand's shape", between),
]  # fmt: skip
