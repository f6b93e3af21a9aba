"""A model with states: inputs and outputs that share memory, in every form the planner knows."""

from __future__ import annotations

from pathlib import Path

from onnx import ModelProto, TensorProto, helper

from tvm_megcc import frontend
from tvm_megcc.core.program import Program
from tvm_megcc.host import toolchain
from tvm_megcc.options import CompileOptions
from tvm_megcc.pipeline import Entry, compile_entry

from . import programs as p

HOST = toolchain.host_arch()

#: Input -> output of each pair.
PAIRS = {"h": "h1", "s0": "s0_next", "s1": "s1_next", "c": "c_next"}
INPUTS = ("x", *PAIRS)
#: The state that a later node reads again; a delay line; one that stays; an old value, handed on.
NODES = [
    ("Tanh", ["half"], "h1"), ("Mul", ["h1", "h"], "z"), ("Identity", ["x"], "s0_next"),
    ("Identity", ["s0"], "s1_next"), ("Identity", ["c"], "c_next"), ("Identity", ["h"], "old"),
    ("Sum", ["z", "s1", "c"], "y"),
]  # fmt: skip


def model(dims: int | str = 4) -> ModelProto:
    """``h1 = tanh(h / 2 + x)``, ``y = h1 * h + s1 + c``, of vectors."""
    nodes = [helper.make_node("Mul", ["h", "k"], ["less"]),
             helper.make_node("Add", ["less", "x"], ["half"])]  # fmt: skip
    nodes += [helper.make_node(op, given, [made]) for op, given, made in NODES]

    def port(name: str) -> object:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [dims])

    outputs = ("y", *PAIRS.values(), "old")
    graph = helper.make_graph(
        nodes, "paired", [port(n) for n in INPUTS], [port(n) for n in outputs],
        [helper.make_tensor("k", TensorProto.FLOAT, [], [0.5])],
    )  # fmt: skip
    opset = helper.make_opsetid("", 17)
    return helper.make_model(graph, opset_imports=[opset], ir_version=9)


def compiled(arch: str, dims: int | str = 4, io: str = "caller") -> Program:
    """The program of `model`."""
    states = [f"{a}={b}" for a, b in PAIRS.items()]
    imported = frontend.from_onnx(model(dims), states=states)
    found = compile_entry(
        imported.mod, arch, Entry.of(imported, "paired"), CompileOptions(states=states, io=io)
    )
    assert isinstance(found, Program)
    return found


def write(folder: Path, weights: str = "c", arch: str = HOST, dims: int | str = 4) -> Path:
    """Its package."""
    return p.write_program(folder, compiled(arch, dims), weights)
