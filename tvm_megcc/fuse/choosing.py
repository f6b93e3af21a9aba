"""Choice between several kernels for a call, over the whole module.

Enters: functions with their matches (`tvm_megcc.fuse.match`) and the user's preference. Leaves: a
kernel for each match, and its costs. Costs are measured where possible (`tvm_megcc.kernels.tuned`),
else from the kernels' headers, for usual sizes of dynamic dims. `tvm_megcc.kernels.choice` weighs
them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from tvm import relax
from tvm.ir import GenericConst

from tvm_megcc.core.dtypes import nbytes
from tvm_megcc.core.machine import machine
from tvm_megcc.core.preference import Preference, Spending
from tvm_megcc.dims import typical
from tvm_megcc.fuse.graph import variables
from tvm_megcc.fuse.match import Match
from tvm_megcc.kernels import registry, tuned
from tvm_megcc.kernels.choice import Call, Cost, choose
from tvm_megcc.kernels.kernel_file import KernelFile
from tvm_megcc.kernels.packing import byte_zero
from tvm_megcc.kernels.tuned import Task
from tvm_megcc.relax_tools.exprs import constant, dtype_of, expressions, shape_of
from tvm_megcc.relax_tools.shape_exprs import Symbols, symbols_of

Matches = Mapping[relax.Var, Match]

#: Where memory counts, a workspace may raise the estimated arena by this part.
SLACK = 20


def chosen(
    functions: Sequence[tuple[relax.Function, Matches]], arch: str, preference: Preference
) -> tuple[dict[relax.Var, KernelFile], Spending]:
    """Choose a kernel for each match, by the match's variable; also return the costs."""
    found: dict[relax.Var, KernelFile] = {}
    open_matches: list[tuple[Match, tuple[KernelFile, ...]]] = []
    calls: list[Call] = []
    for func, matches in functions:
        choices = {var: _choice(match, arch) for var, match in matches.items()}
        found.update({var: choice.kernels[0] for var, choice in choices.items()})
        several = [choice for choice in choices.values() if len(choice.kernels) > 1]
        if several:
            needs = _memory(func, matches, arch, preference)
            open_matches += [(choice.match, choice.kernels) for choice in several]
            calls += [_call(choice, arch, preference, needs) for choice in several]
    weights = _constant_bytes([func for func, _ in functions])
    allowed = preference.allowance(weights)
    numbers = choose(calls, allowed)
    for (match, kernels), number in zip(open_matches, numbers, strict=True):
        found[match.var] = kernels[number]
    taken = [(call, call.costs[number]) for call, number in zip(calls, numbers, strict=True)]
    grown = {call.weights: cost.weights - call.costs[0].weights for call, cost in taken}
    return found, Spending(
        preference,
        weights,
        allowed,
        sum(grown.values()),
        len(calls),
        sum(call.costs[0].instructions for call in calls),
        sum(cost.instructions for _, cost in taken),
    )


#: Instructions of four lanes per nanosecond, to compare timed calls with others.
PER_NS = 2


def _effort(arch: str, instructions: int, weights: int) -> int:
    """Instructions of a call, plus the equivalent of reading its weights."""
    per, size = machine(arch).arch.reading
    return instructions + weights * per // size


@dataclass(frozen=True, slots=True)
class _Choice:
    """Kernels that may serve a match, the default first, and their measured costs, if known."""

    match: Match
    kernels: tuple[KernelFile, ...]
    measured: tuple[int, ...] = ()


def _choice(match: Match, arch: str) -> _Choice:
    known = tuned.current()
    if known is None:
        return _Choice(match, match.kernels)
    op, facts, usual = match.request.op, match.request.facts, match.kernels[0]
    kernels = sorted(registry.choices(op, arch, facts), key=lambda kernel: kernel != usual)
    found = known.figures(Task.of(op, arch, facts), facts, kernels)
    if found is not None and found.wanted is not None:
        return _Choice(match, (kernels[found.wanted],))
    costs = () if found is None else found.costs
    rows = [(k, c) for k, c in zip(kernels, costs, strict=False) if c is not None]
    if found is None or usual not in [kernel for kernel, _ in rows]:
        return _Choice(match, match.kernels)  # there is nothing to compare with
    rate = PER_NS if found.unit == "ns" else 1
    measured = tuple(round(rate * cost) for _, cost in rows)
    return _Choice(match, tuple(kernel for kernel, _ in rows), measured)


def _call(choice: _Choice, arch: str, preference: Preference, memory: _Memory | None) -> Call:
    match, facts = choice.match, choice.match.request.facts
    packings = tuple(kernel.packings(facts) for kernel in choice.kernels)
    arrays = [
        np.ascontiguousarray(_array(match.request.operands[name]))
        for name in sorted({name for rows in packings for name, _ in rows})
    ]
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(array.tobytes())
    unpacked = sum(map(_packed_bytes, arrays))
    costs = []
    for number, kernel in enumerate(choice.kernels):
        workspace = typical(kernel.workspace(facts))
        fits = memory is None or memory.has(match.var, workspace)
        is_wanted = preference.optimize in kernel.optimize
        is_allowed = fits and is_wanted and (kernel.exact or not preference.exact)
        weights = kernel.weights(facts)
        if choice.measured:
            effort, weights = choice.measured[number], weights or unpacked
        else:
            instructions = kernel.instructions(facts)
            assert instructions is not None, kernel.stem
            effort = _effort(arch, instructions, weights)
        costs.append(Cost(effort, weights, workspace, is_allowed))
    return Call(digest.digest(), tuple(costs), packings if choice.measured else ())


def _array(operand: relax.Expr | np.ndarray) -> np.ndarray:
    found = operand if isinstance(operand, np.ndarray) else constant(operand)
    assert found is not None, "a packed operand is constant"
    return found


def _constant_bytes(functions: Sequence[relax.Function]) -> int:
    """Bytes of all constants, equal ones once."""
    sizes: dict[bytes, int] = {}
    for func in functions:
        for expr in expressions(func):
            array = constant(expr) if isinstance(expr, GenericConst) else None
            if array is not None:
                data = np.ascontiguousarray(array)
                key = hashlib.sha256(f"{data.dtype}{data.shape}".encode() + data.tobytes())
                sizes[key.digest()] = _packed_bytes(data)
    return sum(sizes.values())


def _packed_bytes(data: np.ndarray) -> int:
    """Bytes of a constant in the package, where integer weights are bytes, not i32."""
    is_weight = data.dtype == np.int32 and data.ndim > 1 and byte_zero(data) is not None
    return data.size if is_weight else data.nbytes


class _Memory:
    """Estimate of the arena that a function needs, before there is a plan.

    A call needs its operands, its result and all values that are used later. The least arena is
    that of the call with the largest operands and result; of two that may share memory the larger
    one counts. Parameters and results of the function belong to its caller.

    A workspace may raise the least arena by one `slack`-th of it; with None not by a byte.
    """

    def __init__(self, func: relax.Function, matches: Matches, slack: int | None = SLACK) -> None:
        self._slack = slack
        self._symbols = symbols_of(func)
        outside = {*func.params, *variables(func.body.body)}
        live = set(variables(func.body.body))
        bindings = [b for block in func.body.blocks for b in block.bindings]
        self._live: dict[relax.Var, int] = {}
        self._least = 0
        known: dict[relax.Var, int] = {}
        for binding in reversed(bindings):
            var = binding.var
            match = matches.get(var)
            if match is None and var not in live:
                continue  # it is inside a match, or nothing reads it
            if match is None:
                used = set(variables(binding.value))
            else:
                used = {o for o in match.request.operands.values() if isinstance(o, relax.Var)}
            live |= used
            known.update((v, _bytes(v, self._symbols)) for v in live - outside - known.keys())
            sizes = {v: known[v] for v in live - outside}
            self._live[var] = sum(sizes.values())
            if match is not None:
                self._least = max(self._least, _least(match, sizes))
            live.discard(var)

    def has(self, var: relax.Var, workspace: int) -> bool:
        """Whether a workspace of a call fits in the least arena, raised by its `slack`-th part."""
        more = 0 if self._slack is None else self._least // self._slack
        return self._live[var] + workspace <= self._least + more


def _memory(
    func: relax.Function, matches: Matches, arch: str, preference: Preference
) -> _Memory | None:
    """Memory that bounds the workspaces of a function's calls; None where nothing does."""
    if machine(arch).arch.ram_is_scarce:
        return _Memory(func, matches, slack=None)
    return _Memory(func, matches) if preference.bounds_memory else None


def _least(match: Match, sizes: Mapping[relax.Var, int]) -> int:
    kernel, facts = match.kernels[0], match.request.facts
    reads = [sizes.get(o, 0) for o in match.request.operands.values() if isinstance(o, relax.Var)]
    result = sizes.get(match.var, 0)
    if reads and kernel.overlap(facts) is not None:
        reads[0], result = max(reads[0], result), 0
    elif kernel.inplace and len(reads) > 1:
        result = 0
    return sum(reads) + result + typical(kernel.workspace(facts))


def _bytes(var: relax.Var, symbols: Symbols) -> int:
    """Bytes of a tensor; 0 for a tuple, whose tensors are counted by themselves."""
    shape = shape_of(var, symbols) if isinstance(var.ty, relax.TensorType) else None
    return 0 if shape is None else typical(nbytes(dtype_of(var), prod(map(typical, shape))))
