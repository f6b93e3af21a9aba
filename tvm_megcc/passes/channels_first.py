"""ChannelsFirst: operators of any layout become NCHW and OIHW, for the passes up to ChannelsLast.

    conv2d(x, w, data_layout="NHWC", kernel_layout="HWIO")
      ->  permute_dims(conv2d(permute_dims(x), permute_dims(w)))

and the same for pooling, resizing and other numbers of dims. Models of TFLite are channels last,
with weights as HWIO and HWOI; those of ONNX are channels first, and stay as they are. Transposes
move down and cancel, as `relax_tools.permuted` says; ChannelsLast removes those that are left.
Elementwise operators in front of a convolution become channels first, too, so that FoldScaleShift
can take them into the weights.
"""

from __future__ import annotations

import tvm
from tvm import relax

from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.control_flow import plain_functions
from tvm_megcc.relax_tools.exprs import expressions
from tvm_megcc.relax_tools.permuted import with_layouts
from tvm_megcc.relax_tools.rewriting import module_pass
from tvm_megcc.relax_tools.spatial import channels_first, layouts_of
from tvm_megcc.relax_tools.traits import BROADCAST, UNARY, named


@module_pass("tvm_megcc.ChannelsFirst")
def ChannelsFirst(mod: tvm.IRModule) -> tvm.IRModule:
    """Bring operators of other layouts to NCHW and OIHW."""
    functions = [func for _, func in plain_functions(mod)]
    calls = [expr for func in functions for expr in expressions(func)]
    if all(layouts_of(call) == channels_first(call) for call in calls):
        return mod
    turned = [_turned(func) for func in functions]
    return with_layouts(mod, channels_first, {k: v for rows in turned for k, v in rows.items()})


#: Further operators that compute element by element of their first operand.
_ELEMENTWISE = named("quantize dequantize nn.pad nn.prelu nn.batch_norm")


def _turned(func: relax.Function) -> dict[relax.Var, tuple[int, ...]]:
    """Values from which elementwise operators lead to another layout, and their axes in it."""
    values = relax.analysis.get_var2val(func)
    found: dict[relax.Var, tuple[int, ...]] = {}
    seen: set[relax.Var] = set()

    def climb(expr: relax.Expr, axes: tuple[int, ...]) -> None:
        if not isinstance(expr, relax.Var) or expr in seen or _rank(expr) != len(axes):
            return
        seen.add(expr)
        value = values.get(expr)
        if isinstance(value, relax.TupleGetItem):
            value = values.get(value.tuple_value)
        name = op_name(value)
        if name in BROADCAST:
            for arg in value.args:
                climb(arg, axes)
        elif name in UNARY or name in _ELEMENTWISE:
            climb(value.args[0], axes)
        elif layouts_of(value) is None:
            found[expr] = axes

    for call in values.values():
        given, wanted = layouts_of(call), channels_first(call)
        if given is not None and wanted is not None and sorted(given.data) == sorted(wanted.data):
            climb(call.args[0], tuple(map(wanted.data.index, given.data)))
    return found


def _rank(expr: relax.Expr) -> int:
    return int(getattr(expr.ty, "ndim", -1))
