"""What the BYOC tests share: modules, the regions of one, and running one in TVM's VM."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tvm
from tvm import relax

from tvm_megcc.byoc.regions import inside, is_region

RNG = np.random.default_rng(0)


def const(*shape: int) -> relax.Expr:
    return relax.const(RNG.standard_normal(shape).astype("float32"))


def data(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("float32")


def module(
    body: Callable[[relax.BlockBuilder, relax.Var], relax.Expr], *shape: object, name: str = "main"
) -> tvm.IRModule:
    """A function of one float32 tensor."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(shape, "float32"))
    with builder.function(name, [x]):
        with builder.dataflow():
            out = builder.emit_output(body(builder, x))
        builder.emit_func_output(out)
    return builder.get()


def regions(mod: tvm.IRModule) -> dict[str, list[str]]:
    """Region -> the operators in it, in order."""
    found = {}
    for gvar, func in mod.functions_items():
        if is_region(func):
            main = inside(func)["main"]
            values = [b.value for block in main.body.blocks for b in block.bindings]
            calls = [v for v in values if isinstance(v, relax.Call)]
            found[gvar.name_hint] = [_name(call) for call in calls]
    return found


def _name(call: relax.Call) -> str:
    if isinstance(call.op, relax.GlobalVar):
        return call.op.name_hint
    return call.op.name.removeprefix("relax.")


def run(mod: tvm.IRModule, *inputs: np.ndarray, target: object = "llvm") -> list[np.ndarray]:
    """Results of ``main`` in ``relax.VirtualMachine``."""
    vm = relax.VirtualMachine(tvm.compile(mod, target), tvm.cpu())
    return values(vm["main"](*map(tvm.runtime.tensor, inputs)))


def values(result: object) -> list[np.ndarray]:
    return [r.numpy() for r in ([result] if hasattr(result, "numpy") else result)]
