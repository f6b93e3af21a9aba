"""Conv1dToConv2d: a 1-D convolution or pooling is a 2-D one of height 1, and has its kernels.

``conv1d(x[N, C, W], w[O, I, K])`` -> ``squeeze(conv2d(expand_dims(x, 2), expand_dims(w, 2)), 2)``.
"""

from __future__ import annotations

import tvm
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator

from tvm_megcc.control_flow import plain_functions


@tvm.transform.module_pass(opt_level=0, name="tvm_megcc.Conv1dToConv2d")
class Conv1dToConv2d:
    """Rewrite ``nn.conv1d``, ``nn.max_pool1d`` and ``nn.avg_pool1d`` in NCW layout."""

    def transform_module(self, mod: tvm.IRModule, ctx: tvm.transform.PassContext) -> tvm.IRModule:
        rewriter = _Rewriter(mod)
        for gvar, func in plain_functions(mod):
            rewriter.builder_.update_func(gvar, rewriter.visit_expr(func))
        return rewriter.builder_.get()


@mutator
class _Rewriter(PyExprMutator):
    def __init__(self, mod: tvm.IRModule) -> None:
        super().__init__(mod)

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        call = self.visit_expr_post_order(call)
        name = call.op.name if isinstance(call.op, tvm.ir.Op) else ""
        if name == "relax.nn.conv1d" and str(call.attrs.data_layout) == "NCW":
            return self._flat(call, _conv2d)
        if name in _POOLS and str(call.attrs.layout) == "NCW":
            return self._flat(call, _pool2d)
        return call

    def _flat(self, call: relax.Call, build) -> relax.Expr:  # noqa: ANN001 - local callback
        wide = [self.builder_.emit(relax.op.expand_dims(a, axis=2)) for a in call.args]
        return relax.op.squeeze(self.builder_.emit(build(call, wide)), axis=[2])


def _ints(values: object) -> list[int]:
    return [int(v) for v in values]  # type: ignore[attr-defined]


def _conv2d(call: relax.Call, wide: list[relax.Expr]) -> relax.Call:
    a = call.attrs
    left, right = _ints(a.padding)
    return relax.op.nn.conv2d(
        *wide,
        strides=[1, *_ints(a.strides)],
        padding=[0, left, 0, right],
        dilation=[1, *_ints(a.dilation)],
        groups=int(a.groups),
    )


_POOLS = {
    "relax.nn.max_pool1d": relax.op.nn.max_pool2d,
    "relax.nn.avg_pool1d": relax.op.nn.avg_pool2d,
}


def _pool2d(call: relax.Call, wide: list[relax.Expr]) -> relax.Call:
    a = call.attrs
    left, right = _ints(a.padding)
    return _POOLS[call.op.name](
        *wide,
        pool_size=[1, *_ints(a.pool_size)],
        strides=[1, *_ints(a.strides)],
        padding=[0, left, 0, right],
        dilation=[1, *_ints(a.dilation)],
        ceil_mode=bool(a.ceil_mode),
        count_include_pad=bool(a.count_include_pad),
    )
