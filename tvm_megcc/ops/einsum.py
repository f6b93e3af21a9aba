"""Einsum."""

from __future__ import annotations

from collections.abc import Hashable

from tvm import relax

from . import Attrs, Context, Inputs, OnnxOp, Result
from ._agree import Labels, Shape, right_aligned
from ._shapes import product


class Einsum(OnnxOp):
    """A batched ``matmul`` where two operands share no odd labels, else ``einsum``."""

    name = "Einsum"
    slow = True

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        terms = attrs["equation"].replace(" ", "").split("->")[0].split(",")
        return [_labels(term, len(shape or ())) for term, shape in zip(terms, shapes, strict=True)]

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        equation = attrs["equation"].replace(" ", "")
        terms = equation.split("->")[0].split(",")
        if "->" not in equation:
            once = sorted(c for c in set("".join(terms)) if "".join(terms).count(c) == 1)
            equation = f"{equation}->{''.join(once)}"
        output = equation.split("->")[1]
        plain = "." not in equation and all(len(set(t)) == len(t) for t in terms)
        if plain and len(terms) == 2 and set(output) <= set("".join(terms)):
            result = _as_matmul(ctx, inputs, terms[0], terms[1], output)
            if result is not None:
                return result
        return relax.op.einsum(list(inputs), equation)


def _labels(term: str, rank: int) -> list[Hashable]:
    """A term's letters; the axes of an ellipsis are stretched."""
    if "..." not in term:
        return [*term]
    before, after = term.split("...")
    return [*before, *right_aligned(rank - len(before) - len(after)), *after]


def _as_matmul(ctx: Context, inputs: Inputs, lhs: str, rhs: str, output: str) -> relax.Expr | None:
    sizes = dict(zip(lhs + rhs, [*inputs.shape(0), *inputs.shape(1)], strict=True))
    batch = [c for c in output if c in lhs and c in rhs]
    rows = [c for c in lhs if c not in rhs]
    columns = [c for c in rhs if c not in lhs]
    inner = [c for c in lhs if c in rhs and c not in output]
    if any(c not in output for c in rows + columns) or not inner:
        return None
    first = _arranged(ctx, inputs[0], lhs, batch + rows + inner)
    second = _arranged(ctx, inputs[1], rhs, batch + inner + columns)
    dims = [[sizes[c] for c in group] for group in (batch, rows, columns, inner)]
    lead, height, width, depth = dims[0], product(dims[1]), product(dims[2]), product(dims[3])
    first = ctx.reshape(first, [*lead, height, depth])
    second = ctx.reshape(second, [*lead, depth, width])
    result = ctx.emit(relax.op.matmul(first, second))
    result = ctx.reshape(result, [*lead, *dims[1], *dims[2]])
    return _arranged(ctx, result, "".join(batch + rows + columns), list(output))


def _arranged(ctx: Context, x: relax.Expr, have: str, want: list[str]) -> relax.Expr:
    order = [have.index(c) for c in want]
    if order == list(range(len(have))):
        return x
    return ctx.emit(relax.op.permute_dims(x, order))
