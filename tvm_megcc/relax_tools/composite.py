"""Composite operators: calls of functions of the module, which a pass expands.

The body is the operator's arithmetic in plain Relax, and an attribute names the operator
(`operator_of`). A pass may replace the call by a kernel of its own; the rest are expanded. The
arguments are all operands of the node, constants included. The body may depend on these constants:
a pass that changes them must make another body.

Example
-------
>>> operator_of(mod["QLinearAdd"])                                      # doctest: +SKIP
Operator(domain='com.microsoft', name='QLinearAdd', operands=(0, 1, 2, 3, 4, 5, 6, 7), ...)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tvm import relax

from tvm_megcc.relax_tools.attributes import read, written
from tvm_megcc.relax_tools.control_flow import Functions, captured, closed

ATTRIBUTE = "tvm_megcc.operator"


@dataclass(frozen=True, slots=True)
class Operator:
    """An ONNX operator, the positions of the arguments among its operands, and its attributes."""

    domain: str
    name: str
    operands: tuple[int, ...]
    attributes: Mapping[str, Any]


def operator_of(func: object) -> Operator | None:
    """Operator that a composite function computes; None for any other function."""
    found = read(func, ATTRIBUTE)
    return None if found is None else Operator(**{**found, "operands": tuple(found["operands"])})


def call(
    builder: relax.BlockBuilder,
    functions: Functions,
    operator: Operator,
    func: relax.Function,
    operands: Sequence[relax.Expr],
) -> relax.Expr:
    """Add a composite function, and call it.

    Parameters
    ----------
    builder : relax.BlockBuilder
        Where the call is to be emitted.
    functions : Functions
        Where the function is added.
    operator : Operator
    func : relax.Function
        Its parameters are the operands; it may use variables and symbolic dims of the function
        being built.
    operands : sequence of relax.Expr
    """
    around = captured(func)
    made = written(closed(func, around), ATTRIBUTE, asdict(operator))
    callee = functions.add(operator.name, made)
    return builder.normalize(relax.Call(callee, [*operands, *around.arguments]))
