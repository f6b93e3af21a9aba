"""``tvm.compile(mod, target="tvm_megcc")``: TVM's default pipeline, with our regions in it.

TVM takes ``PIPELINE_MAP["default"]`` for every target that is no GPU, so the entry is wrapped: for
a target with our tag the module is partitioned first and its regions are compiled. What is left to
TVM is LLVM's, where it has the machine: TVM's C has no calls of packed functions, such as sorting.
For every other target it is TVM's own pipeline.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm
from tvm import relax, tirx
from tvm.relax.pipeline import PIPELINE_MAP

from tvm_megcc.relax_tools.rewriting import module_pass
from tvm_megcc.target import architecture, is_ours, llvm_target

_MARK = "_tvm_megcc_wraps"


def register() -> None:
    """Wrap the default pipeline, once."""
    inner = PIPELINE_MAP["default"]
    if not hasattr(inner, _MARK):
        PIPELINE_MAP["default"] = _wrapped(inner)


def _wrapped(inner: Callable[..., tvm.ir.transform.Pass]) -> Callable[..., tvm.ir.transform.Pass]:
    def pipeline(**options: Any) -> tvm.ir.transform.Pass:
        rest = inner(**options)

        def run(mod: tvm.IRModule, ctx: tvm.transform.PassContext) -> tvm.IRModule:
            target = tvm.target.Target.current(allow_none=True)
            if target is not None and is_ours(target):
                mod = with_regions(target)(mod)
                return _compiled_by_llvm(rest(mod), architecture(target))
            return rest(mod)

        return tvm.transform.module_pass(run, opt_level=0, name="tvm_megcc.DefaultPipeline")

    setattr(pipeline, _MARK, inner)
    return pipeline


def _compiled_by_llvm(mod: tvm.IRModule, arch: str) -> tvm.IRModule:
    """The module with its TIR functions compiled, as another external module."""
    functions = {g: f for g, f in mod.functions_items() if isinstance(f, tirx.PrimFunc)}
    target = llvm_target(arch)
    if not functions or target is None or not tvm.runtime.enabled("llvm"):
        return mod
    library = tvm.tirx.build(tvm.IRModule(functions), target=target)
    kept = {g: f for g, f in mod.functions_items() if g not in functions}
    attrs = dict(mod.attrs or {})
    attrs["external_mods"] = [*attrs.get("external_mods", []), library]
    return tvm.IRModule(kept, attrs, mod.global_infos)


@module_pass("tvm_megcc.CompileRegions")
def CompileRegions(mod: tvm.IRModule) -> tvm.IRModule:
    """TVM's ``RunCodegen`` for every function that calls a region.

    By itself it looks at ``main`` only, and not at the functions of a dispatched module.
    """
    from tvm_megcc.byoc.regions import is_region

    callers = [
        gvar.name_hint
        for gvar, func in mod.functions_items()
        if isinstance(func, relax.Function)
        and any(is_region(mod[g]) for g in relax.analysis.all_global_vars(func))
    ]
    return relax.transform.RunCodegen(entry_functions=callers)(mod) if callers else mod


def with_regions(arch: Any = None, threads: int | None = None) -> tvm.ir.transform.Pass:
    """A pass that partitions a module and compiles its regions; any pipeline of TVM takes the rest.

    `arch` and `threads` are those of `partition_for_megcc`.
    """
    from tvm_megcc.byoc.partition import PartitionForMegcc

    passes = [PartitionForMegcc(arch, threads), CompileRegions()]
    return tvm.transform.Sequential(passes, name="tvm_megcc.with_regions")
