"""Sharing of kernel instances, where code size counts: activations that are bounds become Clip.

Enters: the matches of a module and the kernel of each. Leaves: the matches. No activation, Relu and
Clip are all ``min(max(x, a), b)`` with bounds from the call: calls of one kernel that differ only
in these become Clip. Results are equal to the bit. Clip takes one or two instructions more per
vector; an instance of a convolution takes 5 KB.

Example
-------
``conv2d`` with Relu6 and ``conv2d`` without an activation: two calls of Clip's instance, one with
the bounds 0 and 6, one with those of all floats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf

from tvm import relax

from tvm_megcc.core.dtypes import numpy_dtype
from tvm_megcc.fuse.match import Match
from tvm_megcc.kernels.contract import activation_codes
from tvm_megcc.kernels.expression import Fact
from tvm_megcc.kernels.kernel_file import KernelFile
from tvm_megcc.relax_tools.exprs import dtype_of

Matches = Mapping[relax.Var, Match]


def with_shared_activations(
    functions: Sequence[Matches], kernels: Mapping[relax.Var, KernelFile]
) -> list[dict[relax.Var, Match]]:
    """Rewrite activations to bounds in matches where that makes two instances one."""
    clipped = {var: _clipped(m) for matches in functions for var, m in matches.items()}
    acts: dict[str, set[Fact]] = {}
    symbols: dict[relax.Var, str] = {}
    for matches in functions:
        for var, match in matches.items():
            facts = clipped[var]
            if facts is not None and "act" not in kernels[var].formulas["when"].names:
                symbols[var] = kernels[var].instance(facts).symbol
                acts.setdefault(symbols[var], set()).add(match.request.facts["act"])
    shared = {var for var, symbol in symbols.items() if len(acts[symbol]) > 1}
    return [
        {var: _with(match, clipped[var] if var in shared else None) for var, match in m.items()}
        for m in functions
    ]


def _clipped(match: Match) -> dict[str, Fact] | None:
    """Facts with the activation as bounds; None if it is no bound, or of integers."""
    facts, code = match.request.facts, activation_codes()
    act, low, high = (facts.get(name) for name in ("act", "act_a", "act_b"))
    if act == code["NONE"]:
        low, high = -inf, inf
    elif act == code["RELU"]:
        low, high = 0.0, inf
    elif act != code["CLIP"]:
        return None
    if low is None or high is None or numpy_dtype(dtype_of(match.var)).kind != "f":
        return None
    return {**facts, "act": code["CLIP"], "act_a": low, "act_b": high}


def _with(match: Match, facts: Mapping[str, Fact] | None) -> Match:
    return match if facts is None else replace(match, request=replace(match.request, facts=facts))
