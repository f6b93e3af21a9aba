"""What the pass tests share: build a one-function module, list its operators, run it in TVM."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tvm
from tvm import relax

from tests.tvm_target import LLVM


def build(
    body: Callable[..., relax.Expr], *shapes: tuple[int, ...], dtype: str = "float32"
) -> tvm.IRModule:
    """A dataflow function ``main`` over inputs of the shapes given."""
    builder = relax.BlockBuilder()
    params = [relax.Var(f"x{i}", relax.TensorType(s, dtype)) for i, s in enumerate(shapes)]
    with builder.function("main", params):
        with builder.dataflow():
            out = builder.emit_output(builder.normalize(body(*params)))
        builder.emit_func_output(out)
    return relax.transform.ConvertToDataflow(min_size=1)(
        relax.transform.CanonicalizeBindings()(builder.get())
    )


def operators(mod: tvm.IRModule) -> list[str]:
    """Names of the operators called in ``main``, in order."""
    names = []
    for block in mod["main"].body.blocks:
        for binding in block.bindings:
            value = binding.value
            if isinstance(value, relax.Call) and isinstance(value.op, tvm.ir.Op):
                names.append(value.op.name)
    return names


def run(mod: tvm.IRModule, *inputs: np.ndarray) -> list[np.ndarray]:
    """Results of ``main`` in TVM's own virtual machine."""
    vm = relax.VirtualMachine(tvm.compile(mod, LLVM), tvm.cpu())
    result = vm["main"](*[tvm.runtime.tensor(x) for x in inputs])
    return [r.numpy() for r in ([result] if hasattr(result, "numpy") else result)]
