"""ForwardMemory: operators whose result is bytes of their input become views and cost nothing.

``reshape``, ``squeeze``, ``expand_dims``, ``flatten``, a permutation that moves only axes of extent
one, and a slice or split of leading dims become ``R.memory.view(x, shape, dtype, byte_offset)``.
"""

from __future__ import annotations

import tvm
from tvm import relax
from tvm.ir import GenericConst
from tvm.relax.expr_functor import PyExprMutator, mutator

from tvm_megcc.core.dtypes import nbytes
from tvm_megcc.dims import Size, product
from tvm_megcc.fuse import matmul_wq
from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.control_flow import plain_functions
from tvm_megcc.relax_tools.exprs import dtype_of, shape_of
from tvm_megcc.relax_tools.shape_exprs import Symbols, prim_of, sizes_of, symbols_of, variables_of
from tvm_megcc.relax_tools.slices import slice_of
from tvm_megcc.relax_tools.traits import RESHAPES


@tvm.transform.module_pass(opt_level=0, name="tvm_megcc.ForwardMemory")
class ForwardMemory:
    """Rewrite free operators to ``memory.view``."""

    def transform_module(self, mod: tvm.IRModule, ctx: tvm.transform.PassContext) -> tvm.IRModule:
        forwarder = _Forwarder(mod)
        for gvar, func in plain_functions(mod):
            if func.attrs and "Composite" in func.attrs:
                continue
            forwarder.variables = variables_of(func)
            forwarder.symbols = symbols_of(func)
            forwarder.kept = {v for between in matmul_wq.weights(func).values() for v in between}
            forwarder.builder_.update_func(gvar, forwarder.visit_expr(func))
        return relax.transform.DeadCodeElimination()(forwarder.builder_.get())


@mutator
class _Forwarder(PyExprMutator):
    def __init__(self, mod: tvm.IRModule) -> None:
        super().__init__(mod)
        self.variables: dict[str, tvm.tirx.Var] = {}
        self.symbols: Symbols
        #: Layouts of quantised weights, which a kernel has packed as it wants them.
        self.kept: set[relax.Var] = set()

    def visit_var_binding_(self, binding: relax.VarBinding) -> None:
        if binding.var in self.kept:
            self.builder_.emit_normalized(binding)
        else:
            super().visit_var_binding_(binding)

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        call = self.visit_expr_post_order(call)
        name = op_name(call)
        if not name or not call.args:
            return call
        source = call.args[0]
        if isinstance(source, GenericConst) or not isinstance(source.ty, relax.TensorType):
            return call
        shape, result = shape_of(source, self.symbols), None
        if shape is None:
            return call
        if name in RESHAPES or (name == "relax.permute_dims" and _moves_only_ones(call, shape)):
            result = self._view(source, shape_of(call, self.symbols), 0)
        elif name == "relax.strided_slice":
            result = self._slice(call, source, shape)
        elif name == "relax.split":
            return self._split(call, source, shape)
        return call if result is None else result

    def _split(self, call: relax.Call, source: relax.Expr, shape: tuple[Size, ...]) -> relax.Expr:
        axis = int(call.attrs.axis) % len(shape)
        fields = [sizes_of(field.shape, self.symbols) for field in call.ty.fields]
        if product(shape[:axis]) != 1 or None in fields:
            return call
        views, inner = [], product(shape[axis + 1 :])
        start: Size = 0
        for dims in fields:
            assert dims is not None
            views.append(self.builder_.emit(self._view(source, dims, start * inner)))
            start = start + dims[axis]
        return relax.Tuple(views)

    def _slice(
        self, call: relax.Call, source: relax.Expr, shape: tuple[Size, ...]
    ) -> relax.Expr | None:
        """The view that a slice is when it leaves whole trailing dims and one run of a leading one.

        None where it is more, or where that depends on the shapes.
        """
        found = slice_of(call, shape, self.symbols)
        result = shape_of(call, self.symbols)
        if found is None or result is None or any(s != 1 for s in found.steps):
            return None
        cut = [i for i, (a, b) in enumerate(zip(shape, result, strict=True)) if a != b]
        if any(product(result[:i]) != 1 for i in cut):
            return None
        starts = [found.begins[i] * product(shape[i + 1 :]) for i in cut]
        return self._view(source, result, sum(starts, start=0))

    def _view(
        self, source: relax.Expr, shape: tuple[Size, ...] | None, offset: Size
    ) -> relax.Expr | None:
        if shape is None:
            return None
        start = relax.prim_value(prim_of(nbytes(dtype_of(source), offset), self.variables))
        dims = relax.ShapeExpr([prim_of(d, self.variables) for d in shape])
        return relax.op.memory.view(source, dims, relative_byte_offset=start)


def _moves_only_ones(call: relax.Call, shape: tuple[Size, ...]) -> bool:
    axes = call.attrs.axes
    order = [int(a) for a in axes] if axes is not None else list(range(len(shape)))[::-1]
    moved = [a for a in order if shape[a] != 1]
    return moved == sorted(moved)
