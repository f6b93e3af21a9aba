"""Kernels that write their result over an input nobody reads again.

Enters: a module after ``CallTIRRewrite``. Leaves: the same with some calls ``f(x, y, out)`` turned
into ``f_in_place(x, y)``, where the new PrimFunc has `out` replaced by one of its inputs, and the
variable of `out` bound to that input. One buffer stands for both, so ``tirx.noalias`` stays true.

An input may be overwritten when the kernel reads it only before it writes the result, or reads for
each element of the result that same element; and when no other value lives in the input's bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import TensorLoad
from tvm.relax.expr_functor import PyExprMutator, mutator
from tvm.s_tir import SBlock, SBlockRealize

from tvm_megcc.tvm_memory.buffer_uses import BufferUses
from tvm_megcc.tvm_memory.liveness import KernelCall, Liveness, Root, analyse

#: ``IterVar.iter_type`` of an iteration that is independent of all others.
_DATA_PARALLEL = 0


def share_dying_inputs(mod: tvm.IRModule) -> tvm.IRModule:
    """Put results of kernels in the memory of inputs wherever that is safe."""
    rewriter = _Rewriter(mod)
    for gvar, func in mod.functions_items():
        if isinstance(func, relax.Function):
            rewriter.chosen = _choose(mod, func, rewriter.pairs)
            if rewriter.chosen:
                rewriter.builder_.update_func(gvar, rewriter.visit_expr(func))
    return rewriter.builder_.get()


def in_place_pairs(func: tirx.PrimFunc) -> list[tuple[int, int]]:
    """Positions (input, output) of parameters of `func` that may be one buffer."""
    buffers = [
        (i, p)
        for i, p in enumerate(func.params)
        if isinstance(p.ty, tirx.BufferType) and not p.strides and _plain(p)
    ]
    root = _root_block(func.body)
    if root is None:
        return []
    body = list(root.body.seq) if isinstance(root.body, tirx.SeqStmt) else [root.body]
    uses = [BufferUses(stage) for stage in body]
    if not all(u.only_indexed() for u in uses):
        return []
    found = []
    for j, out in buffers:
        writes = [n for n, u in enumerate(uses) if out in u.stored]
        if len(writes) != 1 or any(out in u.loaded for u in uses[: writes[0]]):
            continue
        for i, source in buffers:
            if any(source in u.stored for u in uses) or not _same_layout(source, out):
                continue
            if any(source in u.loaded for u in uses[writes[0] + 1 :]):
                continue
            last = uses[writes[0]]
            if source not in last.loaded or _is_elementwise(body[writes[0]], source, out):
                found.append((i, j))
    return found


def _plain(buffer: tirx.Buffer) -> bool:
    offset = buffer.elem_offset
    return buffer.scope() in ("", "global") and isinstance(offset, tirx.IntImm) and int(offset) == 0


def _same_layout(a: tirx.Buffer, b: tirx.Buffer) -> bool:
    return a.ty.dtype == b.ty.dtype and tvm_ffi.structural_equal(
        list(a.shape), list(b.shape), map_free_vars=False
    )


def _root_block(body: tirx.Stmt) -> SBlock | None:
    if isinstance(body, SBlockRealize) and not body.iter_values and not body.block.match_buffers:
        return body.block
    return None


def _is_elementwise(stage: tirx.Stmt, source: tirx.Buffer, out: tirx.Buffer) -> bool:
    """Whether `stage` stores each element once, and loads only the same element of `source`."""
    loops: list[tirx.Var] = []
    while isinstance(stage, tirx.For):
        if not _is_one(stage.extent):
            loops.append(stage.loop_var)
        stage = stage.body
    if not isinstance(stage, SBlockRealize) or not _is_one(stage.predicate):
        return False
    block = stage.block
    if block.init is not None or not isinstance(block.body, tirx.BufferStore):
        return False
    driven = {}
    for axis, value in zip(block.iter_vars, stage.iter_values, strict=True):
        if int(axis.iter_type) == _DATA_PARALLEL and isinstance(value, tirx.Var):
            driven[axis.var] = value
    wide = [n for n, extent in enumerate(out.shape) if not _is_one(extent)]
    at = list(block.body.indices)
    axes = [at[n] for n in wide]
    if not all(isinstance(a, tirx.Var) and a in driven for a in axes):
        return False
    # Every loop moves exactly one dim of the result: no element is stored twice.
    if len({driven[a] for a in axes}) != len(axes) or {driven[a] for a in axes} != set(loops):
        return False
    loads = [n for n in _loads(block.body) if n.source.same_as(source)]
    if any(n.source.same_as(out) for n in _loads(block.body)):
        return False
    return all(n.indices[d].same_as(at[d]) for n in loads for d in wide)


def _loads(stage: tirx.Stmt) -> list[TensorLoad]:
    found: list[TensorLoad] = []
    tvm_ffi.structural_walk(stage, (TensorLoad, lambda node: found.append(node)))
    return found


def _is_one(expr: tirx.PrimExpr) -> bool:
    return isinstance(expr, tirx.IntImm) and int(expr) == 1


@dataclass(frozen=True, slots=True)
class _Sharing:
    """In `call`, the result (argument `j`) takes the place of input `i`."""

    call: relax.Call
    i: int
    j: int


def _choose(
    mod: tvm.IRModule, func: relax.Function, pairs: dict[str, list[tuple[int, int]]]
) -> dict[relax.Var, _Sharing]:
    """Variables of results that take the place of an input -> their sharing."""
    live = analyse(mod, func)
    chosen = {}
    for kernel in live.calls:
        if kernel.name not in pairs:
            pairs[kernel.name] = in_place_pairs(mod[kernel.name])
        for i, j in pairs[kernel.name]:
            if _is_safe(live, kernel, i, j):
                chosen[kernel.call.args[j]] = _Sharing(kernel.call, i, j)
                break
    return chosen


def _is_safe(live: Liveness, kernel: KernelCall, i: int, j: int) -> bool:
    """Whether input `i` dies in this call, result `j` begins there, and neither has an alias."""
    source, out = kernel.call.args[i], kernel.call.args[j]
    if not (isinstance(source, relax.Var) and isinstance(out, relax.Var)):
        return False
    if not tvm_ffi.structural_equal(source.ty.shape, out.ty.shape):
        return False
    # What merely may be an allocation may be somebody else's tensor as well.
    dying, fresh = live.owners.get(source), live.owners.get(out)
    if dying is None or fresh is None or dying is fresh or not fresh.var.same_as(out):
        return False
    if dying.escaped or fresh.escaped:
        return False
    if (dying.device, dying.scope) != (fresh.device, fresh.scope) or not _same(dying, fresh):
        return False
    others = [a for n, a in enumerate(kernel.call.args) if n not in (i, j)]
    if any(root in (dying, fresh) for a in others for root in live.may_be(a)):
        return False
    ends = max(dying.touched) == kernel.step == min(fresh.touched)
    return ends and live.bound_at[source] < fresh.step


def _same(a: Root, b: Root) -> bool:
    if isinstance(a.size, int) and isinstance(b.size, int):
        return a.size == b.size
    return not isinstance(a.size, int) and tvm_ffi.structural_equal(a.size, b.size)


@mutator
class _Rewriter(PyExprMutator):
    def __init__(self, mod: tvm.IRModule) -> None:
        super().__init__(mod)
        self.mod = mod
        self.pairs: dict[str, list[tuple[int, int]]] = {}
        self.chosen: dict[relax.Var, _Sharing] = {}
        self.variants: dict[tuple[str, int, int], relax.GlobalVar] = {}

    def visit_var_binding_(self, binding: relax.VarBinding) -> None:
        sharing = self.chosen.get(binding.var)
        if sharing is None:
            super().visit_var_binding_(binding)
        else:
            source = self.visit_expr(sharing.call.args[sharing.i])
            self.set_var_remap(binding.var, source)

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        if isinstance(call.op, relax.GlobalVar):
            for j, arg in enumerate(call.args):
                sharing = self.chosen.get(arg) if isinstance(arg, relax.Var) else None
                if sharing is not None and sharing.j == j and sharing.call.same_as(call):
                    kernel = self._variant(call.op, sharing.i, j)
                    rest = [a for n, a in enumerate(call.args) if n != j]
                    return relax.Call(
                        kernel, [self.visit_expr(a) for a in rest], call.attrs, call.ty_args
                    )
        return self.visit_expr_post_order(call)

    def _variant(self, gvar: relax.GlobalVar, i: int, j: int) -> relax.GlobalVar:
        key = (gvar.name_hint, i, j)
        if key not in self.variants:
            func = in_place(self.mod[gvar], i, j)
            self.variants[key] = self.builder_.add_func(func, f"{gvar.name_hint}_in_place")
        return self.variants[key]


def in_place(func: tirx.PrimFunc, i: int, j: int) -> tirx.PrimFunc:
    """`func` without parameter `j`, whose bytes are those of parameter `i`."""
    source, out = func.params[i], func.params[j]

    def replace(var: tvm.ir.Var) -> tvm.ir.Var:
        return source if var.same_as(out) else var

    body = tvm_ffi.structural_map(func.body, (tvm.ir.Var, replace), order="post")
    params = [p for n, p in enumerate(func.params) if n != j]
    shared = tirx.PrimFunc(params, body, func.ret_type, func.attrs, func.span)
    return shared.without_attr("global_symbol") if "global_symbol" in shared.attrs else shared
