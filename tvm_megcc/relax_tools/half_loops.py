"""Loops of a module in f16: tensors read or written by rows are f16, states are f32.

Before, ``row`` and ``made`` in f32:

    state, made = body(step, state, row)      # row is multiplied or added in f16

After: both in f16, and the tensors of these rows. States, and values computed from them, keep their
type: in f16, a sum over many steps would lose the last summands.

Enters: a module and the rewriter of a body (`tvm_megcc.passes.half_precision`). Leaves: functions
in place of others, and the callees in place of others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import tvm
from tvm import relax

from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.control_flow import (
    Functions,
    Iterations,
    called_by,
    region_of,
    repeated,
)
from tvm_megcc.relax_tools.exprs import dtype_of
from tvm_megcc.relax_tools.traits import MOVES


class Rewriter(Protocol):
    """Narrows the body of a loop."""

    def body(
        self, func: relax.Function, states: range, halves: frozenset[int], results: frozenset[int]
    ) -> relax.Function:
        """Narrow a body; the parameters `halves` and the results `results` become f16.

        Values computed from the parameters `states` stay in f32, except products.
        """


@dataclass(slots=True)
class Loops:
    """Functions that replace others.

    Attributes
    ----------
    functions : Functions
    replaced : set of str
        Names of functions to remove.
    callees : dict
        Name of a function that repeats -> its replacement.
    bodies : dict
        Name of a body that stays -> positions of its states among the parameters.
    """

    functions: Functions = field(default_factory=Functions)
    replaced: set[str] = field(default_factory=set)
    callees: dict[str, relax.GlobalVar] = field(default_factory=dict)
    bodies: dict[str, range] = field(default_factory=dict)

    def into(self, mod: tvm.IRModule) -> None:
        """Replace the functions in `mod`."""
        for gvar in list(mod.get_global_vars()):
            if gvar.name_hint in self.replaced:
                del mod[gvar]
        self.functions.into(mod)

    def add(self, mod: tvm.IRModule, name: str, region: Iterations, rewriter: Rewriter) -> None:
        """Narrow rows and outputs of one loop, after the loops within its body."""
        old, entry = mod[region.body], mod[name]
        states = range(1, 1 + region.states)
        first = rewriter.body(old, states, frozenset(), frozenset())
        halves = frozenset(_only_narrowed(first)) - set(states)
        results = frozenset(_narrow_outputs(first, entry, region))
        if not halves and not results:
            self.bodies[region.body] = states
            return
        body = rewriter.body(old, states, halves, results)
        inside = self.functions.add(region.body, body)
        shift = int(region.limit) + int(region.condition) - 1  # no number of the step
        arguments = [
            _half(p.ty) if k - shift in halves else p.ty for k, p in enumerate(entry.params)
        ]
        behind = int(region.condition) + region.states
        outputs = [
            _half(ty) if behind + k in results else ty
            for k, ty in enumerate(_outputs(entry, region))
        ]
        new = replace(region, body=inside.name_hint)
        gvar = repeated(self.functions, name, new, inside, arguments, outputs)
        self.callees[name] = gvar
        self.replaced |= {name, region.body, *called_by(mod, [name])} - set(
            called_by(mod, [region.body])
        )


def loops(mod: tvm.IRModule) -> Iterator[tuple[str, Iterations]]:
    """Functions of a module that repeat a body, inner loops before outer ones."""
    found = {}
    for gvar, func in mod.functions_items():
        region, name = region_of(func), gvar.name_hint
        if isinstance(region, Iterations):
            if name not in {g.name_hint for g in relax.analysis.all_global_vars(func)}:
                found[name] = region
    for name in sorted(found, key=lambda n: (len(called_by(mod, [n])), n)):
        yield name, found[name]


def _half(ty: relax.TensorType) -> relax.TensorType:
    return relax.TensorType(ty.shape, "float16")


def _fields(func: relax.Function) -> list[relax.Expr]:
    result = func.body.body
    return list(result.fields) if isinstance(result, relax.Tuple) else [result]


def _outputs(entry: relax.Function, region: Iterations) -> list[relax.Type]:
    return list(entry.ret_ty.fields)[region.states : region.states + region.outputs]


def _only_narrowed(func: relax.Function) -> Iterator[int]:
    """Positions of f32 parameters that are only read after a cast to f16."""
    uses: dict[relax.Var, list[tuple[relax.Var, relax.Expr]]] = {}
    for block in func.body.blocks:
        for binding in block.bindings:
            for var in relax.analysis.free_vars(binding.value):
                uses.setdefault(var, []).append((binding.var, binding.value))
    return (
        k
        for k, param in enumerate(func.params)
        if isinstance(param.ty, relax.TensorType)  # not a shape
        and dtype_of(param) == "f32"
        and _is_narrowed(param, uses)
    )


def _is_narrowed(
    var: relax.Var, uses: Mapping[relax.Var, list[tuple[relax.Var, relax.Expr]]]
) -> bool:
    """Whether all readers cast a value to f16, also after permuting or slicing it."""
    return var in uses and all(
        (op_name(value) == "relax.astype" and dtype_of(value) == "f16")
        or (op_name(value) in MOVES and _is_narrowed(user, uses))
        for user, value in uses[var]
    )


def _narrow_outputs(
    func: relax.Function, entry: relax.Function, region: Iterations
) -> Iterator[int]:
    """Positions of results for outputs that are computed from f16."""
    values = relax.analysis.get_var2val(func)
    results = _fields(func)
    first = len(results) - region.outputs
    for number, ty in enumerate(_outputs(entry, region), first):
        var = results[number]
        if ty.shape is not None and dtype_of(var) == "f32" and _is_of_half(var, values):
            yield number


def _is_of_half(var: relax.Expr, values: Mapping[relax.Var, relax.Expr]) -> bool:
    """Whether a value of this function is computed from any f16."""
    waiting, seen = [var], set()
    while waiting:
        for used in relax.analysis.free_vars(waiting.pop()):
            if used in seen or not isinstance(used.ty, relax.TensorType):
                continue
            if dtype_of(used) == "f16":
                return True
            seen.add(used)
            waiting += [values[used]] if used in values else []
    return False
