"""A loop over rows, for converters: one step is a function that the VM repeats.

Enters: values whose first dim counts steps, and states. Leaves: the states after the last step, and
the results of the steps, by rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tvm import relax

from tvm_megcc.relax_tools.control_flow import loop

from .context import Context, expr_dtype

Exprs = list[relax.Expr]

#: (place of the step, its number as ``int64`` of rank 0, states, a row of each value)
#: -> (states, rows of the results)
Step = Callable[[Context, relax.Expr, Exprs, Exprs], tuple[Exprs, Exprs]]


def over_rows(
    ctx: Context,
    name: str,
    wholes: Sequence[relax.Expr],
    states: Sequence[relax.Expr],
    step: Step,
    backwards: bool = False,
) -> tuple[Exprs, Exprs]:
    """The states after all steps, and the results as wholes.

    Parameters
    ----------
    ctx : Context
    name : str
        Name of the loop's functions.
    wholes : sequence of relax.Expr
        ``[steps, ...]``, of equal length, at least one.
    states : sequence of relax.Expr
        They keep their types from step to step.
    step : callable
        It may use values from outside of the loop.
    backwards : bool
        Whether the first step has the last rows.
    """
    steps = ctx.shape(wholes[0])[0]
    params = [relax.Var("step", relax.TensorType((), "int64"))]
    params += [relax.Var(f"state{k}", s.ty) for k, s in enumerate(states)]
    for k, whole in enumerate(wholes):
        ty = relax.TensorType(ctx.prims(ctx.shape(whole)[1:]), expr_dtype(whole))
        params.append(relax.Var(f"row{k}", ty))
    inner = ctx.inside(relax.BlockBuilder())
    with inner.builder.function("made", params):
        with inner.builder.dataflow():
            cut = 1 + len(states)
            after, made = step(inner, params[0], params[1:cut], params[cut:])
            # A parameter that is returned unchanged is a result of the block, too.
            results = [inner.emit_output(e) for e in (*after, *made)]
        inner.builder.emit_func_output(relax.Tuple(results))
    types = [
        relax.TensorType(ctx.prims([steps, *inner.shape(row)]), expr_dtype(row)) for row in made
    ]
    result = loop(
        ctx.builder,
        ctx.functions,
        name,
        inner.builder.get()["made"],
        limit=ctx.emit(relax.op.reshape(ctx.sizes([steps], "int64"), [])),
        condition=None,
        states=states,
        rows=wholes,
        outputs=types,
        backwards=[backwards] * (len(wholes) + len(types)),
    )
    fields = [ctx.emit(relax.TupleGetItem(result, k)) for k in range(len(result.ty.fields))]
    finals = [
        field if field.ty.shape is not None else ctx.builder.match_cast(field, ctx.cast_type(state))
        for field, state in zip(fields, states, strict=False)
    ]
    return finals, fields[len(states) :]
