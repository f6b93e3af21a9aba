"""Einsum."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from tvm import relax

from ...dims import product
from ...shapes.constraints import Labels, Shape, right_aligned
from .. import Attrs, Context, Inputs, OnnxOp, Result


class Einsum(OnnxOp):
    """A batched ``matmul`` where two operands share no odd labels, else ``einsum``.

    A dim of 1 broadcasts to the size that its letter has elsewhere: letter and dim are dropped.
    """

    slow = True

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        terms = attrs["equation"].replace(" ", "").split("->")[0].split(",")
        labels = [
            _labels(term, len(shape or ())) for term, shape in zip(terms, shapes, strict=True)
        ]
        for row, ones in zip(labels, _ones(labels, shapes), strict=True):
            for axis in ones:
                row[axis] = None
        return labels

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        equation = attrs["equation"].replace(" ", "")
        terms = equation.split("->")[0].split(",")
        output = equation.split("->")[1] if "->" in equation else _implied(terms)
        inputs, terms = _without_ones(ctx, inputs, terms)
        equation = f"{','.join(terms)}->{output}"
        plain = "." not in equation and all(len(set(t)) == len(t) for t in terms)
        if plain and len(terms) == 2 and set(output) <= set("".join(terms)):
            result = _as_matmul(ctx, inputs, terms[0], terms[1], output)
            if result is not None:
                return result
        return relax.op.einsum(list(inputs), equation)


def _implied(terms: Sequence[str]) -> str:
    """The output of an equation without one: the axes of ellipses, then letters that stand once."""
    every = "".join(terms)
    once = sorted(c for c in set(every) - {"."} if every.count(c) == 1)
    return "".join(["..." if "." in every else "", *once])


def _labels(term: str, rank: int) -> list[Hashable]:
    """A term's letters as labels; the axes of an ellipsis broadcast."""
    if "..." not in term:
        return [*term]
    before, after = term.split("...")
    return [*before, *right_aligned(rank - len(before) - len(after)), *after]


def _ones(labels: list[list[Hashable]], shapes: Sequence[Shape | None]) -> list[list[int]]:
    """For each operand the axes of 1 whose letter has another size in another operand."""
    large = {
        label
        for row, shape in zip(labels, shapes, strict=True)
        for label, size in zip(row, shape or (), strict=False)
        if isinstance(label, str) and size != 1
    }
    return [
        [
            axis
            for axis, (label, size) in enumerate(zip(row, shape or (), strict=False))
            if label in large and size == 1 and row.count(label) == 1
        ]
        for row, shape in zip(labels, shapes, strict=True)
    ]


def _without_ones(ctx: Context, inputs: Inputs, terms: list[str]) -> tuple[Inputs, list[str]]:
    """Operands and terms without the axes of 1 whose letter has another size elsewhere."""
    shapes = [inputs.shape(k) for k in range(len(inputs))]
    labels = [_labels(term, len(shape)) for term, shape in zip(terms, shapes, strict=True)]
    kept = list(terms)
    for k, axes in enumerate(_ones(labels, shapes)):
        if axes:
            dims = [size for axis, size in enumerate(shapes[k]) if axis not in axes]
            inputs = inputs.replaced(k, ctx.reshape(inputs[k], dims))
            gone = {labels[k][axis] for axis in axes}
            kept[k] = "".join(c for c in terms[k] if c not in gone)
    return inputs, kept


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
