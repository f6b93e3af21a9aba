"""Operators that are imported as one call (`relax_tools.composite`) and expanded by a pass."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from tvm import relax

from tvm_megcc.relax_tools.composite import Operator, call

from .context import Attrs, Context
from .inputs import Inputs
from .operator import OnnxOp, Result


class Composite(OnnxOp):
    """The node is a call of a function of the module whose body `expand` emits.

    Quantised operators are composite, so that a pass can match them to integer kernels.
    """

    @abstractmethod
    def expand(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        """Build the node's outputs, in a function of its own."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        present = tuple(i for i in range(len(inputs)) if inputs.has(i))
        operands = [inputs[i] for i in present]
        params = {i: relax.Var(f"x{i}", v.ty) for i, v in zip(present, operands, strict=True)}
        inner = ctx.inside(relax.BlockBuilder())
        func, results = self._function(inner, inputs.inside(inner, params), attrs, params)
        operator = Operator(self.domain, self.name, present, _plain(attrs))
        found = call(ctx.builder, ctx.functions, operator, func, operands)
        if len(results) == 1:
            return _shaped(ctx, found, results[0])
        found = ctx.emit(found)
        fields = [ctx.emit(relax.TupleGetItem(found, k)) for k in range(len(results))]
        return tuple(_shaped(ctx, f, r) for f, r in zip(fields, results, strict=True))

    def _function(
        self, inner: Context, inputs: Inputs, attrs: Attrs, params: Mapping[int, relax.Var]
    ) -> tuple[relax.Function, list[relax.Expr]]:
        """The function, and the expressions of its results inside of it."""
        error: Exception | None = None
        results: list[relax.Expr] = []
        with inner.builder.function("made", list(params.values())):
            with inner.builder.dataflow():
                try:
                    made = self.expand(inner, inputs, attrs)
                    made = made if isinstance(made, tuple) else (made,)
                    results = [inner.emit(expr) for expr in made]
                    returned = [
                        inner.builder.emit_output(e, inner.functions.unused("gv")) for e in results
                    ]
                except Exception as err:  # raised below: a builder left open prints a warning
                    error, returned = err, []
            inner.builder.emit_func_output(
                returned[0] if len(returned) == 1 else relax.Tuple(returned)
            )
        if error is not None:
            raise error
        return inner.builder.get()["made"], results


def _shaped(ctx: Context, value: relax.Expr, inner: relax.Expr) -> relax.Expr:
    """A result with the dims that it has in the function, where TVM does not see them."""
    if ctx.shape_or_none(value) is not None:
        return value
    return ctx.builder.match_cast(value, ctx.cast_type(inner))


def _plain(attrs: Attrs) -> dict[str, Any]:
    """Attributes as JSON has them; graphs are left out."""
    kept = {}
    for name, value in sorted(attrs.items()):
        items: Sequence[Any] = value if isinstance(value, list) else [value]
        if all(isinstance(item, int | float | str) for item in items):
            kept[name] = value
        elif isinstance(value, np.ndarray):
            kept[name] = value.tolist()
    return kept
