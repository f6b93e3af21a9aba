"""ForwardMemory: operators whose result is a part of their input become views, which cost nothing.

``reshape``, ``squeeze``, ``expand_dims``, ``flatten``, a permutation that moves only axes of extent
one, and a slice or split of leading dims become ``R.memory.view(x, shape, dtype, byte_offset)``.
"""

from __future__ import annotations

import tvm
from tvm import relax
from tvm.ir import GenericConst

from tvm_megcc.core.dtypes import nbytes
from tvm_megcc.dims import Size, product
from tvm_megcc.fuse import matmul_wq
from tvm_megcc.relax_tools.calls import op_name, permutation_of
from tvm_megcc.relax_tools.exprs import dtype_of, shape_of
from tvm_megcc.relax_tools.rewriting import Keeping, on, rewriting_pass
from tvm_megcc.relax_tools.shape_exprs import prim_of, sizes_of
from tvm_megcc.relax_tools.slices import slice_of
from tvm_megcc.relax_tools.traits import PERMUTES


@rewriting_pass("tvm_megcc.ForwardMemory")
class ForwardMemory(Keeping):
    """Replace reshapes and contiguous slices by ``memory.view``."""

    def enter(self, func: relax.Function) -> None:
        super().enter(func)
        # The kernel packs quantised weights itself, in whichever layout they are.
        self.kept = {v for between in matmul_wq.weights(func).values() for v in between}

    def leave(self, mod: tvm.IRModule) -> tvm.IRModule:
        return relax.transform.DeadCodeElimination()(mod)

    @on(*PERMUTES)
    def _whole(self, call: relax.Call) -> relax.Expr:
        shape, result = self._source(call), shape_of(call, self.symbols)
        if shape is None or result is None:
            return call
        if op_name(call) == "relax.permute_dims" and not _moves_only_ones(call, shape):
            return call
        return self._view(call.args[0], result, 0)

    @on("relax.split")
    def _split(self, call: relax.Call) -> relax.Expr:
        shape = self._source(call)
        fields = [sizes_of(field.shape, self.symbols) for field in call.ty.fields]
        if shape is None or None in fields:
            return call
        axis = int(call.attrs.axis) % len(shape)
        if product(shape[:axis]) != 1:
            return call
        views, inner = [], product(shape[axis + 1 :])
        start: Size = 0
        for dims in fields:
            assert dims is not None
            views.append(self.emit(self._view(call.args[0], dims, start * inner)))
            start = start + dims[axis]
        return relax.Tuple(views)

    @on("relax.strided_slice")
    def _slice(self, call: relax.Call) -> relax.Expr:
        """View in place of a slice whose elements are contiguous for all shapes."""
        shape, result = self._source(call), shape_of(call, self.symbols)
        found = None if shape is None else slice_of(call, shape, self.symbols)
        if shape is None or result is None or found is None or any(s != 1 for s in found.steps):
            return call
        cut = [i for i, (a, b) in enumerate(zip(shape, result, strict=True)) if a != b]
        if any(product(result[:i]) != 1 for i in cut):
            return call
        starts = [found.begins[i] * product(shape[i + 1 :]) for i in cut]
        return self._view(call.args[0], result, sum(starts, start=0))

    def _source(self, call: relax.Call) -> tuple[Size, ...] | None:
        """Shape of the first operand; None for a constant, of which there are no views."""
        source = call.args[0]
        return None if isinstance(source, GenericConst) else shape_of(source, self.symbols)

    def _view(self, source: relax.Expr, shape: tuple[Size, ...], offset: Size) -> relax.Expr:
        start = relax.prim_value(prim_of(nbytes(dtype_of(source), offset), self.variables))
        return relax.op.memory.view(source, self.shape(shape), relative_byte_offset=start)


def _moves_only_ones(call: relax.Call, shape: tuple[Size, ...]) -> bool:
    moved = [a for a in permutation_of(call) if shape[a] != 1]
    return moved == sorted(moved)
