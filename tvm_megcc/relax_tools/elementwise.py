"""Relax's operators that compute element by element, and those that reduce axes, by name."""

from __future__ import annotations

_UNARY = """
    abs acos acosh asin asinh atan atanh bitwise_not ceil clip cos cosh erf exp floor isfinite
    isinf isnan log logical_not negative round rsqrt sigmoid sign sin sinh sqrt square tan
    tanh trunc astype nn.relu nn.relu6 nn.gelu nn.gelu_tanh nn.silu nn.leakyrelu nn.softplus
    nn.selu
"""
_BROADCAST = """
    add subtract multiply divide floor_divide mod floor_mod power maximum minimum equal
    not_equal less less_equal greater greater_equal logical_and logical_or logical_xor
    bitwise_and bitwise_or bitwise_xor where
"""
_REDUCE = "max mean min prod std sum variance"


def _names(text: str) -> frozenset[str]:
    return frozenset("relax." + word for word in text.split())


UNARY, BROADCAST, REDUCE = _names(_UNARY), _names(_BROADCAST), _names(_REDUCE)
