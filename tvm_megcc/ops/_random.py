"""Operators that draw random numbers: there is no answer that another implementation gives, too."""

from __future__ import annotations

from ._context import Attrs, Context
from ._inputs import Inputs
from ._operator import OnnxOp, Result


class Random(OnnxOp):
    """Refused, with the reason."""

    random = True

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        raise ctx.unsupported(
            "draws random numbers, for which ONNX defines no generator",
            "give the numbers as an input of the model",
        )
