"""FoldConstants: evaluate calls whose arguments are all constants, with NumPy.

TVM's ``FoldConstant`` compiles every folded call through LLVM, about 0.1 s each; a model has dozens
of weight transposes. Only the operators that our own passes put on constants are known here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import prod

import numpy as np
import tvm
from tvm import relax
from tvm.relax.expr_functor import mutator

from tvm_megcc.fuse import matmul_wq
from tvm_megcc.fuse.widened import widened
from tvm_megcc.relax_tools import int8_rows
from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.control_flow import plain_functions
from tvm_megcc.relax_tools.exprs import as_int, constant, make_constant, static_shape
from tvm_megcc.relax_tools.moved_constants import moved
from tvm_megcc.relax_tools.rewriting import Keeping, bound, cleaned, module_pass, on, rewritten
from tvm_megcc.relax_tools.traits import MOVES
from tvm_megcc.relax_tools.work_attributes import with_widened

#: A folded constant larger than this is not made (broadcasts can explode).
MAX_BYTES = 64 << 20


def _cast(call: relax.Call, x: np.ndarray) -> np.ndarray:
    return x.astype(str(call.attrs.dtype))


def _concat(call: relax.Call, *xs: np.ndarray) -> np.ndarray:
    axis = as_int(call.attrs.axis)
    return (
        np.concatenate(xs, axis=axis)
        if axis is not None
        else np.concatenate([x.ravel() for x in xs])
    )


def _dequantize(call: relax.Call, x: np.ndarray, scale: np.ndarray, zero: np.ndarray) -> np.ndarray:
    spread = [1] * x.ndim
    if scale.size > 1:
        spread[int(call.attrs.axis) % x.ndim] = -1
    wide = x.astype(np.int64) - zero.astype(np.int64).reshape(spread if zero.size > 1 else ())
    scaled: np.ndarray = wide.astype(np.float32) * scale.reshape(spread if scale.size > 1 else ())
    return scaled


def _plain(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    return lambda call, *xs: function(*xs)


#: Operators that NumPy has under the same name.
_SAME_IN_NUMPY = (
    "add", "subtract", "multiply", "negative", "sqrt", "maximum", "minimum", "less", "where",
)  # fmt: skip
_FOLD: dict[str, Callable[..., np.ndarray]] = {
    "relax.astype": _cast,
    "relax.concat": _concat,
    "relax.dequantize": _dequantize,
    "relax.tile": lambda call, x: np.tile(x, [int(n) for n in call.attrs.repeats]),
    **{f"relax.{name}": _plain(getattr(np, name)) for name in _SAME_IN_NUMPY},
}


@module_pass("tvm_megcc.FoldConstants")
def FoldConstants(mod: tvm.IRModule, keep_weights: bool = False) -> tvm.IRModule:
    """Replace calls of constants by their values, then drop dead code.

    Parameters
    ----------
    keep_weights : bool
        Keep quantised weights of products quantised; `WidenWeights` decides about them.
    """
    if not keep_weights:
        return folded(mod)
    functions = [func for _, func in plain_functions(mod)]
    kept = set().union(*map(matmul_wq.weights, functions))
    return with_widened(folded(mod, kept), widened(mod, kept))


def folded(mod: tvm.IRModule, kept: Collection[relax.Var] = ()) -> tvm.IRModule:
    """Fold all constant calls of `mod` but those bound to `kept`; drop dead code."""
    return cleaned(rewritten(mod, _Folder(mod, kept)))


@mutator
class _Folder(Keeping):
    def __init__(self, mod: tvm.IRModule, kept: Collection[relax.Var]) -> None:
        super().__init__(mod)
        self.kept = kept

    @on("relax.shape_to_tensor")
    def _sizes(self, call: relax.Call) -> relax.Expr:
        sizes = [as_int(v) for v in call.args[0].ty.values or [None]]
        return call if None in sizes else make_constant(np.array(sizes, np.int64))

    @on("relax.call_pure_packed")
    def _without_leave(self, call: relax.Call) -> relax.Expr:
        weights = int8_rows.allowed_of(call)
        return call if weights is None or weights in self.kept else bound(self, weights)

    @on(*_FOLD, *MOVES, "relax.broadcast_to")
    def _evaluated(self, call: relax.Call) -> relax.Expr:
        name, shape = op_name(call), static_shape(call, self.symbols)
        if shape is None:
            return call
        listed = [a.fields if isinstance(a, relax.Tuple) else [a] for a in call.args]
        tensors = [t for fields in listed for t in fields if isinstance(t.ty, relax.TensorType)]
        arrays = [a for t in tensors if (a := constant(bound(self, t))) is not None]
        if not arrays or len(arrays) < len(tensors):
            return call
        if prod(shape) * np.dtype(arrays[0].dtype).itemsize > MAX_BYTES:
            return call
        if name in MOVES:
            result = moved(call, arrays[0], shape)
        elif name == "relax.broadcast_to":
            result = np.broadcast_to(arrays[0], shape)
        else:
            result = _FOLD[name](call, *arrays)
        result = np.ascontiguousarray(result).reshape(shape)
        if result.nbytes > MAX_BYTES or str(result.dtype) != str(call.ty.dtype):
            return call
        return make_constant(result)
