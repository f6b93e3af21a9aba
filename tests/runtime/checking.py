"""A model for the tests of the runtime: rows are read by indices that are checked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tvm
from tvm import relax, tirx

from tvm_megcc.codegen_c import emit
from tvm_megcc.core.program import Program
from tvm_megcc.host import toolchain
from tvm_megcc.pipeline import compile_module
from tvm_megcc.relax_tools.checks import checked

from . import programs as p

NODE = "Gather 'rows'"


def module(rows: int | None = None) -> tvm.IRModule:
    """Inputs ``x (rows, 4)``, open by default, and ``i (3)``; outputs ``exp(x)[i]`` and ``-i``."""
    op, builder = relax.op, relax.BlockBuilder()
    n = tirx.Var("n", "int64") if rows is None else rows
    x = relax.Var("x", relax.TensorType((n, 4), "float32"))
    i = relax.Var("i", relax.TensorType((3,), "int64"))
    with builder.function("main", [x, i]):
        with builder.dataflow():
            size = builder.emit(op.astype(op.arange(n, n + 1, 1, "int64"), "int64"))
            least = builder.emit(op.greater_equal(op.min(i), relax.const(0, "int64")))
            most = builder.emit(op.less(op.max(i), op.reshape(size, [])))
            holds = builder.emit(op.logical_and(least, most))
            safe = builder.emit(checked(i, holds, NODE))
            y = builder.emit_output(op.take(op.exp(x), safe, axis=0, mode="clip"))
            z = builder.emit_output(op.negative(i))
        builder.emit_func_output(relax.Tuple([y, z]))
    return builder.get()


def program(rows: int | None = None) -> Program:
    names = {"input_names": ["x", "i"], "output_names": ["y", "z"]}
    return compile_module(module(rows), toolchain.host_arch(), name="checking", **names)


def expected(x: np.ndarray, i: np.ndarray) -> dict[str, np.ndarray]:
    return {"y": np.exp(x)[i], "z": -i}


def write(folder: Path, rows: int | None = None, weights: str = "c") -> Path:
    """The package of `program`."""
    files = emit.package({toolchain.host_arch(): program(rows)}, name="checking", weights=weights)
    return p.write(files, folder)
