"""Whether a function can be compiled for some sizes of its dims.

Importing a model with sizes checks each of them. Sizes that are put in afterwards may leave a
window no place, or break a cast; and TVM compiles no windows and no means of tensors without
elements. The function with dynamic dims serves such sizes: it has the answer, or ends in a status.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import tvm
from tvm import relax

from tvm_megcc.dims import Size, Symbol, bounds, compare, of
from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.control_flow import called_by
from tvm_megcc.relax_tools.exprs import shape_of
from tvm_megcc.relax_tools.shape_exprs import Symbols, multiples_of, symbols_of

#: Dims by name: a size, or a symbol with its bounds.
Dims = Mapping[str, Symbol | int]

#: Operators that TVM does not compile for tensors without elements.
_WITH_ELEMENTS = ("relax.nn.", "relax.image.", "relax.mean", "relax.variance", "relax.std")


def no_result(func: relax.Function, given: Dims) -> str:
    """Why the function has no result for these sizes of its dims; empty where it may have one."""
    known = _known(func, given)
    for binding in _bindings(func):
        shape = shape_of(binding.var, known) or ()
        for axis, size in enumerate(shape):
            if bounds(size)[1] < 0:
                return f"dim {axis} of '{binding.var.name}' would be {size}"
        if isinstance(binding, relax.MatchCast):
            have = shape_of(binding.value, known) or ()
            for axis, (a, b) in enumerate(zip(have, shape, strict=False)):
                if compare("eq", a, b) == 0:
                    return f"dim {axis} of '{binding.var.name}' is {a} and has to be {b}"
    return ""


def has_own_program(mod: tvm.IRModule, func: relax.Function, given: Dims) -> bool:
    """Whether the function, and what it calls, can be compiled for these sizes of its dims."""
    called = [mod[gvar] for gvar in map(mod.get_global_var, _called(mod, func))]
    return not any(no_result(f, given) or _needs_elements(f, given) for f in (func, *called))


def _called(mod: tvm.IRModule, func: relax.Function) -> list[str]:
    own = {g.name_hint for g in relax.analysis.all_global_vars(func)}
    named = sorted(n for n in own if isinstance(mod[n], relax.Function))
    return [*named, *called_by(mod, named)]


def _needs_elements(func: relax.Function, given: Dims) -> bool:
    known = _known(func, given)
    for binding in _bindings(func):
        name = op_name(binding.value) if isinstance(binding, relax.VarBinding) else ""
        if name and name.startswith(_WITH_ELEMENTS):
            values = [binding.var, *(a for a in binding.value.args if isinstance(a, relax.Var))]
            if any(0 in (shape_of(v, known) or ()) for v in values):
                return True
    return False


def _bindings(func: relax.Function) -> Iterator[relax.Binding]:
    for block in func.body.blocks:
        yield from block.bindings


def _known(func: relax.Function, given: Dims) -> Symbols:
    """The function's dims by name, with these sizes and bounds put in."""
    found: dict[str, Symbol | Size] = {**symbols_of(func), **given}
    for name, multiple in multiples_of(func).items():
        if multiple.of.name in given:
            base = given[multiple.of.name]
            found[name] = (base if isinstance(base, int) else of(base)) * multiple.factor
    return found
