"""FuseKernels: group what one hand-written kernel computes into a composite function.

Before: ``conv2d``, ``add``, ``nn.relu``. After: a call to a private function with attribute
``Composite = "tvm_megcc.conv2d.bias_relu"`` that holds the three. Only groups for which the
registry has a kernel are made; everything else is left for TVM's own fusion.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import tvm
from tvm import relax
from tvm.relax.transform import FusionPattern, PatternCheckContext

from tvm_megcc.kernels import catalogue, registry
from tvm_megcc.kernels.request import Request, Row
from tvm_megcc.passes.channels_last import BROADCAST, UNARY

COMPOSITE_PREFIX = "tvm_megcc."
#: Attribute of a composite function: the name of the value that it computes.
NAME_ATTR = "tvm_megcc.name"


@tvm.transform.module_pass(opt_level=0, name="tvm_megcc.FuseKernels")
class FuseKernels:
    """Partition the dataflow blocks of every function into composite functions.

    Operators with their epilogues are grouped first; then elementwise operators, where the group is
    the whole chain (a longer chain is one TIR function, which passes over memory once).

    Parameters
    ----------
    arch : str
        Architecture whose kernels count (``portable``, ``arm64``, ``armv7``, ``x86``).
    """

    def __init__(self, arch: str) -> None:
        self.arch = arch

    def transform_module(self, mod: tvm.IRModule, ctx: tvm.transform.PassContext) -> tvm.IRModule:
        rows = catalogue.rows().values()
        mod = self._partition(mod, (r for r in rows if not r.chain), lambda row, call: True)
        lengths = _chain_lengths(mod)
        whole = lambda row, call: lengths.get(call) == row.chain  # noqa: E731
        return self._partition(mod, (r for r in rows if r.chain), whole)

    def _partition(
        self, mod: tvm.IRModule, rows: Iterable[Row], wanted: Callable[[Row, relax.Call], bool]
    ) -> tvm.IRModule:
        present = {call.op.name for call, _ in _bound_calls(mod)}

        def check(row: Row) -> Callable[[PatternCheckContext], bool]:
            def accepts(context: PatternCheckContext) -> bool:
                request = row.request(context.annotated_expr)
                if request is None or not wanted(row, context.matched_expr):
                    return False
                if _escapes(context) or _reads_itself(request, context):
                    return False
                return registry.find(request.op, self.arch, request.facts) is not None

            return accepts

        names = {call: var.name for call, var in _bound_calls(mod)}

        def named(parts: Mapping[str, relax.Expr]) -> dict[str, str]:
            """TVM's fusion renames values; the name of the model's node is kept aside."""
            return {NAME_ATTR: names.get(parts["root"], "")}

        patterns = [
            FusionPattern(
                COMPOSITE_PREFIX + row.name, row.pattern, {**row.parts, "root": row.pattern},
                check(row), named,
            )
            for row in rows
            if row.anchors <= present
        ]  # fmt: skip
        return relax.transform.FuseOpsByPattern(patterns, bind_constants=True)(mod)


def _escapes(context: PatternCheckContext) -> bool:
    """Whether a value inside the match is used outside of it (a kernel has one result)."""
    bindings = context.matched_bindings
    result = context.value_to_bound_var[context.matched_expr]
    return any(
        not isinstance(var, relax.DataflowVar)
        or any(user not in bindings for user in context.var_usages[var])
        for var in bindings
        if var != result
    )


def _reads_itself(request: Request, context: PatternCheckContext) -> bool:
    """Whether an operand is computed inside the match, as in ``y + y`` taken for a residual add."""
    inside = [*context.matched_bindings.keys(), *context.matched_bindings.values()]
    return any(
        isinstance(operand, relax.Expr) and any(operand.same_as(e) for e in inside)
        for operand in request.operands
    )


def _bound_calls(mod: tvm.IRModule) -> list[tuple[relax.Call, relax.Var]]:
    """Calls of operators outside composite functions, with the variables they are bound to."""
    return [
        (value, var)
        for func in mod.functions.values()
        if isinstance(func, relax.Function) and not (func.attrs and "Composite" in func.attrs)
        for var, value in relax.analysis.get_var2val(func).items()
        if isinstance(value, relax.Call) and isinstance(value.op, tvm.ir.Op)
    ]


def _chain_lengths(mod: tvm.IRModule) -> dict[relax.Call, int]:
    """Each elementwise call -> number of calls in its chain, the chain being those that touch."""
    length: dict[relax.Call, int] = {}
    for func in mod.functions.values():
        if not isinstance(func, relax.Function) or (func.attrs and "Composite" in func.attrs):
            continue
        values = relax.analysis.get_var2val(func)
        calls = {v: c for v, c in values.items() if _is_elementwise(c)}
        root = {v: v for v in calls}

        def find(var: relax.Var, root: dict[relax.Var, relax.Var] = root) -> relax.Var:
            while root[var] != var:
                root[var] = var = root[root[var]]
            return var

        for var, call in calls.items():
            for arg in call.args:
                if isinstance(arg, relax.Var) and arg in calls:
                    root[find(arg)] = find(var)
        sizes = Counter(find(v) for v in calls)
        length.update({c: sizes[find(v)] for v, c in calls.items()})
    return length


def _is_elementwise(expr: relax.Expr) -> bool:
    if not isinstance(expr, relax.Call) or not isinstance(expr.op, tvm.ir.Op):
        return False
    return expr.op.name in UNARY or expr.op.name in BROADCAST
