"""A region: the function of a module that our compiler takes whole, and how TVM holds it.

TVM's ``RunCodegen`` exports every constant that it sees in a region, and hands over no functions
that a region calls. So a region is sealed: what it computes is a module of its own, an attribute of
a function that has the region's signature and a body that says nothing. Weights are then nowhere
but in that attribute, and in the end in the object file, packed.

Example
-------
>>> inside(mod["main_megcc_0"])["main"]                                  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Mapping

import tvm
from tvm import relax
from tvm.relax.utils import copy_with_new_vars

#: TVM's attribute of a function that a codegen of this name compiles.
CODEGEN = "tvm_megcc"
#: What a sealed region computes: a module with the function ``main`` and all that it calls.
INSIDE = "tvm_megcc.inside"
#: For which machine, and for how many threads at most.
MACHINE, THREADS = "tvm_megcc.machine", "tvm_megcc.threads"


def sealed(name: str, inner: tvm.IRModule, options: Mapping[str, object]) -> relax.Function:
    """The region function `name` around a module whose ``main`` has its signature.

    Parameters
    ----------
    name : str
        The function's name in the module, and the symbol that will be linked.
    inner : IRModule
        Tensors in; a tensor or a tuple of tensors out, whose dims the parameters' dims say.
    options : mapping
        The attributes `MACHINE` and `THREADS`.
    """
    shell = copy_with_new_vars(inner["main"])
    builder = relax.BlockBuilder()
    with builder.function(name, list(shell.params)):
        with builder.dataflow():
            call = relax.op.call_pure_packed(CODEGEN, *shell.params, ty_args=[shell.ret_ty])
            result = builder.emit_output(call)
        builder.emit_func_output(result)
    attrs = {"global_symbol": name, "Codegen": CODEGEN, INSIDE: inner, **options}
    return builder.get()[name].with_attrs(attrs)


def inside(region: relax.Function) -> tvm.IRModule:
    """What a sealed region computes."""
    return region.attrs[INSIDE]


def is_region(func: object) -> bool:
    """Whether a function of a module is a region of ours, sealed or not."""
    attrs = func.attrs if isinstance(func, relax.Function) else None
    return bool(attrs) and attrs.get("Codegen") == CODEGEN
