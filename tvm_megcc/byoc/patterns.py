"""Relax operators that a region may hold, in TVM's pattern registry as ``tvm_megcc.<operator>``.

Our compiler takes every operator that TVM can legalise: a kernel of ours where there is one, C made
of TVM's TIR elsewhere. So there is one pattern per operator and form, a composite function is one
call, and what matters is which calls become one region.
"""

from __future__ import annotations

from collections.abc import Iterator

import tvm
from tvm import relax
from tvm.ir import GenericConst
from tvm.relax.backend.pattern_registry import get_patterns_with_prefix, register_patterns
from tvm.relax.dpl import is_op, wildcard
from tvm.relax.transform import FusionPattern, PatternCheckContext

from tvm_megcc.core.dtypes import of_numpy
from tvm_megcc.relax_tools.traits import CONVOLUTIONS, POOLS, PRODUCTS, named

PREFIX = "tvm_megcc."

#: Operators that say something of a module, a device or a gradient instead of computing a value.
_FOREIGN = ("ccl.", "dist.", "grad.", "inspect.", "builtin.", "memory.", "vm.")

#: Operators whose value differs from run to run, or that TVM legalises to calls of its own runtime.
_LEFT = {"relax.nn.dropout", "relax.nn.attention_var_len", "relax.vision.non_max_suppression"}

#: Operators with more arguments than Relax registers, or a number of them that is not fixed.
_ARGUMENTS = {"relax.strided_slice": (4, 5), "relax.call_tir": (2, 3)}

#: What other importers and passes have legalised already; the function becomes part of the region.
CALL_TIR = "relax.call_tir"

#: Operators whose weights our kernels read packed: as parameters of a function they stay with TVM.
_PACKED = dict.fromkeys(CONVOLUTIONS, 1)

#: Operators that hand-written kernels serve. A region without any of them is left to TVM, whose
#: fused loops are as good there and cost no call.
ANCHORS = (
    PRODUCTS | POOLS | named("image.resize2d nn.softmax nn.log_softmax nn.layer_norm nn.rms_norm")
)


def patterns() -> list[FusionPattern]:
    """The registered patterns, registering them first."""
    if not get_patterns_with_prefix(PREFIX):
        register_patterns(list(_all()))
    return list(get_patterns_with_prefix(PREFIX))


def _all() -> Iterator[tuple[object, ...]]:
    for name in sorted(tvm.ir.Op.list_op_names()):
        short = name.removeprefix("relax.")
        op = tvm.ir.Op.get(name)
        if short == name or short.startswith(_FOREIGN) or name in _LEFT or op.num_inputs < 1:
            continue
        if op.get_attr("FLegalize") is None and name != CALL_TIR:
            continue
        for count in _ARGUMENTS.get(name, (op.num_inputs,)):
            yield f"{PREFIX}{short}", is_op(name)(*[wildcard() for _ in range(count)]), {}, _takes


def _takes(context: PatternCheckContext) -> bool:
    """Whether a call has types that kernels compute with, sizes known before the run, weights."""
    call = context.matched_expr
    arguments = call.args[1:] if call.op.name == CALL_TIR else call.args
    if not all(map(computable, [call.ty, *(argument.ty for argument in arguments)])):
        return False
    weight = _PACKED.get(call.op.name)
    return weight is None or isinstance(call.args[weight], GenericConst)


def computable(ty: tvm.ir.Type) -> bool:
    """Whether a region can have values of a type: tensors of known sizes, tuples of them, sizes."""
    if isinstance(ty, relax.TupleType):
        return all(map(computable, ty.fields))
    if not isinstance(ty, relax.TensorType):
        return not isinstance(ty, relax.FuncType)
    row = of_numpy(str(ty.dtype)) if ty.dtype else None
    return row is not None and not row.is_storage and isinstance(ty.shape, relax.ShapeExpr)
