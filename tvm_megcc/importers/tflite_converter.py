"""TVM 0.27's converters of TFLite operators, and ours where TVM's fail or say something else.

Enters: operators of a TFLite subgraph, through TVM's importer. Leaves: Relax, of which every value
has the type and the shape that the file declares.

=====================  ==========================================================================
operator               what TVM's converter does
=====================  ==========================================================================
ARG_MAX, ARG_MIN       int64, where the file says int32
EXPAND_DIMS            fails with a `TypeError`
FULLY_CONNECTED        keeps the leading dims where the file has them as one
GATHER_ND              moves the last axis of the indices to the front
GELU                   the exact form, also where the file wants the approximation
SOFTMAX                leaves out the factor `beta`
SPACE_TO_BATCH_ND, ..  calls functions of TVM's runtime, which end the process
quantised movement     refused: TRANSPOSE, PAD, ... of int8, which only move steps
AVERAGE_POOL_2D        drops the fraction of averages of integers
=====================  ==========================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import tvm
from tvm import relax
from tvm.relax.frontend.tflite.tflite_frontend import OperatorConverter

from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.exprs import static_shape

#: Operators whose outputs are elements of their inputs, in other places.
_MOVING = frozenset(
    "BATCH_TO_SPACE_ND DEPTH_TO_SPACE EXPAND_DIMS GATHER GATHER_ND MIRROR_PAD PACK PAD PADV2 "
    "RESIZE_NEAREST_NEIGHBOR REVERSE_V2 SLICE SPACE_TO_DEPTH SPLIT SPLIT_V SQUEEZE STRIDED_SLICE "
    "TILE TRANSPOSE UNPACK".split()
)


class Converter(OperatorConverter):
    """Converts the operators of one subgraph; see the module's docstring."""

    convert_map: dict[str, Callable[..., Any]]
    _SUPPORTED_QUANTIZED_OPS = OperatorConverter._SUPPORTED_QUANTIZED_OPS | _MOVING

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.convert_map = {
            kind: partial(self._as_declared, kind, convert)
            for kind, convert in self.convert_map.items()
        }

    def _as_declared(self, kind: str, convert: Callable[..., Any], op: Any) -> Any:
        """Convert an operator, and give the result the type and shape that the file declares."""
        outputs = self.get_output_tensors(op)
        if kind in _MOVING:
            self._check_scales(kind, [*self.get_input_tensors(op), *outputs])
        found = convert(op=op)
        if found is None or len(outputs) != 1:
            return found
        found = self.bb.normalize(found)
        if not isinstance(found.ty, relax.TensorType) or not found.ty.dtype:
            return found
        declared = self._get_relax_tensor_dtype(outputs[0])
        if str(found.ty.dtype) != declared:
            found = self.bb.normalize(relax.op.astype(found, declared))
        shape, wanted = static_shape(found, {}), self._get_relax_tensor_shape(outputs[0])
        if shape is not None and shape != wanted and prod(shape) == prod(wanted):
            found = relax.op.reshape(found, wanted)
        return found

    def _check_scales(self, kind: str, tensors: list[Any]) -> None:
        """Refuse to permute or copy elements between tensors of different scales."""
        scaled = [t for t in tensors if t.qnn_params]
        if any(not self.has_same_qnn_params(scaled[0], other) for other in scaled[1:]):
            raise tvm.error.OpNotImplemented(f"{kind} between tensors of different scales")

    # Methods of TVM's that are replaced.

    def convert_expand_dims(self, op: Any) -> relax.Expr:
        data, axis = self.get_input_tensors(op)
        number = int(self.get_tensor_value(axis).reshape(-1)[0])
        return relax.op.expand_dims(self.get_tensor_expr(data), axis=number)

    def convert_gather_nd(self, op: Any) -> relax.Expr:
        data, indices = map(self.get_tensor_expr, self.get_input_tensors(op))
        return relax.op.gather_nd(data, relax.op.astype(indices, "int64"))

    def convert_gelu(self, op: Any) -> relax.Expr:
        from tflite import GeluOptions

        if self.is_quantized(op) or not self._get_builtin_options(op, GeluOptions).Approximate():
            return super().convert_gelu(op)
        x = self.get_tensor_expr(self.get_input_tensors(op)[0])
        return relax.op.nn.gelu_tanh(x)

    def convert_pool2d(self, op: Any, pool_type: str) -> relax.Expr:
        found = super().convert_pool2d(op, pool_type)
        if pool_type != "average" or not self.get_input_tensors(op)[0].qnn_params:
            return found
        if op_name(found) == "relax.clip":  # of an activation
            return relax.op.clip(_rounded_average(found.args[0]), *found.args[1:])
        return _rounded_average(found)

    def convert_softmax(self, op: Any) -> relax.Expr:
        from tflite import SoftmaxOptions

        beta = self._get_builtin_options(op, SoftmaxOptions).Beta()
        if beta == 1:
            return super().convert_softmax(op)
        (source,), (result,) = self.get_input_tensors(op), self.get_output_tensors(op)
        x = self.get_tensor_expr(source)
        if source.qnn_params:
            x = self.dequantize(x, source)
        scaled = relax.op.multiply(x, relax.const(beta, "float32"))
        found = relax.op.nn.softmax(scaled, axis=-1)
        return self.quantize(found, result) if result.qnn_params else found

    def convert_space_to_batch_nd(self, op: Any) -> relax.Expr:
        x, blocks, pads = self.get_input_tensors(op)
        block, padding = (self.get_tensor_value(t).tolist() for t in (blocks, pads))
        inner = len(self.get_tensor_shape(x)) - 1 - len(block)
        width = [0, 0, *(n for pair in padding for n in pair), *([0, 0] * inner)]
        found = self.bb.normalize(relax.op.nn.pad(self.get_tensor_expr(x), width))
        n, *sizes = self._static(found)
        m = len(block)
        cut = [part for size, b in zip(sizes, block, strict=False) for part in (size // b, b)]
        rows, within = range(1, 2 * m, 2), range(2, 2 * m + 1, 2)
        order = [*within, 0, *rows, *range(2 * m + 1, 2 * m + 1 + inner)]
        found = relax.op.permute_dims(relax.op.reshape(found, [n, *cut, *sizes[m:]]), order)
        return relax.op.reshape(found, [n * prod(block), *cut[::2], *sizes[m:]])

    def convert_batch_to_space_nd(self, op: Any) -> relax.Expr:
        x, blocks, crops = self.get_input_tensors(op)
        block, cropping = (self.get_tensor_value(t).tolist() for t in (blocks, crops))
        data = self.bb.normalize(self.get_tensor_expr(x))
        n, *sizes = self._static(data)
        m = len(block)
        parts = relax.op.reshape(data, [*block, n // prod(block), *sizes])
        woven = [axis for k in range(m) for axis in (m + 1 + k, k)]
        parts = relax.op.permute_dims(parts, [m, *woven, *range(2 * m + 1, m + 1 + len(sizes))])
        large = [size * b for size, b in zip(sizes, block, strict=False)]
        whole = relax.op.reshape(parts, [n // prod(block), *large, *sizes[m:]])
        begin = [before for before, _ in cropping]
        end = [size - after for size, (_, after) in zip(large, cropping, strict=True)]
        return relax.op.strided_slice(whole, [*range(1, m + 1)], begin, end)

    @staticmethod
    def _static(data: relax.Expr) -> tuple[int, ...]:
        shape = static_shape(data, {})
        if shape is None:
            raise tvm.error.OpNotImplemented("batches and space of sizes that change")
        return shape


def _rounded_average(call: relax.Call) -> relax.Expr:
    """``astype(avg_pool2d(astype(x, i32)), dtype)``, rounded to the nearest; halves away from 0.

    Of 8 bits it is the average of numbers that are quantised again, by a scale so little below 1
    that it only moves halves, which `quantize` would round to the even integer.
    """
    op, dtype = relax.op, str(call.attrs.dtype)
    pool = call.args[0]
    x = pool.args[0].args[0]
    if dtype in ("int8", "uint8"):
        zero = relax.const(0, "int32")
        number = op.dequantize(x, relax.const(1.0, "float32"), zero)
        mean = relax.Call(pool.op, [number], pool.attrs)
        return op.quantize(mean, relax.const(_BELOW_ONE, "float32"), zero, out_dtype=dtype)
    mean = relax.Call(pool.op, [op.astype(x, "float32")], pool.attrs)
    whole = op.floor(op.add(op.abs(mean), relax.const(0.5, "float32")))
    return op.astype(op.multiply(whole, op.sign(mean)), dtype)


#: Halves of 8 bits by it are larger by two units of f32's last place or more; means of fewer than
#: 10,000 elements that are no halves are further from one than that.
_BELOW_ONE = 1 - 2.0**-22
