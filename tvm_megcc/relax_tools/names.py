"""The names of a model's values on their way through the compiler.

Enters: the names that the frontend has given variables, which must be identifiers. Leaves: a
program whose steps and tensors have the model's own names again. On the way they are an attribute
of the module, so that they are there whichever surface compiles it; a variable that a pass makes
has a name of TVM's (``lv7``), which is none of these.

Example
-------
>>> import tvm
>>> names_of(with_names(tvm.IRModule(), {"v_211": "211"}))
{'v_211': '211'}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from tvm_megcc.core.program import Call, Program
from tvm_megcc.relax_tools.attributes import read, written

if TYPE_CHECKING:
    import tvm

ATTRIBUTE = "tvm_megcc.names"

#: What `relax_tools.half` puts before names that TVM gave.
SAID = "said_"
#: Names that TVM gives variables, and `relax_tools.half`: no value of a model is called so.
ANONYMOUS = re.compile(rf"({SAID})?(lv|gv)(_?\d+)?")


def with_names(mod: tvm.IRModule, names: Mapping[str, str]) -> tvm.IRModule:
    """The module with what its variables stand for: variable -> value of the model."""
    return written(mod, ATTRIBUTE, dict(names)) if names else mod


def names_of(mod: tvm.IRModule) -> dict[str, str]:
    """What the variables of a module stand for, where it says so."""
    return read(mod, ATTRIBUTE) or {}


def named(program: Program, names: Mapping[str, str]) -> Program:
    """A program whose steps and tensors have the model's names.

    What computes an output of the model is called like the output.
    """
    ports = {port.tensor: port.name for port in program.outputs}

    def name(old: str, tensor: int | None = None) -> str:
        if tensor in ports and ANONYMOUS.fullmatch(old):
            return ports[tensor]
        return names.get(old, old)

    steps = tuple(
        replace(step, name=name(step.name, _only_output(step)))
        if isinstance(step, Call)
        else replace(step, name=name(step.name))
        for step in program.calls
    )
    return replace(
        program,
        calls=steps,
        tensors=tuple(replace(t, name=name(t.name, k)) for k, t in enumerate(program.tensors)),
        requirements=tuple(replace(r, name=name(r.name)) for r in program.requirements),
    )


def _only_output(call: Call) -> int | None:
    return call.operands[-1] if call.n_outputs == 1 else None
