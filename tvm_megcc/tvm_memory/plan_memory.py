"""PlanMemory: one arena per device where TVM's ``StaticPlanBlockMemory`` shares whole storages.

Enters: a module after ``CallTIRRewrite``. Leaves: its tensors at planned offsets of one
``R.memory.alloc_storage`` at the top of the function, and PrimFuncs that accept such offsets.

    alloc = R.builtin.alloc_tensor(R.shape([4, 8]), ...)    storage = R.memory.alloc_storage(R.shape([256]), ...)
    cls.exp(x, alloc)                                   ->  alloc = R.memory.alloc_tensor(storage, 0, R.shape([4, 8]), ...)
    alloc1 = R.builtin.alloc_tensor(R.shape([4, 8]), ...)   cls.exp(x, alloc)
                                                            alloc1 = R.memory.alloc_tensor(storage, 128, ...)

Where a user of a tensor wants offset zero (an extern function, the VM itself), the offset is
folded into the pointer by ``ensure_zero_offset`` if the device can do that without a copy, else
the tensor shares a whole storage with others. A function that ``StaticPlanBlockMemory`` serves
with fewer bytes is left to it, and so is what cannot be planned: returned values, unbounded
results, textures.

Example
-------
>>> from tvm.relax.backend.cpu_generic import pipeline as cpu
>>> passes = [PlanMemory(), *cpu.finalize_passes(target)[1:]]  # doctest: +SKIP
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Iterable

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.relax.expr_functor import PyExprMutator, mutator

from tvm_megcc.relax_tools.rewriting import module_pass
from tvm_megcc.tvm_memory.allocated import allocated, mixes_devices
from tvm_megcc.tvm_memory.in_place import share_dying_inputs
from tvm_megcc.tvm_memory.liveness import Allocation, allocations
from tvm_megcc.tvm_memory.offsets import bear_offsets, called_by_kernels
from tvm_megcc.tvm_memory.place import Placed, Storage, place

#: Devices (by target kind) on which ``ensure_zero_offset`` moves a pointer instead of bytes.
_POINTER_DEVICES = {"llvm", "c", "tvm_megcc", "cuda", "rocm"}


@module_pass("tvm_megcc.PlanMemory")
def PlanMemory(mod: tvm.IRModule) -> tvm.IRModule:
    """Plan the memory of every Relax function; stands where ``StaticPlanBlockMemory`` stood.

    Results are the same, bytes never more than with ``StaticPlanBlockMemory``.
    """
    stock = relax.transform.StaticPlanBlockMemory()
    sharing = share_dying_inputs(mod)
    planner = _Planner(sharing)
    chosen = {gvar.name_hint: func for gvar, func in stock(mod).functions_items()}
    planned = set()
    for gvar, func in stock(planner.functions()).functions_items():
        if isinstance(func, relax.Function):
            theirs = chosen[gvar.name_hint]
            if mixes_devices(theirs) or allocated(func).at_most(allocated(theirs)):
                chosen[gvar.name_hint] = func
                planned.add(gvar.name_hint)
    shifted = {name for caller in planned for name in planner.shifted.get(caller, ())}
    kernels = {name: planner.bearing[name] for name in shifted}
    return _assemble(mod, sharing, {**chosen, **kernels})


def _assemble(
    mod: tvm.IRModule,
    sharing: tvm.IRModule,
    chosen: dict[str, relax.Function | tirx.PrimFunc],
) -> tvm.IRModule:
    """`sharing` with the chosen functions, without kernels that have lost their callers."""
    functions = {g: chosen.get(g.name_hint, f) for g, f in sharing.functions_items()}
    used = _referenced(functions.values())
    before = _referenced(f for _, f in mod.functions_items())
    for gvar, func in list(functions.items()):
        name = gvar.name_hint
        replaced = name in before and "global_symbol" not in func.attrs
        if isinstance(func, tirx.PrimFunc) and name not in used:
            if replaced or name not in mod.global_var_map_:
                del functions[gvar]
    return tvm.IRModule(functions, attrs=mod.attrs, global_infos=mod.global_infos)


def _referenced(functions: Iterable[relax.Function | tirx.PrimFunc]) -> set[str]:
    found: set[str] = set()
    for func in functions:
        tvm_ffi.structural_walk(func.body, (relax.GlobalVar, lambda g: found.add(g.name_hint)))
    return found


class _Planner:
    """Plans the Relax functions of a module.

    ``shifted[f]`` are the PrimFuncs to which function ``f`` gives tensors at offsets; `bearing` has
    them in a form that accepts these.
    """

    def __init__(self, mod: tvm.IRModule) -> None:
        self.mod = mod
        self.shifted: dict[str, set[str]] = {}
        self.bearing: dict[str, tirx.PrimFunc | None] = {}
        self.pointers = called_by_kernels(mod)

    def functions(self) -> tvm.IRModule:
        mod = tvm.IRModule(
            self.mod.functions, attrs=self.mod.attrs, global_infos=self.mod.global_infos
        )
        for gvar, func in self.mod.functions_items():
            if isinstance(func, relax.Function) and isinstance(func.body, relax.SeqExpr):
                mod.update_func(gvar, self._plan(gvar.name_hint, func))
        return mod

    def _plan(self, name: str, func: relax.Function) -> relax.Function:
        found = allocations(self.mod, func)
        if not found:
            return func
        placed = place(found, self._bears, self._may_rebase)
        self.shifted[name] = set()
        for a, p in zip(found, placed, strict=True):
            if p.offset and not p.rebased:
                self.shifted[name] |= a.consumers
        rewriter = _Rewriter(self.mod, dict(zip((a.var for a in found), placed, strict=True)))
        return rewriter.visit_expr(func)

    def _bears(self, a: Allocation) -> bool:
        return not a.rigid and all(self._kernel_bears(name) for name in a.consumers)

    def _kernel_bears(self, name: str) -> bool:
        if name not in self.bearing:
            func = None if name in self.pointers else bear_offsets(self.mod[name])
            self.bearing[name] = func
        return self.bearing[name] is not None

    def _may_rebase(self, a: Allocation) -> bool:
        devices = self.mod.global_infos.get("vdevice", ())
        if 0 <= a.device < len(devices):
            target = devices[a.device].target
        else:
            target = tvm.target.Target.current(allow_none=True)
        return target is not None and target.kind.name in _POINTER_DEVICES


@mutator
class _Rewriter(PyExprMutator):
    """Replaces planned allocations; storages of known size stand at the top of the function."""

    def __init__(self, mod: tvm.IRModule, placed: dict[relax.Var, Placed]) -> None:
        super().__init__(mod)
        self.placed = placed
        self.variables: dict[int, relax.Var] = {}
        self.at_top = True

    def visit_binding_block_(self, block: relax.BindingBlock) -> relax.BindingBlock:
        self.builder_._begin_binding_block()
        return self._fill(block)

    def visit_dataflow_block_(self, block: relax.DataflowBlock) -> relax.DataflowBlock:
        self.builder_._begin_dataflow_block()
        return self._fill(block)

    def _fill(self, block: relax.BindingBlock) -> relax.BindingBlock:
        if self.at_top:
            self.at_top = False
            for p in self.placed.values():
                if isinstance(p.storage.size, int):
                    self._storage(p.storage)
        for binding in block.bindings:
            self.visit_binding(binding)
        return self.builder_._end_block()

    def visit_var_binding_(self, binding: relax.VarBinding) -> None:
        p = self.placed.get(binding.var)
        if p is None:
            super().visit_var_binding_(binding)
            return
        shape, dtype, device, _ = binding.value.args
        name = binding.var.name
        storage, offset = self._storage(p.storage), relax.prim_value(p.offset)
        tensor = relax.op.memory.alloc_tensor(storage, offset, shape, dtype, device)
        var = self.builder_.emit(tensor, name)
        if p.rebased:
            var = self.builder_.emit(relax.op.memory.ensure_zero_offset(var), name)
        self.set_var_remap(binding.var, var)

    def _storage(self, storage: Storage) -> relax.Var:
        if id(storage) not in self.variables:
            call = relax.op.memory.alloc_storage(
                relax.ShapeExpr([storage.size]), storage.device, storage.scope, "uint8"
            )
            self.variables[id(storage)] = self.builder_.emit(call, "storage")
        return self.variables[id(storage)]
