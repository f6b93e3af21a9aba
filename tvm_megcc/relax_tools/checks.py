"""Checks of data during a run: a value that depends on a condition, without which the run ends.

ONNX forbids some data, such as an index outside its axis, that no shape shows. A call that depends
on the condition returns the value: users of the value come after the check, in every order of calls
and in branches and loops. ``lower`` makes it a `core.program.Check`; in ``relax.VirtualMachine`` it
is our function, which raises.

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
    """A check: the value, the condition (one ``bool``), and the node that needs it."""

    value: relax.Expr
    holds: relax.Expr
    node: str


def checked(value: relax.Expr, holds: relax.Expr, node: str) -> relax.Call:
    """Call that gives `value`, or ends the run when `holds` (one ``bool``) is false.

    Parameters
    ----------
    value, holds : relax.Expr
        With known types, as variables have.
    node : str
        The model's node, as messages name it.
    """
    name = tvm.ir.StringImm(node)
    return relax.op.call_pure_packed(CHECKED, value, holds, name, ty_args=value.ty)


def checked_of(expr: relax.Expr) -> Checked | None:
    """The check that an expression of `checked` makes; None for any other expression."""
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
        # A copy: TVM plans memory as if the argument were dead after the call.
        return value.copyto(value.device)

    tvm.register_global_func(CHECKED, run)
