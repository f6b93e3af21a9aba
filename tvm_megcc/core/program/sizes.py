"""Sizes of a program: which of them the run sets, and the program with numbers for all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tvm_megcc.core.program.program import Program
from tvm_megcc.core.program.steps import Call, Let, Load, Slide, Step, Store
from tvm_megcc.core.program.tensors import Tensor
from tvm_megcc.dims import Symbol, numbers, samples, symbols


def data_symbols(program: Program) -> frozenset[Symbol]:
    """The symbols that are set during the run; of a `sized` program none is left."""
    if not program.symbols:
        return frozenset()
    setters = (step for step in program.calls if isinstance(step, Load | Let))
    return frozenset(program.symbols[k] for step in setters for k in step.symbols)


def waits_for_data(program: Program, tensor: Tensor) -> bool:
    """Whether a dim of the tensor is set during the run."""
    data = data_symbols(program)
    return any(symbols(dim) & data for dim in tensor.shape)


def sized(program: Program, values: Mapping[str, int]) -> Program:
    """`program` for given values of its symbols: every size a number, no symbol left."""
    if not program.symbols:
        return replace(program, requirements=())
    number = numbers(values)

    def call(step: Step) -> Step:
        if isinstance(step, Store):
            return replace(step, size=number(step.size))
        if isinstance(step, Slide):
            base, made = step.base.sized(number), step.made.sized(number)
            return replace(step, row_bytes=number(step.row_bytes), base=base, made=made)
        if not isinstance(step, Call):
            return step
        overlap = None if step.overlap is None else number(step.overlap)
        attrs = tuple(map(number, step.attrs))
        rows = None if step.rows is None else step.rows.sized(number)
        return replace(step, attrs=attrs, work=number(step.work), overlap=overlap, rows=rows)

    def tensor(t: Tensor) -> Tensor:
        location = replace(t.location, offset=number(t.location.offset))
        return replace(t, shape=tuple(map(number, t.shape)), location=location)

    return replace(
        program,
        tensors=tuple(map(tensor, program.tensors)),
        calls=tuple(map(call, program.calls)),
        symbols=(),
        requirements=(),
    )


def accepts(program: Program, values: Mapping[str, int]) -> bool:
    """Whether the model can be run with these sizes."""
    try:
        fixed = sized(program, values)
        number = numbers(values)
        equal = all(number(r.a) == number(r.b) for r in program.requirements)
    except ZeroDivisionError:
        return False
    return equal and all(d >= 0 for t in fixed.tensors for d in t.shape)


def usual_sizes(program: Program) -> list[dict[str, int]]:
    """Values of all symbols for decisions that need numbers, the most usual ones first.

    Sizes that the model would refuse say nothing; where all are such, the first ones must do.
    """
    values = samples(program.symbols)
    return [v for v in values if accepts(program, v)] or values[:1]


def largest_sizes(program: Program) -> dict[str, int] | None:
    """The greatest value of all symbols; None where one has none, or the model refuses them."""
    found = {s.name: s.high for s in program.symbols if s.high is not None}
    is_bounded = len(found) == len(program.symbols)
    return found if is_bounded and accepts(program, found) else None
