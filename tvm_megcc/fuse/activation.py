"""Activations that kernels apply to a value before they store it.

Each row gives the pattern of an activation over a value, and how its two float parameters are read
from the match. The codes are those of ``codegen_c/include/megcc_act_codes.h``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from tvm import relax
from tvm.relax.dpl import DFPattern, is_op, wildcard

from tvm_megcc.fuse.graph import root_of
from tvm_megcc.kernels.contract import activation_codes
from tvm_megcc.relax_tools.exprs import as_float

Parts = Mapping[str, relax.Expr]
Parameters = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Activation:
    """`code` applied over a value: `output` is the pattern, `parameters` reads (a, b)."""

    name: str
    code: int
    output: DFPattern
    parts: Mapping[str, DFPattern]
    parameters: Callable[[Parts], Parameters | None]


#: Largest number of calls from the value to the last one of an activation.
REACH = 5


def _none(parts: Parts) -> Parameters:
    return 0.0, 0.0


def _clip(parts: Parts) -> Parameters | None:
    low, high = as_float(parts["low"]), as_float(parts["high"])
    return None if low is None or high is None else (low, high)


def _alpha(parts: Parts) -> Parameters:
    return float(parts["act"].attrs.alpha), 0.0


def _commuted(op: str, lhs: DFPattern, rhs: DFPattern) -> DFPattern:
    return is_op(op)(lhs, rhs) | is_op(op)(rhs, lhs)


def _unit_clip(parts: Parts) -> bool:
    return as_float(parts["low"]) == 0.0 and as_float(parts["high"]) == 1.0


def _hard_sigmoid(parts: Parts) -> Parameters | None:
    scale, shift = as_float(parts["scale"]), as_float(parts["shift"])
    if scale is None or shift is None or not _unit_clip(parts):
        return None
    return scale, shift


def _hard_swish(parts: Parts) -> Parameters | None:
    params = _hard_sigmoid(parts)
    close = params and abs(params[0] - 1 / 6) < 1e-7 and params[1] == 0.5
    return (0.0, 0.0) if close else None


def _hard_swish_relu6(parts: Parts) -> Parameters | None:
    """``x * clip(x + 3, 0, 6) / 6`` in the orders that exporters write."""
    bounds = as_float(parts["low"]) == 0.0 and as_float(parts["high"]) == 6.0
    factor = as_float(parts["factor"])
    if not bounds or as_float(parts["shift"]) != 3.0 or factor is None:
        return None
    sixth = factor if "by_multiply" in parts else 1 / factor
    return (0.0, 0.0) if abs(sixth - 1 / 6) < 1e-7 else None


def _hard_sigmoid_pattern(x: DFPattern) -> tuple[DFPattern, dict[str, DFPattern]]:
    scale, shift, low, high = wildcard(), wildcard(), wildcard(), wildcard()
    line = is_op("relax.add")(is_op("relax.multiply")(x, scale), shift)
    clip = is_op("relax.clip")(line, low, high)
    return clip, {"scale": scale, "shift": shift, "low": low, "high": high}


def _elu(parts: Parts) -> Parameters | None:
    zeros = as_float(parts["zero"]) == as_float(parts["low"]) == 0.0
    if not zeros or as_float(parts["one"]) != 1.0:
        return None
    alpha = as_float(parts["alpha"]) if "alpha" in parts else 1.0
    return None if alpha is None else (alpha, 0.0)


def _elu_pattern(x: DFPattern, *, scaled: bool) -> tuple[DFPattern, dict[str, DFPattern]]:
    """``where(x > 0, x, alpha * (exp(min(x, 0)) - 1))``."""
    parts = {"zero": wildcard(), "low": wildcard(), "one": wildcard()}
    curve = is_op("relax.exp")(is_op("relax.minimum")(x, parts["low"]))
    curve = is_op("relax.subtract")(curve, parts["one"])
    if scaled:
        parts["alpha"] = wildcard()
        curve = is_op("relax.multiply")(parts["alpha"], curve)
    above = is_op("relax.greater")(x, parts["zero"])
    return is_op("relax.where")(above, x, curve), parts


def activations(x: DFPattern) -> list[Activation]:
    """All activations over the value `x`, those that match more calls first."""
    rows, codes = [], activation_codes()

    def add(
        name: str,
        code: str,
        output: DFPattern,
        parts: Mapping[str, DFPattern],
        parameters: Callable[[Parts], Parameters | None],
    ) -> None:
        rows.append(Activation(name, codes[code], output, parts, parameters))

    for name, scaled in (("elu", True), ("elu_of_1", False)):
        add(name, "ELU", *_elu_pattern(x, scaled=scaled), _elu)

    hard, parts = _hard_sigmoid_pattern(x)
    output = _commuted("relax.multiply", x, hard)
    add("hard_swish", "HARDSWISH", output, parts, _hard_swish)

    low, high, shift, factor = wildcard(), wildcard(), wildcard(), wildcard()
    relu6 = is_op("relax.clip")(is_op("relax.add")(x, shift), low, high)
    named = {"low": low, "high": high, "shift": shift, "factor": factor}
    product = _commuted("relax.multiply", x, relu6)
    for op, extra in (("divide", {}), ("multiply", {"by_multiply": x})):
        output, parts = is_op(f"relax.{op}")(product, factor), {**named, **extra}
        add(f"hard_swish_{op}", "HARDSWISH", output, parts, _hard_swish_relu6)
    output = _commuted("relax.multiply", x, is_op("relax.divide")(relu6, factor))
    add("hard_swish_inner", "HARDSWISH", output, named, _hard_swish_relu6)

    add("hard_sigmoid", "HARDSIGMOID", *_hard_sigmoid_pattern(x), _hard_sigmoid)
    output = _commuted("relax.multiply", x, is_op("relax.sigmoid")(x))
    add("silu_product", "SILU", output, {}, _none)
    low, high = wildcard(), wildcard()
    add("clip", "CLIP", is_op("relax.clip")(x, low, high), {"low": low, "high": high}, _clip)
    leaky = is_op("relax.nn.leakyrelu")(x)
    add("leaky_relu", "LEAKY_RELU", leaky, {"act": leaky}, _alpha)
    for op in ("nn.relu", "sigmoid", "tanh", "nn.silu", "nn.gelu", "nn.gelu_tanh"):
        name = op.removeprefix("nn.")
        add(name, name.upper(), is_op(f"relax.{op}")(x), {}, _none)
    return rows


@cache
def over_any() -> tuple[DFPattern, list[Activation]]:
    """Pattern of any value, and all activations over it."""
    x = wildcard()
    return x, activations(x)


@cache
def over_any_by_root() -> tuple[DFPattern, dict[str, list[Activation]]]:
    """`over_any`, by the operator that each activation ends with."""
    x, rows = over_any()
    by_root: dict[str, list[Activation]] = {}
    for row in rows:
        by_root.setdefault(root_of(row.output), []).append(row)
    return x, by_root
