"""A region: the function of a module that our compiler takes whole, and how TVM holds it.

TVM's ``RunCodegen`` exports every constant that it sees in a region, and hands over no functions
that a region calls. So a region is sealed: what it computes, a module of its own, is in an
attribute of a function that has the region's signature and a body that says nothing. Weights are
then nowhere but there, and in the end in the object file, packed.

Example
-------
>>> inside(mod["main_megcc_0"])["main"]                                  # doctest: +SKIP
"""

from __future__ import annotations

import tvm
import tvm_ffi
from tvm import relax
from tvm.relax.utils import copy_with_new_vars
from tvm_ffi.dataclasses import py_class

#: TVM's attribute of a function that a codegen of this name compiles.
CODEGEN = "tvm_megcc"
#: The attribute of a sealed region: its `Region`.
REGION = "tvm_megcc.region_inside"


@py_class("tvm_megcc.Region")
class Region(tvm_ffi.Object):
    """A module to compile as one region, and for which machine."""

    module: tvm.IRModule  # the function ``main`` and all that it calls
    machine: str  # one of `tvm_megcc.core.machine`
    threads: int  # at most: its memory is planned for them


def sealed(name: str, region: Region) -> relax.Function:
    """The function `name`, a symbol that will be linked, with a region's signature.

    Tensors in; a tensor or a tuple of tensors out, whose dims follow from the parameters' dims.
    """
    shell = copy_with_new_vars(region.module["main"])
    builder = relax.BlockBuilder()
    with builder.function(name, list(shell.params)):
        with builder.dataflow():
            call = relax.op.call_pure_packed(CODEGEN, *shell.params, ty_args=[shell.ret_ty])
            result = builder.emit_output(call)
        builder.emit_func_output(result)
    attrs = {"global_symbol": name, "Codegen": CODEGEN, REGION: region}
    return builder.get()[name].with_attrs(attrs)


def inside(region: relax.Function) -> tvm.IRModule:
    """The module of a sealed region, with the function ``main``."""
    return region.attrs[REGION].module


def is_region(func: object) -> bool:
    """Whether a function of a module is a region of ours, sealed or not."""
    if not isinstance(func, relax.Function) or not func.attrs:
        return False
    return bool(func.attrs.get("Codegen") == CODEGEN)
