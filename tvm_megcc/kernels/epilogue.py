"""Epilogues of conv2d and matmul: bias, residual and activation, before a value is stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tvm import relax
from tvm.relax.dpl import DFPattern, is_const, is_op, wildcard

from tvm_megcc.kernels.activation import Activation, activations
from tvm_megcc.kernels.request import Parts, dtype_of, shape_of


@dataclass(frozen=True, slots=True)
class Epilogue:
    """One form of epilogue over an accumulator pattern.

    ``residual``: 0 none, 1 added before the activation, 2 added after it.
    """

    name: str
    output: DFPattern
    parts: Mapping[str, DFPattern]
    activation: Activation | None
    residual: int

    def facts(self, parts: Parts, accumulator: relax.Expr) -> dict[str, int | float] | None:
        """``act``, ``act_a``, ``act_b`` and ``residual``, or None where the form does not fit."""
        if "residual" in self.parts:
            residual = parts["residual"]
            same = shape_of(residual) == shape_of(accumulator)
            if not same or dtype_of(residual) != dtype_of(accumulator):
                return None
        code, (a, b) = 0, (0.0, 0.0)
        if self.activation is not None:
            code, found = self.activation.code, self.activation.parameters(parts)
            if found is None:
                return None
            a, b = found
        return {"act": code, "act_a": a, "act_b": b, "residual": self.residual}


def _sum(value: DFPattern, other: DFPattern) -> DFPattern:
    return is_op("relax.add")(value, other) | is_op("relax.add")(other, value)


def epilogues(accumulator: DFPattern) -> Iterator[Epilogue]:
    """Every form over `accumulator`, the ones that match more first.

    The parts are named ``bias`` (a constant), ``residual``, and the activation's own.
    """
    for with_bias in (True, False):
        bias = is_const()
        value = _sum(accumulator, bias) if with_bias else accumulator
        named = {"bias": bias} if with_bias else {}
        prefix = "bias_" if with_bias else ""
        yield from _with_residual(value, prefix, named)
        for act in activations(value):
            yield Epilogue(prefix + act.name, act.output, {**named, **act.parts}, act, 0)
        yield Epilogue(prefix + "plain", value, named, None, 0)


def _with_residual(
    value: DFPattern, prefix: str, named: Mapping[str, DFPattern]
) -> Iterator[Epilogue]:
    for act in activations(value):
        residual = wildcard()
        parts = {**named, **act.parts, "residual": residual}
        yield Epilogue(f"{prefix}{act.name}_residual", _sum(act.output, residual), parts, act, 2)
    residual = wildcard()
    total = _sum(value, residual)
    for act in activations(total):
        parts = {**named, **act.parts, "residual": residual}
        yield Epilogue(f"{prefix}residual_{act.name}", act.output, parts, act, 1)
    yield Epilogue(f"{prefix}residual", total, {**named, "residual": residual}, None, 1)
