"""Operators that draw random numbers: there is no answer that another implementation gives, too."""

from __future__ import annotations

from . import Attrs, Context, Inputs, OnnxOp, Result


class Random(OnnxOp):
    """Refused, with the reason."""

    random = True

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        raise ctx.unsupported(
            "draws random numbers, for which ONNX defines no generator",
            "give the numbers as an input of the model",
        )
