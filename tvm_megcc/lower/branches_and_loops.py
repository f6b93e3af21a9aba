"""Lowering of branches and loops: functions of `relax_tools.control_flow` become steps.

Enters: the region of a call, and its operands. Leaves: the steps of the callees between `If`,
`Else`, `Loop` and `End`, and copies to the tensors of results and states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from tvm import relax

from tvm_megcc.core.program import Copy, Else, End, If, Let, Loop, Step
from tvm_megcc.dims import Size, Symbol, as_symbol, bounds, compare, of
from tvm_megcc.errors import UnsupportedError
from tvm_megcc.lower.growing import Growing, Value, single
from tvm_megcc.relax_tools.control_flow import Branches, Iterations, Region
from tvm_megcc.relax_tools.exprs import dtype_name, shape_of


def lower_region(
    program: Growing, region: Region, values: Sequence[Value], var: relax.Var
) -> Value:
    """Add the steps of a call that chooses or repeats; return its value."""
    if isinstance(region, Branches):
        return _If(program, var.name).lower(region, values)
    return _Loop(program, var, region).lower(values)


class _If:
    """Both branches, which leave their results in the same tensors."""

    def __init__(self, program: Growing, name: str) -> None:
        self.program, self.name = program, name

    def lower(self, region: Branches, values: Sequence[Value]) -> Value:
        program, calls = self.program, self.program.calls
        condition, *operands = values
        calls.append(If(single(condition), self.name))
        then = _fields(program.inlined(region.then, operands))
        first_end = len(calls)
        calls.append(Else(self.name))
        other = _fields(program.inlined(region.other, operands))
        ends: list[list[Step]] = [[], []]
        results = [
            self._result(k, *pair, ends) for k, pair in enumerate(zip(then, other, strict=True))
        ]
        calls += ends[1]
        calls[first_end:first_end] = ends[0]
        calls.append(End(self.name))
        return results[0] if len(results) == 1 else tuple(results)

    def _result(self, number: int, then: int, other: int, ends: list[list[Step]]) -> int:
        """Tensor of result `number` after either branch."""
        if then == other:
            return then
        program = self.program
        a, b = (program.tensors[t] for t in (then, other))
        if len(a.shape) != len(b.shape) or a.dtype != b.dtype:
            raise UnsupportedError(
                f"{self.name}: result {number} is {a.dtype} of {len(a.shape)} dims in one branch,"
                f" {b.dtype} of {len(b.shape)} in the other; export the model with one for both"
            )
        shape: list[Size] = []
        symbols: list[int] = []
        sizes: tuple[list[Size], list[Size]] = ([], [])
        for axis, pair in enumerate(zip(a.shape, b.shape, strict=True)):
            if compare("eq", *pair) == 1:
                shape.append(pair[0])
                continue
            high = max(bounds(size)[1] for size in pair)
            low = max(min(bounds(size)[0] for size in pair), 0)  # a dim is not negative
            symbol = program.fresh(
                Symbol(
                    f"{self.name}.{number}.{axis}",
                    int(low),
                    None if high == np.inf else int(high),
                )
            )
            symbols.append(program.symbols.index(symbol))
            shape.append(of(symbol))
            for found, size in zip(sizes, pair, strict=True):
                found.append(size)
        result = program.new_tensor(f"{self.name}.{number}", a.dtype, tuple(shape))
        for end, source, found in zip(ends, (then, other), sizes, strict=True):
            if symbols:
                end.append(Let(tuple(symbols), tuple(found), self.name))
            end.append(Copy(result, source, name=self.name))
        return result


class _Loop:
    """A body between copies of the states, with a counter of iterations."""

    def __init__(self, program: Growing, var: relax.Var, region: Iterations) -> None:
        self.program, self.name, self.region = program, var.name, region
        types = var.ty.fields[region.states : region.states + region.outputs]
        self.outputs = [self._tensor("output", relax.Var(var.name, ty)) for ty in types]

    def lower(self, values: Sequence[Value]) -> Value:
        program, region = self.program, self.region
        given = iter(values)
        limit = single(next(given)) if region.limit else None
        started = single(next(given)) if region.condition else None
        initial = [single(next(given)) for _ in range(region.states)]
        wholes = [single(next(given)) for _ in range(region.rows)]
        stays = list(given)
        body = program.mod[region.body]
        # The shape with lengths of outputs is no parameter of the body.
        stays = stays[: len(body.params) - 1 - len(initial) - len(wholes)]
        counter = program.new_tensor(f"{self.name}.counter", "i64", ())
        self._copy(counter, program.constant(np.array(0, np.int64)))
        condition = None
        if started is not None:
            condition = program.new_tensor(f"{self.name}.condition", "bool", ())
            self._copy(condition, started)
        with program.symbols_of(body):
            params = body.params[1 : 1 + len(initial)]
            states = [_State(program, p, value) for p, value in zip(params, initial, strict=True)]
            row_params = body.params[1 + len(initial) : 1 + len(initial) + len(wholes)]
            rows = [self._tensor("row", p) for p in row_params]
        program.calls.append(Loop(counter, limit, condition, self.name))
        for state in states:
            state.enter()
        backwards = iter(region.backwards)
        for row, whole in zip(rows, wholes, strict=True):
            self._copy(row, whole, row=counter, into=False, backwards=next(backwards))
        found = _fields(
            program.inlined(region.body, [counter, *(s.tensor for s in states), *rows, *stays])
        )
        if condition is not None:
            self._copy(condition, found.pop(0))
        news, made = found[: len(states)], found[len(states) :]
        for whole, row in zip(self.outputs, made, strict=True):
            self._copy(whole, row, row=counter, backwards=next(backwards))
        for state, new in zip(states, self._apart(states, news), strict=True):
            state.update(new)
        program.calls.append(End(self.name))
        results = [*(s.held for s in states), *self.outputs]
        if condition is not None and self.outputs:
            tensor = program.tensors[counter]
            program.tensors.append(replace(tensor, shape=(1,)))
            results.append(len(program.tensors) - 1)
        return tuple(results)

    def _tensor(self, word: str, like: relax.Expr) -> int:
        shape = shape_of(like, self.program.scope)
        if shape is None:
            raise UnsupportedError(
                f"{self.name}: the size of an {word} of the loop is known at run time only"
                f" ({like.ty}); give sizes with --input-shapes"
            )
        return self.program.new_tensor(f"{self.name}.{word}", dtype_name(like.ty.dtype), shape)

    def _copy(self, target: int, source: int, **options: Any) -> None:
        self.program.calls.append(Copy(target, source, name=self.name, **options))

    def _apart(self, states: Sequence[_State], news: Sequence[int]) -> list[int]:
        """Copy new states that lie where another state is about to be written."""
        program = self.program
        written = {program.tensors[s.held].location for s in states}
        homes = {(at.space, at.index) for at in written}
        apart = []
        for state, new in zip(states, news, strict=True):
            tensor = program.tensors[new]
            if new != state.held and (tensor.location.space, tensor.location.index) in homes:
                source = new
                new = program.new_tensor(tensor.name, tensor.dtype, tensor.shape)
                self._copy(new, source)
            apart.append(new)
        return apart


class _State:
    """A value that an iteration passes to the next one.

    A state of changing size has two tensors: ``held`` gets the new value while the old sizes are
    valid. Once the new ones are set, it is copied to ``tensor``, which the body reads.
    """

    def __init__(self, program: Growing, param: relax.Var, initial: int) -> None:
        self.program, self.name = program, param.name
        shape, dtype = shape_of(param, program.scope), dtype_name(param.ty.dtype)
        assert shape is not None, param
        found = (as_symbol(d) for d in shape)
        self.changing = [s for s in found if s is not None and s not in program.symbols]
        self.axes = [shape.index(of(s)) for s in self.changing]
        given = program.tensors[initial]
        for axis, (a, b) in enumerate(zip(given.shape, shape, strict=True)):
            if axis not in self.axes:
                program.require(a, b, self.name)
        program.symbols += self.changing
        self.tensor = self.held = program.new_tensor(self.name, dtype, shape)
        if self.changing:
            self.next = [program.fresh(replace(s, name=f"{s.name}.next")) for s in self.changing]
            held_shape = list(shape)
            for axis, symbol in zip(self.axes, self.next, strict=True):
                held_shape[axis] = of(symbol)
            self.held = program.new_tensor(f"{self.name}.next", dtype, tuple(held_shape))
        self.update(initial)

    def enter(self) -> None:
        """Add the steps at the start of an iteration."""
        if self.changing:
            self.program.let(self.changing, [of(s) for s in self.next], self.name)
            self.program.calls.append(Copy(self.tensor, self.held, name=self.name))

    def update(self, new: int) -> None:
        """Add the steps that store a new value."""
        if self.changing:
            shape = self.program.tensors[new].shape
            self.program.let(self.next, [shape[axis] for axis in self.axes], self.name)
        if new != self.held:
            self.program.calls.append(Copy(self.held, new, name=self.name))


def _fields(value: Value) -> list[int]:
    return [single(v) for v in (value if isinstance(value, tuple) else (value,))]
