"""Branches and loops in Relax, as functions that call others.

Relax has no loop, and an ``If`` cannot stand in a dataflow block. So each branch and each body is a
function. The model calls a function that holds the ``If``, or one that calls itself for the next
iteration, so that the module runs in ``relax.VirtualMachine``. An attribute of that function tells
its meaning (`region_of`): ``lower`` reads the attribute, and passes skip the function
(`plain_functions`).

Example
-------
>>> region_of(mod["if_0"])                                              # doctest: +SKIP
Branches(then='if_0_then', other='if_0_else')
"""

from __future__ import annotations

from tvm_megcc.relax_tools.control_flow.callees import called_by, taken_out, with_own_callees
from tvm_megcc.relax_tools.control_flow.closures import Captured, captured, closed
from tvm_megcc.relax_tools.control_flow.conditionals import branches
from tvm_megcc.relax_tools.control_flow.repeating import loop, repeated
from tvm_megcc.relax_tools.control_flow.roles import (
    Branches,
    Functions,
    Iterations,
    Region,
    plain_functions,
    region_of,
    with_region,
)

__all__ = [
    "Branches",
    "Captured",
    "Functions",
    "Iterations",
    "Region",
    "branches",
    "called_by",
    "captured",
    "closed",
    "loop",
    "plain_functions",
    "region_of",
    "repeated",
    "taken_out",
    "with_own_callees",
    "with_region",
]
