"""Conditions on data: a value that is used only if a condition holds, else the run ends.

ONNX calls some data an error, an index outside its axis for one, which no shape tells. So the value
is given through a call that depends on the condition: what uses the value comes after the check, in
every order of calls and also in a branch or a loop. ``lower`` makes it a `core.program.Check`;
in ``relax.VirtualMachine`` it is a function of ours that raises.

Example
-------
>>> value = checked(value, holds, "Gather 'rows'")                      # doctest: +SKIP
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import tvm
from tvm import relax

from tvm_megcc.relax_tools.calls import packed_name

#: Name of the function that TVM's VM calls.
CHECKED = "tvm_megcc.checked"


@dataclass(frozen=True, slots=True)
class Checked:
    """What a call checks: the value, the condition (one ``bool``), and the node that wants it."""

    value: relax.Expr
    holds: relax.Expr
    node: str


def checked(value: relax.Expr, holds: relax.Expr, node: str) -> relax.Call:
    """`value`, for a run that ends when `holds` (a ``bool`` tensor of one element) is false.

    Parameters
    ----------
    value, holds : relax.Expr
        With their types, as a variable has one.
    node : str
        How messages call the model's node.
    """
    name = tvm.ir.StringImm(node)
    return relax.op.call_pure_packed(CHECKED, value, holds, name, ty_args=value.ty)


def checked_of(expr: relax.Expr) -> Checked | None:
    """What an expression checks; None for any other than a call that `checked` makes."""
    if packed_name(expr) != CHECKED:
        return None
    _, value, holds, node = expr.args
    return Checked(value, holds, str(node.value))


@cache
def register() -> None:
    """Make the function known to TVM, for modules that run in ``relax.VirtualMachine``."""

    def run(value: Any, holds: Any, node: str) -> Any:
        if not bool(holds.numpy().all()):
            raise RuntimeError(f"{node}: a size or an index that data says is out of range")
        # A copy: TVM plans memory as if the argument were dead behind the call.
        return value.copyto(value.device)

    tvm.register_global_func(CHECKED, run)
