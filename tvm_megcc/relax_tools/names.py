"""Names of a model's values on their way through the compiler.

Enters: the names that the frontend has given variables, which must be identifiers. Leaves: a
program whose steps and tensors have the model's own names again. On the way they are an attribute
of the module, for every surface that compiles it. Variables that a pass makes have names of TVM's
(``lv7``).

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

from tvm_megcc.core.program import Call, Program, Step
from tvm_megcc.relax_tools.attributes import read, written

if TYPE_CHECKING:
    import tvm

ATTRIBUTE = "tvm_megcc.names"

#: Prefix that `relax_tools.half` puts before names of TVM.
SAID = "said_"
#: Names of variables from TVM and `relax_tools.half`, which are no names of the model.
ANONYMOUS = re.compile(rf"({SAID})?(lv|gv)(_?\d+)?")


def with_names(mod: tvm.IRModule, names: Mapping[str, str]) -> tvm.IRModule:
    """Note in the module the value of the model behind each variable's name."""
    return written(mod, ATTRIBUTE, dict(names)) if names else mod


def names_of(mod: tvm.IRModule) -> dict[str, str]:
    """Variable's name -> name of a value of the model, as `with_names` noted it."""
    return read(mod, ATTRIBUTE) or {}


def named(program: Program, names: Mapping[str, str]) -> Program:
    """Give steps and tensors of a program the model's names.

    A step that computes an output of the model gets the output's name.
    """
    ports = {port.tensor: port.name for port in program.outputs}

    def name(old: str, tensor: int | None = None) -> str:
        if tensor in ports and ANONYMOUS.fullmatch(old):
            return ports[tensor]
        return names.get(old, old)

    def output_of(step: Step) -> int | None:
        return step.operands[-1] if isinstance(step, Call) and step.n_outputs == 1 else None

    steps = tuple(replace(s, name=name(s.name, output_of(s))) for s in program.calls)
    return replace(
        program,
        calls=steps,
        tensors=tuple(replace(t, name=name(t.name, k)) for k, t in enumerate(program.tensors)),
        requirements=tuple(replace(r, name=name(r.name)) for r in program.requirements),
    )
