"""Support vector machines: kernels, and the probabilities of classes.

The probabilities of several classes come from those of their pairs as libsvm couples them (Wu, Lin
and Weng 2004, second method), with its bounds and its way to stop, as ONNX Runtime does.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from tvm import relax

from tvm_megcc.relax_tools.control_flow import loop

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.scores import as_real, highest, integer_labels, labels, transformed


def kernel(ctx: Context, data: relax.Expr, vectors: np.ndarray, attrs: Attrs) -> relax.Expr:
    """``[rows, vectors]``: the kernel of each row with each support vector."""
    op, name = relax.op, attrs.get("kernel_type", "LINEAR")
    data = ctx.agreeing(data, [ctx.shape(data)[0], vectors.shape[1]], "its support vectors")
    gamma, shift, degree = [*(attrs.get("kernel_params") or [0.0, 0.0, 0.0])][:3]
    if name == "RBF":
        rows, columns = ctx.shape(data)
        wide = ctx.reshape(data, [rows, 1, columns])
        apart = ctx.emit(op.subtract(wide, ctx.const(vectors[None], "float32")))
        far = ctx.emit(op.sum(ctx.emit(op.multiply(apart, apart)), [2]))
        return ctx.emit(op.exp(op.multiply(far, ctx.const(-gamma, "float32"))))
    product = ctx.emit(op.matmul(data, ctx.const(vectors.T, "float32")))
    if name == "LINEAR":
        return product
    line = op.multiply(product, ctx.const(gamma, "float32"))
    line = ctx.emit(op.add(line, ctx.const(shift, "float32")))
    if name == "SIGMOID":
        return ctx.emit(op.tanh(line))
    if name == "POLY":
        return ctx.emit(op.power(line, ctx.const(int(degree), "float32")))
    raise ctx.unsupported(f"kernel '{name}'", "use LINEAR, POLY, RBF or SIGMOID")


def pairs(classes: int) -> list[tuple[int, int]]:
    """The pairs of classes in the order of their scores."""
    return list(itertools.combinations(range(classes), 2))


def probabilities(ctx: Context, scores: relax.Expr, attrs: Attrs, classes: int) -> relax.Expr:
    """``[rows, classes]`` from the scores of the pairs."""
    op = relax.op
    line = op.multiply(scores, ctx.const(np.array(attrs["prob_a"]), "float32"))
    line = ctx.emit(op.add(line, ctx.const(np.array(attrs["prob_b"]), "float32")))
    first = op.subtract(ctx.const(1, "float32"), op.sigmoid(line))
    limits = [relax.prim_value(v) for v in (1e-7, 1 - 1e-7)]
    first = ctx.emit(op.clip(ctx.emit(first), *limits))
    other = ctx.emit(op.subtract(ctx.const(1, "float32"), first))
    place = np.zeros((2, len(pairs(classes)), classes, classes), np.float32)
    for k, (i, j) in enumerate(pairs(classes)):
        place[0, k, i, j] = place[1, k, j, i] = 1
    flat = [
        ctx.emit(op.matmul(part, ctx.const(where.reshape(len(where), -1), "float32")))
        for part, where in zip((first, other), place, strict=True)
    ]
    rows = ctx.shape(scores)[0]
    won = ctx.reshape(ctx.emit(op.add(*flat)), [rows, classes, classes])
    return _coupled(ctx, won, classes)


def _coupled(ctx: Context, won: relax.Expr, classes: int) -> relax.Expr:
    """Probabilities of the classes by those ``[rows, classes, classes]`` to win against another."""
    op = relax.op
    rows = ctx.shape(won)[0]
    lost = ctx.emit(op.permute_dims(won, [0, 2, 1]))
    own = ctx.emit(op.sum(ctx.emit(op.multiply(lost, lost)), [2]))
    eye = ctx.const(np.eye(classes)[None], "float32")
    diagonal = ctx.emit(op.multiply(ctx.reshape(own, [rows, classes, 1]), eye))
    matrix = ctx.emit(op.subtract(diagonal, op.multiply(won, lost)))
    start = op.broadcast_to(ctx.const([[1 / classes]], "float32"), ctx.prims([rows, classes]))
    start = ctx.emit(start)
    counter = relax.Var("step", relax.TensorType((), "int64"))
    state = relax.Var("state", start.ty)
    inner = ctx.inside(relax.BlockBuilder())
    with inner.builder.function("made", [counter, state]):
        with inner.builder.dataflow():
            again, after = _step(inner, matrix, own, state, classes)
            results = [inner.emit_output(e) for e in (again, after)]
        inner.builder.emit_func_output(relax.Tuple(results))
    result = loop(
        ctx.builder,
        ctx.functions,
        "coupling",
        inner.builder.get()["made"],
        limit=ctx.const(max(100, classes), "int64"),
        condition=ctx.const(True, "bool"),
        states=[start],
        rows=[],
        outputs=[],
    )
    return ctx.cast(ctx.emit(relax.TupleGetItem(result, 0)), [rows, classes])


def _step(
    ctx: Context, matrix: relax.Expr, own: relax.Expr, p: relax.Expr, classes: int
) -> tuple[relax.Expr, relax.Expr]:
    """Whether a row is not done yet; and the probabilities after a round over all classes."""
    op, before = relax.op, p
    rows = ctx.shape(own)[0]
    one, two = ctx.const(1, "float32"), ctx.const(2, "float32")

    def column(x: relax.Expr, k: int) -> relax.Expr:
        return ctx.emit(op.strided_slice(x, [1], [k], [k + 1], [1]))

    wide = ctx.emit(op.multiply(matrix, ctx.reshape(p, [rows, 1, classes])))
    slope = ctx.emit(op.sum(wide, [2]))
    mean = ctx.emit(op.sum(ctx.emit(op.multiply(p, slope)), [1], keepdims=True))
    error = ctx.emit(op.max(op.abs(op.subtract(slope, mean)), [1], keepdims=True))
    running = ctx.emit(op.greater_equal(error, ctx.const(0.005 / classes, "float32")))
    for k in range(classes):
        row = ctx.emit(op.strided_slice(matrix, [1], [k], [k + 1], [1]))
        row, corner, at = ctx.reshape(row, [rows, classes]), column(own, k), column(slope, k)
        step = ctx.emit(op.divide(op.subtract(mean, at), corner))
        scale = ctx.emit(op.add(one, step))
        here = ctx.const(np.eye(classes)[k : k + 1], "float32")
        p = ctx.emit(op.divide(op.add(p, op.multiply(step, here)), scale))
        gain = op.multiply(step, op.add(op.multiply(step, corner), op.multiply(two, at)))
        mean = ctx.emit(op.divide(op.add(mean, gain), op.multiply(scale, scale)))
        slope = ctx.emit(op.divide(op.add(slope, op.multiply(step, row)), scale))
    p = ctx.emit(op.where(running, p, before))
    any_of = ctx.emit(op.max(ctx.emit(op.astype(running, "int64"))))
    return ctx.emit(op.greater(any_of, ctx.const(0, "int64"))), p


def features(ctx: Context, x: relax.Expr) -> relax.Expr:
    """The features in f32, in which the machines compute."""
    return ctx.as_f32(as_real(ctx, x))


class SVMClassifier(OnnxOp):
    """A score and a vote for each pair of classes; a linear one has a score for each class."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        names = integer_labels(ctx, attrs, "classlabels_ints")
        classes = max(len(names or []), 1)
        data = features(ctx, inputs[0])
        if attrs.get("vectors_per_class"):
            scores = _pair_scores(ctx, data, attrs, classes)
            label = labels(ctx, relax.op.argmax(_votes(ctx, scores, classes), 1), names)
            if attrs.get("prob_a"):
                scores = probabilities(ctx, scores, attrs, classes)
        else:
            weights = np.array(attrs["coefficients"], np.float32).reshape(classes, -1)
            wanted = [ctx.shape(data)[0], weights.shape[1]]
            data = ctx.agreeing(data, wanted, "its coefficients")
            scores = ctx.emit(relax.op.matmul(data, ctx.const(weights.T, "float32")))
            scores = ctx.emit(relax.op.add(scores, ctx.const(attrs["rho"][0], "float32")))
            label = _linear_label(ctx, attrs, scores, names)
        return label, self._scores(ctx, attrs, scores, names)

    @staticmethod
    def _scores(
        ctx: Context, attrs: Attrs, scores: relax.Expr, names: Sequence[int] | None
    ) -> relax.Expr:
        post = attrs.get("post_transform", "NONE")
        if ctx.shape(scores)[1] == 1 and len(names or []) == 2 and len(attrs["rho"]) == 1:
            if post == "PROBIT":
                raise ctx.unsupported("one score with post_transform 'PROBIT'", "use LOGISTIC")
            other = ctx.emit(relax.op.negative(scores))
            scores = ctx.emit(relax.op.concat([other, scores], 1))
        return transformed(ctx, scores, post)


def _pair_scores(ctx: Context, data: relax.Expr, attrs: Attrs, classes: int) -> relax.Expr:
    """``[rows, pairs]``: of each pair the kernels of its own vectors, weighted.

    One product for each class, whose vectors have weights against every other class. A product with
    zeros for the others' vectors would be NaN where a kernel is infinite.
    """
    op, counts = relax.op, attrs["vectors_per_class"]
    vectors = np.array(attrs["support_vectors"], np.float32).reshape(sum(counts), -1)
    weights = np.array(attrs["coefficients"], np.float32).reshape(-1, sum(counts))
    kernels, ends = kernel(ctx, data, vectors, attrs), np.cumsum([0, *counts])
    parts = []
    for start, end in itertools.pairwise(ends.tolist()):
        own = ctx.emit(op.strided_slice(kernels, [1], [start], [end], [1]))
        parts.append(ctx.emit(op.matmul(own, ctx.const(weights[:, start:end].T, "float32"))))
    whole = ctx.emit(op.concat(parts, 1))
    others = len(weights)  # that a class has weights against
    sides = [(i * others + j - 1, j * others + i) for i, j in pairs(classes)]
    first, second = (
        ctx.emit(op.take(whole, ctx.const(side, "int64"), 1))
        for side in np.array(sides, np.int64).reshape(-1, 2).T
    )
    total = ctx.emit(op.add(first, second))
    return ctx.emit(op.add(total, ctx.const(np.array(attrs["rho"]), "float32")))


def _votes(ctx: Context, scores: relax.Expr, classes: int) -> relax.Expr:
    """``[rows, classes]``: how many pairs each class wins."""
    won, lost = np.zeros((2, len(pairs(classes)), classes), np.float32)
    for k, (i, j) in enumerate(pairs(classes)):
        won[k, i] = lost[k, j] = 1
    first = relax.op.greater(scores, ctx.const(0, "float32"))
    first = ctx.emit(relax.op.astype(ctx.emit(first), "float32"))
    moved = ctx.emit(relax.op.matmul(first, ctx.const(won - lost, "float32")))
    return ctx.emit(relax.op.add(moved, ctx.const(lost.sum(0), "float32")))


def _linear_label(
    ctx: Context, attrs: Attrs, scores: relax.Expr, names: Sequence[int] | None
) -> relax.Expr:
    """The label of the highest score.

    With two labels it is the second one wherever a score is positive, or, where all weights are
    positive, at least a half; with none the sign is the label. So ONNX Runtime has it.
    """
    op, one = relax.op, ctx.const(1, "int64")
    best = ctx.emit(op.astype(highest(ctx, scores), "int64"))
    top = ctx.emit(op.max(scores, [1]))
    if len(names or []) > 2:
        return labels(ctx, best, names)
    if len(names or []) == 2:
        if min(attrs["coefficients"]) >= 0:
            high = ctx.emit(op.greater_equal(top, ctx.const(0.5, "float32")))
        else:
            high = ctx.emit(op.greater(top, ctx.const(0, "float32")))
        return labels(ctx, ctx.emit(op.where(high, one, best)), names)
    positive = ctx.emit(op.greater(top, ctx.const(0, "float32")))
    return ctx.emit(op.astype(positive, "int64"))


class SVMRegressor(OnnxOp):
    """The kernels with the support vectors, weighted; or a linear model without such vectors."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        data, count = features(ctx, inputs[0]), attrs.get("n_supports", 0)
        weights = np.array(attrs["coefficients"], np.float32)[:, None]
        if count:
            vectors = np.array(attrs["support_vectors"], np.float32).reshape(count, -1)
            data = kernel(ctx, data, vectors, attrs)
        data = ctx.agreeing(data, [ctx.shape(data)[0], weights.size], "its coefficients")
        total = ctx.emit(relax.op.matmul(data, ctx.const(weights, "float32")))
        total = ctx.emit(relax.op.add(total, ctx.const(attrs["rho"][0], "float32")))
        if attrs.get("one_class", 0):
            inside = ctx.emit(relax.op.greater(total, ctx.const(0, "float32")))
            return relax.op.where(inside, ctx.const(1, "float32"), ctx.const(-1, "float32"))
        return transformed(ctx, total, attrs.get("post_transform", "NONE"))


OPERATORS = [SVMClassifier, SVMRegressor]
