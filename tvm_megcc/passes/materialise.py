"""MaterialiseKernels: bind every composite function to a kernel symbol.

Before: ``y = fused_conv2d_add_relu(x)`` with ``Composite = "tvm_megcc.conv2d.bias_relu"``. After:
``y = R.call_dps_packed("megcc_conv2d_...", (x, packed, bias, R.shape(attrs), R.shape([work,
workspace])), ...)``. The constants are packed for the kernel that was chosen. The module attribute
``tvm_megcc.kernels`` maps each symbol to its template and macros, so that the module alone says
what to emit; 32-bit attributes are written as unsigned numbers, as a Relax shape holds no others.
"""

from __future__ import annotations

import json

import numpy as np
import tvm
from tvm import relax
from tvm.ir import GenericConst
from tvm.relax.expr_functor import PyExprMutator, mutator

from tvm_megcc.kernels import catalogue, packing, registry
from tvm_megcc.kernels.request import Request, make_constant
from tvm_megcc.passes.fuse import COMPOSITE_PREFIX, NAME_ATTR
from tvm_megcc.program import Kernel

KERNELS_ATTR = "tvm_megcc.kernels"


@tvm.transform.module_pass(opt_level=0, name="tvm_megcc.MaterialiseKernels")
class MaterialiseKernels:
    """Replace calls of composite functions by calls of kernel symbols, and drop those functions.

    Parameters
    ----------
    arch : str
        The architecture that `FuseKernels` was given.
    """

    def __init__(self, arch: str) -> None:
        self.arch = arch

    def transform_module(self, mod: tvm.IRModule, ctx: tvm.transform.PassContext) -> tvm.IRModule:
        rewriter = _Materialiser(mod, self.arch)
        for gvar, func in mod.functions_items():
            if isinstance(func, relax.Function) and not _composite(func):
                rewriter.builder_.update_func(gvar, rewriter.visit_expr(func))
        result = relax.transform.DeadCodeElimination()(rewriter.builder_.get())
        return result.with_attr(KERNELS_ATTR, kernels_to_json(rewriter.kernels))


def _composite(func: relax.Function) -> str:
    name = str(func.attrs.get("Composite", "")) if func.attrs else ""
    return name[len(COMPOSITE_PREFIX) :] if name.startswith(COMPOSITE_PREFIX) else ""


@mutator
class _Materialiser(PyExprMutator):
    def __init__(self, mod: tvm.IRModule, arch: str) -> None:
        super().__init__(mod)
        self.mod = mod
        self.arch = arch
        self.kernels: dict[str, Kernel] = {}

    def visit_var_binding_(self, binding: relax.VarBinding) -> None:
        call = binding.value
        func = self._composite_function(call)
        name = str(func.attrs[NAME_ATTR]) if func is not None else ""
        if not name or not isinstance(binding.var, relax.DataflowVar):
            super().visit_var_binding_(binding)
            return
        self.set_var_remap(binding.var, self.builder_.emit(self.visit_expr(call), name_hint=name))

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        call = self.visit_expr_post_order(call)
        func = self._composite_function(call)
        return call if func is None else self._kernel_call(call, _request(func))

    def _composite_function(self, call: relax.Expr) -> relax.Function | None:
        if not isinstance(call, relax.Call) or not isinstance(call.op, relax.GlobalVar):
            return None
        func = self.mod[call.op]
        return func if isinstance(func, relax.Function) and _composite(func) else None

    def _kernel_call(self, call: relax.Call, request: tuple[Request, relax.Function]) -> relax.Expr:
        wanted, func = request
        chosen = registry.select(wanted.op, self.arch, wanted.facts)
        kernel = chosen.instance(wanted.facts)
        self.kernels[kernel.symbol] = kernel
        arguments = {p: a for p, a in zip(func.params, call.args, strict=True)}
        packers = dict(chosen.pack)
        operands = []
        for index, operand in enumerate(wanted.operands):
            if isinstance(operand, GenericConst):
                operand = operand.value.numpy()
            if isinstance(operand, np.ndarray):
                if index in packers:
                    operand = _pack(packers[index], operand, wanted)
                operands.append(make_constant(operand))
            else:
                operands.append(arguments[operand])
        attrs = [a & 0xFFFFFFFF for a in chosen.attrs(wanted.facts)]
        extent = [chosen.work(wanted.facts), chosen.workspace(wanted.facts)]
        operands += [relax.ShapeExpr(attrs), relax.ShapeExpr(extent)]
        return relax.op.call_dps_packed(kernel.symbol, operands, call.ty)


def _pack(how: registry.Packing, array: np.ndarray, wanted: Request) -> np.ndarray:
    packer = getattr(packing, how.name)
    return np.ascontiguousarray(packer(array, wanted.facts, **dict(how.options)))


def _request(func: relax.Function) -> tuple[Request, relax.Function]:
    row = catalogue.rows()[_composite(func)]
    bindings = relax.analysis.get_var2val(func)
    root = bindings[func.body.body]
    matched = row.pattern.extract_matched_expr(root, bindings)
    assert matched is not None, f"{row.name} no longer matches its own composite function"
    parts = {name: matched[pattern] for name, pattern in row.parts.items()}
    request = row.request({**parts, "root": root})
    assert request is not None, f"{row.name} declines what it accepted"
    return request, func


def kernels_to_json(kernels: dict[str, Kernel]) -> str:
    rows = {
        s: {"template": k.template, "defines": k.defines, "inplace": k.inplace}
        for s, k in kernels.items()
    }
    return json.dumps(rows, sort_keys=True)


def kernels_from_module(mod: tvm.IRModule) -> dict[str, Kernel]:
    """Symbol -> kernel, from the module attribute that `MaterialiseKernels` leaves."""
    rows = (
        json.loads(str(mod.attrs[KERNELS_ATTR])) if mod.attrs and KERNELS_ATTR in mod.attrs else {}
    )
    return {
        symbol: Kernel(
            symbol,
            row["template"],
            tuple((macro, value) for macro, value in row["defines"]),
            inplace=tuple(row["inplace"]),
        )
        for symbol, row in rows.items()
    }
