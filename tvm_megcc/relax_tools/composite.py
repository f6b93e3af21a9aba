"""Operators that stay one call until a pass expands them: functions of the module, and calls.

A composite operator is a function whose body is its arithmetic in plain Relax, and whose attribute
says what it is (`operator_of`): a pass may take the call for a kernel of its own, and what is left
is expanded. The arguments are all operands of the node, constants included. The body may have used
what was known of the constants when it was made: who changes them makes another body.

Example
-------
>>> operator_of(mod["QLinearAdd"])                                      # doctest: +SKIP
Operator(domain='com.microsoft', name='QLinearAdd', operands=(0, 1, 2, 3, 4, 5, 6, 7), ...)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import tvm
from tvm import relax

from tvm_megcc.relax_tools.attributes import read, written
from tvm_megcc.relax_tools.control_flow import Functions, captured, closed

ATTRIBUTE = "tvm_megcc.operator"


@dataclass(frozen=True, slots=True)
class Operator:
    """An ONNX operator, which of its operands the arguments are, and the node's attributes."""

    domain: str
    name: str
    operands: tuple[int, ...]
    attributes: Mapping[str, Any]


def operator_of(func: object) -> Operator | None:
    """What a composite function computes; None for any other."""
    found = read(func, ATTRIBUTE)
    return None if found is None else Operator(**{**found, "operands": tuple(found["operands"])})


def call(
    builder: relax.BlockBuilder,
    functions: Functions,
    operator: Operator,
    func: relax.Function,
    operands: Sequence[relax.Expr],
) -> relax.Expr:
    """The result of a composite function, which is added.

    Parameters
    ----------
    builder : relax.BlockBuilder
        Where the call is to be emitted.
    functions : Functions
        Where the function is added.
    operator : Operator
    func : relax.Function
        Its parameters are the operands; it may use variables and symbolic dims of the function that
        is being built.
    operands : sequence of relax.Expr
    """
    around = captured(func)
    made = written(closed(func, around), ATTRIBUTE, asdict(operator))
    callee = functions.add(operator.name, made)
    return builder.normalize(relax.Call(callee, [*operands, *around.arguments]))


def is_call(mod: tvm.IRModule, expr: object) -> bool:
    """Whether an expression calls a composite function of the module."""
    if not isinstance(expr, relax.Call) or not isinstance(expr.op, relax.GlobalVar):
        return False
    return operator_of(mod[expr.op.name_hint]) is not None
