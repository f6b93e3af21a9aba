"""If: the branch that is taken, chosen during the run where its condition is not known."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from tvm import relax

from tvm_megcc.relax_tools import control_flow

from ...dims import Size
from ...errors import InputError, UnsupportedError
from ...ops import Context
from ...ops.common.context import IllTypedError
from ...shapes.arithmetic import equal
from ...shapes.sizes import SizeArray
from ..sequences import Form, Value, flat, shaped, words
from ..state import Importer, Scope
from ..values import attributes, label
from .bodies import (
    Shape,
    body_function,
    dtype_of,
    fields_of,
    function_name,
    is_known,
    of_rank,
    refuse_several,
    with_dims,
)


def convert_if(
    importer: Importer, node: onnx.NodeProto, values: Sequence[Value | None], scope: Scope
) -> list[Value]:
    """The results of the branch that is taken; chosen during the run where that is not known.

    A branch that could not run with the shapes at hand (it is for another chunk length, say) is
    left out: a run that would take it ends with ``MEGCC_ERR_DATA``.
    """
    (condition,) = values
    refuse_several(importer, node, condition, "condition")
    attrs = attributes(node)
    then, other = graphs = [attrs["then_branch"], attrs["else_branch"]]
    if isinstance(condition, np.ndarray):
        return importer.branch(then if bool(condition.reshape(-1)[0]) else other, scope)
    if isinstance(condition, SizeArray) and (squeezed := _squeezes(then, other)):
        # PyTorch's squeeze: only with that dim being 1 do the ranks fit, and Squeeze asks for just
        # that at run time.
        results = importer.branch(then, scope)
        if not results or _asks_for_one(importer, condition, scope.get(squeezed), results[0]):
            return results
        return _only(importer, node, condition, 0, results, "it gives another rank")
    outside = set(importer.variables)
    made = [_possible(importer, node, graph, scope) for graph in graphs]
    if ranks := _lower_ranks(*made):
        made = [_possible(importer, node, graph, scope, ranks) for graph in graphs]
    if importer.missing:
        return []
    reasons = [found for found in made if isinstance(found, IllTypedError)]
    if reasons:
        if len(reasons) == 2:
            raise reasons[0]
        fits = int(made[0] is reasons[0])
        results = importer.branch(graphs[fits], scope)
        return _only(importer, node, condition, fits, results, str(reasons[0]))
    (first, shapes, forms), (second, other_shapes, other_forms) = made  # type: ignore[misc]
    _check_forms(importer.context(node), forms, other_forms)
    for k in range(len(shapes)):
        types = [dtype_of(function, k) for function in (first, second)]
        if types[0] != types[1]:
            raise InputError(
                f"{label(node)}: its result {k} is {types[0]} in one branch and {types[1]} in the"
                " other; correct the model"
            )
    choice = importer.emit(relax.op.reshape(importer.expr(condition), []))
    name = function_name(node)
    result = control_flow.branches(
        importer.builder, importer.functions, name, choice, first, second
    )
    merged = [
        _merged(node, k, *pair, outside)
        for k, pair in enumerate(zip(shapes, other_shapes, strict=True))
    ]
    tensors = [
        with_dims(importer, field, shape, f"{name}_{k}")
        for k, (field, shape) in enumerate(zip(fields_of(result), merged, strict=True))
    ]
    return shaped(tensors, forms)


def _only(
    importer: Importer,
    node: onnx.NodeProto,
    condition: Value,
    number: int,
    results: list[Value],
    why: str,
) -> list[Value]:
    """The results of branch `number`, for runs that take this one; `why` not the other one."""
    warnings.warn(
        f"{label(node)}: a run that takes its {('else', 'then')[number]} branch ends with an error"
        f" ({why})",
        stacklevel=3,
    )
    ctx = importer.context(node)
    taken = ctx.emit(relax.op.reshape(importer.expr(condition), []))
    if number == 1:
        taken = ctx.emit(relax.op.logical_not(taken))
    tensors, forms = flat(node, results)
    return shaped([ctx.checked(importer.expr(value), taken) for value in tensors], forms)


#: A branch as a function, the shapes of its results and what they are; or why it cannot be taken.
_Branch = tuple[relax.Function, list[Shape], list[Form]] | IllTypedError


def _lower_ranks(then: _Branch, other: _Branch) -> dict[int, int]:
    """Number -> the lower rank, of results whose ranks differ."""
    if isinstance(then, IllTypedError) or isinstance(other, IllTypedError):
        return {}
    pairs = enumerate(zip(then[1], other[1], strict=False))
    return {k: min(len(a), len(b)) for k, (a, b) in pairs if len(a) != len(b)}


def _possible(
    importer: Importer,
    node: onnx.NodeProto,
    graph: onnx.GraphProto,
    scope: Scope,
    ranks: Mapping[int, int] | None = None,
) -> _Branch:
    """A branch that may be taken, with these ranks where the graph says that it has them."""
    forms: list[Form] = []

    def results() -> list[Value]:
        tensors, found = flat(node, importer.branch(graph, scope))
        forms.extend(found)
        for k, rank in (ranks or {}).items():
            if len(tensors) == len(graph.output):
                tensors[k] = of_rank(importer, tensors[k], rank, graph.output[k])
        return tensors

    try:
        return *body_function(importer, [], results), forms
    except IllTypedError as err:
        return err


def _check_forms(ctx: Context, then: Sequence[Form], other: Sequence[Form]) -> None:
    """The results of both branches must be as many tensors."""
    for number, (a, b) in enumerate(zip(then, other, strict=True)):
        if a != b:
            raise ctx.unsupported(
                f"'{ctx.outputs[number]}' is {words(a)} in one branch and {words(b)} in the other,"
                " and its condition is computed at run time",
                "make the condition a constant or the branches alike",
            )


def _squeezes(then: onnx.GraphProto, other: onnx.GraphProto) -> str:
    """The value of which one branch removes a dim, and that the other one gives as it is."""
    last = {out: n for g in (then, other) for n in g.node for out in n.output}
    ends = [last.get(g.output[0].name) for g in (then, other) if len(g.output) == 1]
    found = [n for n in ends if n is not None]
    if [n.op_type for n in found] != ["Squeeze", "Identity"]:
        return ""
    return found[0].input[0] if found[0].input[0] == found[1].input[0] else ""


def _asks_for_one(
    importer: Importer, condition: SizeArray, value: Value | None, squeezed: Value
) -> bool:
    """Whether a condition is that a dim of the value which is squeezed away is 1."""
    shapes = [
        importer.shape_of(v) if isinstance(v, relax.Expr) else None for v in (value, squeezed)
    ]
    whole, left = (shape or () for shape in shapes)
    said = condition.flat()[0]
    return any(equal(dim, 1) == said for dim in whole if dim not in left)


def _merged(
    node: onnx.NodeProto, number: int, then: Shape, other: Shape, outside: set[str]
) -> list[Size | None]:
    """The dims of a result; None where only the run shows it."""
    if len(then) != len(other):
        raise UnsupportedError(
            f"{label(node)}: '{node.output[number]}' has {len(then)} dims in one branch and"
            f" {len(other)} in the other, and its condition is computed at run time; fix the"
            " model's dims with --input-shapes or cut the model"
        )
    return [
        a if a == b and is_known(a, outside) else None for a, b in zip(then, other, strict=True)
    ]
