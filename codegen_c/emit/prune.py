"""Drop the kernels, tensors and weights of a `Program` that no call or port reaches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tvm_megcc.core.program import Call, Program, Step, Tensor, operands_of, with_operands


def prune(program: Program) -> Program:
    """``program`` without unused kernels, tensors and weights, everything else in its order."""
    kernels = _numbers(c.kernel for c in program.calls if isinstance(c, Call))
    tensors = _numbers(
        [t for c in program.calls for t in operands_of(c)]
        + [p.tensor for p in (*program.inputs, *program.outputs)]
    )
    kept = [program.tensors[t] for t in tensors]
    weights = _numbers(t.location.index for t in kept if t.location.space == "weight")

    def move(t: Tensor) -> Tensor:
        if t.location.space != "weight":
            return t
        return replace(t, location=replace(t.location, index=weights[t.location.index]))

    def renumber(step: Step) -> Step:
        moved = with_operands(step, lambda t: tensors[t])
        return replace(moved, kernel=kernels[moved.kernel]) if isinstance(moved, Call) else moved

    return replace(
        program,
        inputs=tuple(replace(p, tensor=tensors[p.tensor]) for p in program.inputs),
        outputs=tuple(replace(p, tensor=tensors[p.tensor]) for p in program.outputs),
        tensors=tuple(map(move, kept)),
        kernels=tuple(program.kernels[k] for k in kernels),
        calls=tuple(map(renumber, program.calls)),
        weights=tuple(program.weights[w] for w in weights),
    )


def _numbers(used: Iterable[int]) -> dict[int, int]:
    """Old number -> new number, in order."""
    return {old: new for new, old in enumerate(sorted(set(used)))}
