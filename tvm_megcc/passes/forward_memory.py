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
from tvm_megcc.relax_tools.traits import MOVES


@rewriting_pass("tvm_megcc.ForwardMemory")
class ForwardMemory(Keeping):
    """Replace reshapes and contiguous slices by ``memory.view``."""

    def enter(self, func: relax.Function) -> None:
        super().enter(func)
        # The kernel packs quantised weights itself, in whichever layout they are.
        self.kept = {v for between in matmul_wq.weights(func).values() for v in between}

    def leave(self, mod: tvm.IRModule) -> tvm.IRModule:
        return relax.transform.DeadCodeElimination()(mod)

    @on(*MOVES, "relax.split")
    def _forwarded(self, call: relax.Call) -> relax.Expr:
        name, source = op_name(call), call.args[0]
        shape, result = shape_of(source, self.symbols), None
        if isinstance(source, GenericConst) or shape is None:
            return call
        if name == "relax.strided_slice":
            result = self._slice(call, source, shape)
        elif name == "relax.split":
            return self._split(call, source, shape)
        elif name != "relax.permute_dims" or _moves_only_ones(call, shape):
            result = self._view(source, shape_of(call, self.symbols), 0)
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
            views.append(self.emit(self._view(source, dims, start * inner)))
            start = start + dims[axis]
        return relax.Tuple(views)

    def _slice(
        self, call: relax.Call, source: relax.Expr, shape: tuple[Size, ...]
    ) -> relax.Expr | None:
        """View in place of a slice whose elements are contiguous; None if they are not for sure."""
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
        return relax.op.memory.view(source, self.shape(shape), relative_byte_offset=start)


def _moves_only_ones(call: relax.Call, shape: tuple[Size, ...]) -> bool:
    moved = [a for a in permutation_of(call) if shape[a] != 1]
    return moved == sorted(moved)
