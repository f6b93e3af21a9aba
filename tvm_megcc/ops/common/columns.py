"""Attributes of ai.onnx.ml with a number for each column of an operand, or one for all."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import relax

from .context import Context


def for_columns(ctx: Context, x: relax.Expr, numbers: Sequence[float], whose: str) -> relax.Expr:
    """The operand, which has as many columns as there are numbers where there are several."""
    if len(numbers) == 1:
        return x
    return ctx.agreeing(x, [*ctx.shape(x)[:-1], len(numbers)], whose)
