"""A model for the tests of the runtime: it draws random numbers, one more each iteration."""

from __future__ import annotations

from pathlib import Path

from onnx import parser

from tvm_megcc import frontend
from tvm_megcc.codegen_c import emit
from tvm_megcc.core.program import Program
from tvm_megcc.host import toolchain
from tvm_megcc.pipeline import compile_module

from . import programs as p

MODEL = parser.parse_model("""
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[4] x, int64 trips) => (float[4] y, float[4] own) {
      y = Loop(trips, , x) <body = body (int64 round, bool on, float[4] s)
          => (bool more, float[4] t) {
        more = Identity(on) t = RandomUniform <shape = [4]> () }>
      own = RandomUniform <shape = [4], seed = 7.0> () }""")


def program() -> Program:
    """``y`` is the last of `trips` draws, ``own`` one of a node with the seed 7."""
    names = {"input_names": ["x", "trips"], "output_names": ["y", "own"]}
    mod = frontend.from_onnx(MODEL).mod
    return compile_module(mod, toolchain.host_arch(), name="drawing", **names)


def write(folder: Path, weights: str = "c", arch: str = "") -> Path:
    """The package of `program`."""
    machine = arch or toolchain.host_arch()
    files = emit.package({machine: program()}, name="drawing", weights=weights)
    return p.write(files, folder)
