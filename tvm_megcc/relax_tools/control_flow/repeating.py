"""A loop: a function that calls itself for the next iteration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tvm import relax, tirx

from tvm_megcc.relax_tools.control_flow.closures import (
    Captured,
    Exprs,
    captured,
    closed,
    function_of,
    sequence,
    undefined,
)
from tvm_megcc.relax_tools.control_flow.roles import Functions, Iterations, with_region


def loop(
    builder: relax.BlockBuilder,
    functions: Functions,
    name: str,
    body: relax.Function,
    *,
    limit: relax.Expr | None,
    condition: relax.Expr | None,
    states: Exprs,
    rows: Exprs,
    outputs: Sequence[relax.TensorType],
    backwards: Sequence[bool] = (),
) -> relax.Expr:
    """Call a function again and again: `Iterations` lists its parameters and results.

    Parameters
    ----------
    builder : relax.BlockBuilder
        Where the call is emitted.
    functions : Functions
        Where the callees are added.
    name : str
        Name of the callee.
    body : relax.Function
        Its parameters are those of `Iterations` without constant operands: it may use variables and
        symbolic dims of the function being built.
    limit, condition : relax.Expr, optional
        ``int64`` and ``bool``, of rank 0.
    states : sequence of relax.Expr
    rows : sequence of relax.Expr
        The number of iterations is at most the number of rows.
    outputs : sequence of TensorType
        Types of the outputs as wholes, ``[length, ...]``.
    backwards : sequence of bool, optional
        Which of `rows` and `outputs` count from the end.

    Returns
    -------
    relax.Expr
        A tuple.
    """
    around = captured(body)
    callee = functions.add(f"{name}_body", closed(body, around))
    region = Iterations(
        callee.name_hint, limit is not None, condition is not None, len(states), len(rows),
        len(outputs), tuple(backwards) or (False,) * (len(rows) + len(outputs)),
    )  # fmt: skip
    heads = [e for e in (limit, condition) if e is not None]
    arguments = [*heads, *states, *rows, *around.arguments]
    # The function for the next iteration has outputs, and states of unknown dims.
    others = [a.ty for a in (*heads, *rows, *around.arguments)]
    before = undefined([*others, *(a.ty for a in states)], outputs)
    dims = (*before, *undefined([*others, *outputs], outputs))
    lengths = Captured((), tuple(dict.fromkeys(dims)))
    arguments += lengths.arguments
    given = [a.ty for a in arguments]
    gvar = repeated(functions, name, region, callee, given, outputs)
    return builder.emit(relax.Call(gvar, arguments), name)


def repeated(
    functions: Functions,
    name: str,
    region: Iterations,
    body: relax.GlobalVar,
    arguments: Sequence[relax.Type],
    outputs: Sequence[relax.TensorType],
) -> relax.GlobalVar:
    """Make the function of a loop over an existing body: see `Iterations`.

    Parameters
    ----------
    functions : Functions
        Where the function and its callee are added.
    name : str
    region : Iterations
    body : relax.GlobalVar
    arguments : sequence of Type
        Of the function; a shape at the end has lengths of outputs that no other argument has.
    outputs : sequence of TensorType
        Types of the outputs as wholes.
    """
    heads = int(region.limit) + int(region.condition)
    known = heads + region.states + region.rows
    stays = len(body.ty.params) - 1 - region.states - region.rows
    driver = _Driver(region, body, tuple(outputs), len(arguments) - known - stays)
    counter = relax.const(0, "int64")
    types = [counter.ty, *outputs, *arguments]
    first = 1 + len(outputs) + heads
    types[first : first + region.states] = driver.state_types
    # A function that calls itself must exist, with its type, before its body is made.
    following = functions.add(f"{name}_next", function_of(types, driver.stop))
    again = function_of(types, lambda inner, p: driver.again(inner, p, following))
    functions.update(following, with_region(again, region))

    def start(inner: relax.BlockBuilder, given: Exprs) -> relax.Expr:
        made = [inner.emit(relax.op.zeros(ty.shape, ty.dtype)) for ty in outputs]
        return inner.emit(relax.Call(following, [counter, *made, *given]))

    return functions.add(name, with_region(function_of(arguments, start), region))


@dataclass(frozen=True, slots=True)
class _Driver:
    """Bodies of the functions of a loop.

    Their parameters are the number of the iteration, the outputs, limit, condition, states, rows,
    constant operands, and a shape with lengths of outputs that no other parameter has.
    """

    region: Iterations
    body: relax.GlobalVar
    outputs: tuple[relax.TensorType, ...]
    lengths: int

    @property
    def state_types(self) -> list[relax.Type]:
        """Type of each state at any iteration, for the body's parameter and its result."""
        found = self.region
        given = self.body.ty.params[1 : 1 + found.states]
        return [_general(ty) for ty in given]

    def _split(self, params: Exprs) -> list[list[relax.Expr]]:
        r = self.region
        rest = iter(params)
        counts = [1, r.outputs, int(r.limit), int(r.condition), r.states, r.rows]
        return [[next(rest) for _ in range(n)] for n in counts] + [list(rest)]

    def stop(self, inner: relax.BlockBuilder, params: Exprs) -> relax.Expr:
        """Results after the last iteration."""
        (counter,), outputs, _, condition, states, _, _ = self._split(params)
        results = [*states, *outputs]
        if condition and outputs:
            results.append(inner.emit(relax.op.reshape(counter, [1])))
        return relax.Tuple(results)

    def again(
        self, inner: relax.BlockBuilder, params: Exprs, following: relax.GlobalVar
    ) -> relax.Expr:
        """One iteration and the call of the next one, or the results."""
        (counter,), _, limit, condition, _, _, _ = self._split(params)
        tests = list(condition)
        if limit:
            tests.append(inner.emit(relax.op.less(counter, limit[0])))
        both = tests[0] if len(tests) == 1 else inner.emit(relax.op.logical_and(*tests))
        then = sequence(inner, lambda b: self._step(b, params, following))
        other = sequence(inner, lambda b: self.stop(b, params))
        return inner.emit(relax.If(both, then, other))

    def _step(self, b: relax.BlockBuilder, params: Exprs, following: relax.GlobalVar) -> relax.Expr:
        (counter,), outputs, limit, condition, states, rows, rest = self._split(params)
        wholes = [*rows, *outputs]
        pairs = zip(wholes, self.region.backwards, strict=True)
        numbers = [self._number(b, counter, whole) if back else counter for whole, back in pairs]
        parts = [
            b.emit(relax.op.take(whole, number, axis=0, mode="clip"))
            for whole, number in zip(rows, numbers, strict=False)
        ]
        stays = rest[: len(rest) - self.lengths]
        found = b.emit(relax.Call(self.body, [counter, *states, *parts, *stays]))
        results = [found]
        if isinstance(found.ty, relax.TupleType):
            results = [b.emit(relax.TupleGetItem(found, k)) for k in range(len(found.ty.fields))]
        condition = [results.pop(0)] if condition else []
        states, made = results[: len(states)], results[len(states) :]
        one = relax.const(1, "int64")
        filled = zip(outputs, made, numbers[len(rows) :], strict=True)
        outputs = [self._with_row(b, *row) for row in filled]
        after = b.emit(relax.op.add(counter, one))
        return b.emit(
            relax.Call(following, [after, *outputs, *limit, *condition, *states, *rows, *rest])
        )

    @staticmethod
    def _number(b: relax.BlockBuilder, counter: relax.Expr, whole: relax.Expr) -> relax.Expr:
        """Number of the row that is as far from the end as `counter` is from the start."""
        length = whole.ty.shape.values[0]
        last = b.emit(relax.op.arange(length - 1, length, tirx.IntImm("int64", 1), "int64"))
        return b.emit(relax.op.subtract(b.emit(relax.op.reshape(last, [])), counter))

    @staticmethod
    def _with_row(
        b: relax.BlockBuilder, whole: relax.Expr, row: relax.Expr, counter: relax.Expr
    ) -> relax.Expr:
        """Copy of an output with one row replaced, as Relax cannot write in place."""
        length, *others = whole.ty.shape.values
        numbers = b.emit(relax.op.arange(tirx.IntImm("int64", 0), length, tirx.IntImm("int64", 1)))
        here = b.emit(relax.op.equal(numbers, counter))
        here = b.emit(relax.op.reshape(here, [length, *(1 for _ in others)]))
        return b.emit(relax.op.where(here, b.emit(relax.op.expand_dims(row, 0)), whole))


def _general(ty: relax.TensorType) -> relax.TensorType:
    """The type, without its dims if any is symbolic, as these belong to another function."""
    fixed = all(isinstance(d, tirx.IntImm) for d in ty.shape.values)
    return ty if fixed else relax.TensorType(dtype=ty.dtype, ndim=ty.ndim)
