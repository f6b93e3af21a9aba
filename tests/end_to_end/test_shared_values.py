"""Models whose nodes use one value, or one size, several times: they compile as fast as others.

What walks such a graph as a tree takes a multiple of its time for each node more. One process
compiles all models, and may take so much of CPU.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

from tvm_megcc.host import package, toolchain

Nodes = list[onnx.NodeProto]
node = helper.make_node

#: CPU seconds for one model of these, and for all: a multiple of what they take (0.2 to 1.5 s).
ONE, ALL = 6, 60
#: Bytes of a manifest; of the C text of a package's generated kernels.
MANIFEST, TEXT = 400_000, 200_000

INTS = {"i0": 0, "i1": 1, "i2": 2, "i3": 3, "i7": 7}
VECTORS = {"axis0": [0], "axis1": [1], "two": [2], "three": [3], "minus": [-1], "end": [1 << 60]}


@dataclass(frozen=True)
class Case:
    """A model: its nodes for a number of steps, and the shapes that it is run with."""

    make: Callable[[int], tuple[Nodes, str]]
    steps: int
    shape: tuple[str | int, ...]
    runs: Sequence[tuple[int, ...]] = ()

    def model(self) -> onnx.ModelProto:
        nodes, result = self.make(self.steps)
        weights = [
            *(helper.make_tensor(n, TensorProto.INT64, [], [v]) for n, v in INTS.items()),
            *(helper.make_tensor(n, TensorProto.INT64, [1], v) for n, v in VECTORS.items()),
            helper.make_tensor("half", TensorProto.FLOAT, [], [0.5]),
            helper.make_tensor("small", TensorProto.FLOAT, [], [0.01]),
        ]
        given = helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)
        found = helper.make_tensor_value_info(result, TensorProto.FLOAT, None)
        used = {name for n in nodes for name in n.input}
        graph = helper.make_graph(
            nodes, "g", [given], [found], [w for w in weights if w.name in used]
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def steps(*rows: tuple[str, Sequence[str]]) -> Callable[[int], tuple[Nodes, str]]:
    """The same nodes again and again: ``y`` is a step's operand, ``a``, ``b``, ... its results."""

    def made(count: int) -> tuple[Nodes, str]:
        nodes: Nodes = []
        value = "x"
        for k in range(count):
            for number, (op, operands) in enumerate(rows):
                names = [value if o == "y" else f"{o}{k}" if len(o) == 1 else o for o in operands]
                is_last = number == len(rows) - 1
                result = f"y{k}" if is_last else f"{'abcdef'[number]}{k}"
                attrs = {"axes": [1], "keepdims": 1} if op == "ReduceMean" else {}
                nodes.append(node(op, names, [result], **attrs))
            value = f"y{k}"
        return nodes, value

    return made


def of_sizes(*rows: tuple[str, Sequence[str]]) -> Callable[[int], tuple[Nodes, str]]:
    """Steps of arithmetic on the first dim of x, ``d``; so many rows of x are the result."""

    def made(count: int) -> tuple[Nodes, str]:
        nodes = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "i0"], ["first"])]
        size = "first"
        for k in range(count):
            for number, (op, operands) in enumerate(rows):
                names = [size if o == "d" else f"{o}{k}" if len(o) == 1 else o for o in operands]
                result = f"d{k}" if number == len(rows) - 1 else f"{'abcdef'[number]}{k}"
                nodes.append(node(op, names, [result]))
            size = f"d{k}"
        nodes += [
            node("Max", [size, "i1"], ["most"]),
            node("Unsqueeze", ["most", "axis0"], ["rows"]),
            node("Slice", ["x", "axis0", "rows", "axis0"], ["y"]),
        ]
        return nodes, "y"

    return made


def growing(count: int) -> tuple[Nodes, str]:
    """Each step joins its operand and that halved: the height doubles as an expression."""
    nodes: Nodes = []
    value = "x"
    pool = {"kernel_shape": [3, 1], "strides": [2, 1], "pads": [1, 0, 1, 0]}
    for k in range(count):
        nodes.append(node("MaxPool", [value], [f"p{k}"], **pool))
        nodes.append(node("Concat", [value, f"p{k}"], [f"y{k}"], axis=2))
        value = f"y{k}"
    return nodes, value


def patches(count: int) -> tuple[Nodes, str]:
    """Attention on patches, as torch's exporter writes the patches' sizes: ``(h - 1) / 2 + 1``."""
    nodes: Nodes = [node("Shape", ["x"], ["s"])]
    for axis, side in (("two", "h"), ("three", "w")):
        nodes.append(node("Gather", ["s", axis], [side]))
        nodes.append(node("Sub", [side, "i1"], [f"{side}less"]))
    value, by = "x", 1
    for k in range(count):
        by *= 2
        nodes.append(node("Constant", [], [f"by{k}"], value_ints=[by]))
        for side in "hw":
            nodes.append(node("Div", [f"{side}less", f"by{k}"], [f"{side}q{k}"]))
            nodes.append(node("Add", [f"{side}q{k}", "i1"], [f"{side}{k}"]))
        pool = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
        nodes += [
            node("MaxPool", [value], [f"c{k}"], **pool),
            node("Constant", [], [f"flat{k}"], value_ints=[1, 4, -1]),
            node("Reshape", [f"c{k}", f"flat{k}"], [f"k{k}"]),
            node("Transpose", [f"k{k}"], [f"q{k}"], perm=[0, 2, 1]),
            node("MatMul", [f"q{k}", f"k{k}"], [f"qk{k}"]),
            node("Softmax", [f"qk{k}"], [f"soft{k}"], axis=-1),
            node("MatMul", [f"soft{k}", f"q{k}"], [f"v{k}"]),
            node("Transpose", [f"v{k}"], [f"t{k}"], perm=[0, 2, 1]),
            node("Constant", [], [f"front{k}"], value_ints=[1, 4]),
            node("Concat", [f"front{k}", f"h{k}", f"w{k}"], [f"image{k}"], axis=0),
            node("Reshape", [f"t{k}", f"image{k}"], [f"r{k}"]),
            node("Add", [f"r{k}", f"c{k}"], [f"y{k}"]),
        ]
        value = f"y{k}"
    return nodes, value


OPEN = ("n", "k")
CASES = {
    "squares": Case(steps(("Mul", "yy")), 60, (3, 8), [(3, 8)]),
    "open squares": Case(steps(("Mul", "yy")), 60, OPEN),
    "doubles": Case(steps(("Add", "yy"), ("Mul", ["a", "half"])), 30, OPEN, [(3, 5)]),
    "diamonds": Case(
        steps(("Add", ["y", "small"]), ("Sub", ["y", "half"]), ("Mul", "ab")), 30, OPEN, [(3, 5)]
    ),
    "two functions": Case(steps(("Sigmoid", "y"), ("Tanh", "y"), ("Mul", "ab")), 30, OPEN),
    "three operands": Case(
        steps(("Sum", "yyy"), ("Max", "aya"), ("Mul", ["b", "small"])), 30, OPEN
    ),
    "choices": Case(steps(("Less", ["y", "half"]), ("Neg", "y"), ("Where", "aby")), 30, OPEN),
    "reductions": Case(steps(("ReduceMean", "y"), ("Sub", "ya")), 30, OPEN),
    "reduced squares": Case(steps(("Mul", "yy"), ("ReduceMean", "a"), ("Mul", "yb")), 20, OPEN),
    "sizes": Case(
        of_sizes(
            ("Add", "dd"), ("Sub", ["a", "first"]), ("Div", ["b", "i2"]), ("Max", ["c", "first"])
        ),
        10,
        OPEN,
        [(5, 2), (0, 2)],
    ),
    "long sizes": Case(
        of_sizes(("Sub", ["d", "i7"]), ("Div", ["d", "i3"]), ("Mul", ["b", "i2"]), ("Max", "ca")),
        12,
        OPEN,
        [(100, 2), (3, 2)],
    ),
    "growing": Case(growing, 16, (1, 2, "h", 3), [(1, 2, 5, 3)]),
    "patches": Case(patches, 4, (1, 4, "h", "w"), [(1, 4, 33, 20), (1, 4, 16, 47)]),
}  # fmt: skip

_COMPILE = """
import resource, sys, time
from tvm_megcc import driver
for folder in sys.argv[1:]:
    before = time.process_time()
    driver.compile_model(f"{folder}/m.onnx", f"{folder}/pkg")
    print(time.process_time() - before, flush=True)
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, float]]:
    """Folder and CPU seconds of each model that was compiled within the limit."""
    root = tmp_path_factory.mktemp("shared_values")
    folders = [root / name.replace(" ", "_") for name in CASES]
    for folder, case in zip(folders, CASES.values(), strict=True):
        folder.mkdir()
        onnx.save(case.model(), folder / "m.onnx")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _COMPILE, *map(str, folders)],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (ALL, ALL)),
    )
    seconds = map(float, done.stdout.split())
    return {n: (f, s) for n, f, s in zip(CASES, folders, seconds, strict=False)}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_value_used_twice_costs_no_tree(name: str, compiled) -> None:
    assert name in compiled, f"'{name}', or a model before it, did not compile in {ALL} s of CPU"
    folder, seconds = compiled[name]
    assert seconds < ONE
    assert (folder / "pkg" / "manifest.json").stat().st_size < MANIFEST
    texts = (folder / "pkg" / "src" / "kernels").glob("*.c")
    assert sum(path.stat().st_size for path in texts) < TEXT


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.runs])
def test_a_value_used_twice_is_right(name: str, compiled) -> None:
    folder, _ = compiled[name]
    session = ort.InferenceSession(folder / "m.onnx")
    opened = package.load(folder / "pkg")
    arch = opened.choose("host")
    flags = ["-O1", "-DMEGCC_DEBUG"]
    exe = toolchain.build(opened.path, arch, build_dir=folder / "build", extra_cflags=flags)
    for shape in CASES[name].runs:
        x = np.random.default_rng(0).uniform(-1, 1, shape).astype("float32")
        (want,) = session.run(None, {"x": x})
        (got,) = toolchain.run_package(exe, arch, {"x": x}, opened.manifest).outputs.values()
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
