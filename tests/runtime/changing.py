"""A model for the tests of the runtime: its shapes change, and some sizes depend on data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tvm import relax, tirx

from tvm_megcc.codegen_c import emit
from tvm_megcc.core.program import Program
from tvm_megcc.dims import Symbol
from tvm_megcc.host import toolchain
from tvm_megcc.pipeline import compile_module
from tvm_megcc.relax_tools.shape_exprs import with_bounds

from . import programs as p

HOST = toolchain.host_arch()
MAX_N = 8


def program(name: str = "changing", arch: str = HOST, io: str = "caller") -> Program:
    """Inputs ``x (n, 4)`` and ``b (n,)``, n from 0 to 8; outputs ``a``, ``z2``, ``z3``.

    ``a = exp(x) + b``; z is the first m of exp(x), where m is how many of `x` are positive, ``z2``
    two of it one after the other, and ``z3`` three.
    """
    n, m = tirx.Var("n", "int64"), tirx.Var("m", "int64")
    op, builder = relax.op, relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((n, 4), "float32"))
    b = relax.Var("b", relax.TensorType((n,), "float32"))
    zero = relax.const(np.float32(0))
    with builder.function("main", [x, b]):
        with builder.dataflow():
            power = builder.emit(op.exp(x))
            a = builder.emit_output(op.add(power, op.expand_dims(b, [1])))
            marks = builder.emit(op.astype(op.greater(x, zero), "int64"))
            count = builder.emit(op.reshape(op.sum(marks), [1]))
            sizes = builder.emit(op.tensor_to_shape(count))
            builder.match_cast(sizes, relax.ShapeType([m]))
            flat = builder.emit(op.reshape(power, relax.ShapeExpr([n * 4])))
            head = builder.emit(op.strided_slice(flat, [0], [0], [m], assume_inbound=True))
            z = builder.emit(op.add(head, zero))
            two = builder.emit_output(op.concat([z, z], axis=0))
            three = builder.emit_output(op.concat([two, z], axis=0))
        builder.emit_func_output(relax.Tuple([a, two, three]))
    mod = builder.get()
    bounds = [Symbol("n", 0, MAX_N), Symbol("m", 0, 4 * MAX_N)]
    mod.update_func(mod.get_global_var("main"), with_bounds(mod["main"], bounds))
    names = {"input_names": ["x", "b"], "output_names": ["a", "z2", "z3"]}
    return compile_module(mod, arch, name=name, io=io, **names)


def expected(x: np.ndarray, b: np.ndarray) -> dict[str, np.ndarray]:
    power = np.exp(x)
    z = power.reshape(-1)[: int((x > 0).sum())]
    return {"a": power + b[:, None], "z2": np.tile(z, 2), "z3": np.tile(z, 3)}


def write(folder: Path, weights: str = "c", arch: str = HOST, io: str = "caller") -> Path:
    """The package of `program`."""
    files = emit.package({arch: program(arch=arch, io=io)}, name="changing", weights=weights)
    return p.write(files, folder)
