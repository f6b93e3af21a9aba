"""Every hint that the compiler prints about sizes: it is true, compiles, and keeps its promise.

ONNX Runtime says which sizes fit a model. A model that is compiled as a hint says gets no more
hints of that kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from tvm_megcc import driver
from tvm_megcc.advice import Needs, fit_of, of_ports
from tvm_megcc.cli import options
from tvm_megcc.core.program import programs_of
from tvm_megcc.dims import Multiple, Symbol, json_at, symbol, to_json
from tvm_megcc.dims.many_values import json_over
from tvm_megcc.dynamic_options import DynamicOptions

node = helper.make_node


class Model(NamedTuple):
    """Nodes, inputs with their dims, and weights; and sizes that do not fit."""

    nodes: Sequence[onnx.NodeProto]
    inputs: dict[str, Sequence[int | str]]
    weights: dict[str, np.ndarray]
    unfit: Sequence[dict[str, int]] = ()
    dtype: int = TensorProto.FLOAT

    def proto(self) -> onnx.ModelProto:
        ports = [helper.make_tensor_value_info(n, self.dtype, d) for n, d in self.inputs.items()]
        outputs = [helper.make_empty_tensor_value_info("y")]
        weights = [numpy_helper.from_array(v, n) for n, v in self.weights.items()]
        graph = helper.make_graph(self.nodes, "g", ports, outputs, weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


SIZE = {"size": ints(1, 3, 8, 8)}
TO_SIZE = node("Resize", ["c", "", "", "size"], ["y"], mode="linear")
POOL = {"kernel_shape": [2, 2], "strides": [2, 2]}
MODELS = {
    "resize": Model(
        [node("Resize", ["x", "", "", "size"], ["y"], mode="linear")],
        {"x": [1, 3, "H", "W"]}, SIZE,
    ),
    "cast and resize": Model(
        [node("Cast", ["x"], ["c"], to=TensorProto.FLOAT), TO_SIZE],
        {"x": [1, 3, "H", "W"]}, SIZE, dtype=TensorProto.UINT8,
    ),
    "classifier": Model(
        [
            node("Conv", ["x", "k"], ["a"], strides=[2, 2], pads=[1, 1, 1, 1]),
            node("Relu", ["a"], ["b"]),
            node("Conv", ["b", "l"], ["c"], strides=[2, 2], pads=[1, 1, 1, 1]),
            node("GlobalAveragePool", ["c"], ["d"]),
            node("Flatten", ["d"], ["e"]),
            node("Gemm", ["e", "m"], ["y"]),
        ],
        {"x": ["n", 3, "H", "W"]},
        {
            "k": np.ones((4, 3, 3, 3), "f4"),
            "l": np.ones((4, 4, 3, 3), "f4"),
            "m": np.ones((4, 5), "f4"),
        },
    ),
    "pools": Model(
        [node("MaxPool", ["x"], ["y"], kernel_shape=[4, 4], strides=[4, 4])],
        {"x": [1, 1, "h", "w"]}, {},
    ),
    "kernel of 300": Model(
        [node("Conv", ["x", "k"], ["y"])], {"x": [1, 1, "t"]}, {"k": np.ones((1, 1, 300), "f4")},
        [{"t": 256}],
    ),
    "two scales": Model(
        [
            node("MaxPool", ["x"], ["p"], **POOL),
            node("Resize", ["p", "", "twice"], ["u"], mode="nearest"),
            node("Add", ["u", "z"], ["y"]),
        ],
        {"x": [1, 1, "h", "w"], "z": [1, 1, "h", "w"]},
        {"twice": np.array([1, 1, 2, 2], "f4")},
        [{"h": 33, "w": 32}, {"h": 32, "w": 33}],
    ),
    "40 positions": Model(
        [
            node("Shape", ["x"], ["t"], start=1, end=2),
            node("Slice", ["table", "zero", "t", "zero"], ["e"]),
            node("Add", ["x", "e"], ["y"]),
        ],
        {"x": ["n", "t", 4]},
        {"table": np.ones((40, 4), "f4"), "zero": ints(0)},
        [{"n": 1, "t": 41}, {"n": 1, "t": 80}],
    ),
    "rows of 6": Model(
        [node("Reshape", ["x", "s"], ["y"])], {"x": ["n", 4]}, {"s": ints(-1, 6)},
        [{"n": 4}, {"n": 5}],
    ),
    "one size": Model(
        [node("Reshape", ["x", "s"], ["y"])], {"x": ["n", 4]}, {"s": ints(7, 4)},
        [{"n": 6}, {"n": 14}],
    ),
    "dims that meet": Model(
        [node("Add", ["a", "b"], ["y"])], {"a": ["n", 3], "b": ["m", 3]}, {},
    ),
    "found": Model([node("NonZero", ["x"], ["y"])], {"x": ["n", 3]}, {}),
    "known multiples": Model([node("Relu", ["x"], ["y"])], {"x": [1, "t"]}, {}),
}  # fmt: skip
#: What is said of the models beside the sizes of their inputs.
SAID = {
    "two scales": "multiples of 2 of 'h' and of 'w' fit the model, not all other sizes do; give",
    "rows of 6": "multiples of 3 of 'n' fit the model, not all other sizes do; give",
    "one size": "7 is the only size of 'n' that fits; give",
    "40 positions": "'n' and 't' are unbounded: what depends on them is planned at run time; give",
}
#: Targets whose hints differ.
ARCHS = {"x86": MODELS, "cortexm": ("resize", "two scales", "found", "40 positions")}
CASES = [(arch, name) for arch, names in ARCHS.items() for name in names]


def compiled(proto: onnx.ModelProto, arch: str, words: str = "") -> tuple[list[str], list[Any]]:
    """The hints, and the programs, of a model that is compiled with these options."""
    hints: list[str] = []
    shapes = re.search(r'--input-shapes "([^"]*)"', words)
    found = driver.compile_programs(
        proto,
        [arch],
        input_shapes=options.shapes(shapes[1]) if shapes else None,
        dynamic=DynamicOptions(arena="fixed" if "--arena fixed" in words else "exact"),
        advise=hints.append,
    )
    return hints, list(programs_of(found[arch]))


def ends(model: Model, words: str) -> Iterator[dict[str, int]]:
    """The least and the largest sizes of the shapes in a hint, by the names in the model."""
    shapes = re.search(r'--input-shapes "([^"]*)"', words)
    assert shapes is not None
    given = options.shapes(shapes[1])
    assert given is not None and given.keys() == model.inputs.keys()
    for end in (0, 1):
        sizes: dict[str, int] = {}
        for name, dims in model.inputs.items():
            for own, dim in zip(dims, given[name], strict=True):
                factor, bound = (dim.factor, dim.of) if isinstance(dim, Multiple) else (1, dim)
                if isinstance(own, int):
                    assert dim == own
                elif isinstance(bound, int):
                    sizes.setdefault(own, bound)
                elif isinstance(bound, Symbol) and bound.high is not None:
                    assert bound.low >= 1
                    sizes.setdefault(own, factor * (bound.low, bound.high)[end])
                else:
                    assert own in sizes, f"{own} has no bounds in {words}"
        yield sizes


def runs(model: Model, sizes: dict[str, int]) -> bool:
    """Whether ONNX Runtime has an answer for inputs of these sizes."""
    settings = ort.SessionOptions()
    settings.log_severity_level = 4
    session = ort.InferenceSession(model.proto().SerializeToString(), settings)
    dtype = helper.tensor_dtype_to_np_dtype(model.dtype)
    feeds = {
        n: np.ones([sizes.get(d, d) for d in dims], dtype)  # type: ignore[call-overload]
        for n, dims in model.inputs.items()
    }
    try:
        session.run(None, feeds)
    except Exception:  # its classes are not public
        return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize(("arch", "name"), CASES)
def test_a_hint_that_is_followed_keeps_what_it_promises(arch: str, name: str) -> None:
    model = MODELS[name]
    (hint, *others), _ = compiled(model.proto(), arch)
    assert "--input-shapes" in hint and ("multiples" in hint) == ("multiples" in SAID.get(name, ""))
    assert hint.startswith(SAID.get(name, "'"))
    for sizes in ends(model, hint):
        if name != "dims that meet":
            assert runs(model, sizes), f"{hint}: {sizes}"
    for sizes in model.unfit:
        assert not runs(model, sizes)
    again, programs = compiled(model.proto(), arch, hint)
    assert again == others
    depends = [line for line in others if "depends on data" in line]
    assert depends == others and bool(others) == (name == "found")
    if arch == "cortexm" and not others:
        assert hint.endswith("for an arena of fixed size")
        assert all(p.arena_bytes is not None for p in programs)
    else:
        assert hint.endswith("for an arena of known size")
        assert all((p.arena_limit if p.symbols else p.arena_bytes) is not None for p in programs)
    if "multiples" in hint:
        assert not any(p.requirements for p in programs)


@pytest.mark.slow
def test_what_is_said_of_bounds_that_are_given() -> None:
    """All bounds stand in the hint; without an open end it has nothing to say of the arena."""
    proto = MODELS["two scales"].proto()
    given = '--input-shapes "x:[1,1,h=4..32,w=2..8]"'
    (hint,), _ = compiled(proto, "x86", given)
    shapes = "x:[1,1,2*(h_by_2=2..16),2*(w_by_2=1..4)] z:[1,1,2*h_by_2,2*w_by_2]"
    assert hint == (
        "multiples of 2 of 'h' and of 'w' fit the model, not all other sizes do; give"
        f' --input-shapes "{shapes}" to say so'
    )
    hints, programs = compiled(proto, "x86", hint)
    assert not hints and not any(p.requirements for p in programs)
    multiples = '--input-shapes "x:[1,1,2*h,2*(1..8)]"'
    (hint,), _ = compiled(proto, "x86", multiples)
    assert hint.startswith("'2*h' is unbounded") and "2*(h=16..320)" in hint
    assert compiled(proto, "x86", hint)[0] == []


def test_a_multiple_of_a_dim_is_no_data() -> None:
    """An output whose dim is a symbol of multiples: nothing but shapes decides on it."""
    given = '--input-shapes "x:[1,1,4*(h=1..8),4*(1..8)]"'
    assert compiled(MODELS["pools"].proto(), "x86", given)[0] == []


N, M = symbol("n"), symbol("m")
#: Sizes that must be equal; the factor, the least and the largest size that fit.
FITS: dict[str, tuple[Any, Any, Any]] = {
    "all": (N, N, (1, 1, None)),
    "evens": (N // 2 * 2, N, (2, 2, None)),
    "30 at most": (N - N // 31 * N, N, (1, 1, 30)),
    "multiples of 12": (N // 4 * 4 + N // 3 * 3, N * 2, (12, 12, None)),
    "5": (N * 3, 15, (1, 5, 5)),
    "none": (N + 1, N, None),
    "of two symbols": (N, M, (1, 1, None)),
}


@pytest.mark.parametrize("name", FITS)
def test_which_sizes_fit(name: str) -> None:
    a, b, want = FITS[name]
    fit = fit_of("n", Needs([(to_json(a), to_json(b))]), Symbol("n"))
    assert (fit and (fit.factor, fit.least, fit.most)) == want


def test_sizes_of_many_values_are_those_of_each() -> None:
    atoms = [["floordiv", 7, [[1, ["n"]], [-3, []]]], ["floormod", [[1, ["n"]]], 4]]
    atoms += [[kind, [[1, ["n"]]], 3] for kind in ("min", "max", "eq", "lt", "stretch")]
    values = np.arange(9)
    for atom in atoms:
        size = [[2, [atom, "n"]], [-5, []]]
        found, valid = json_over(size, "n", values)
        for n in values:
            if n == 3 and atom[0] == "floordiv":
                assert not valid[n]
            else:
                assert valid[n] and found[n] == json_at(size, {"n": int(n)})


def test_a_size_of_0_says_nothing_of_the_others() -> None:
    """A model that takes no empty image takes every other one."""
    at_least_one = [[1, [["max", [[1, ["n"]]], 1]]]], [[1, ["n"]]]
    fit = fit_of("n", Needs([at_least_one]), Symbol("n"))
    assert fit is not None and (fit.factor, fit.least, fit.most) == (1, 1, None)


def test_dims_that_may_not_be_negative_or_should_not_be_empty() -> None:
    fit = fit_of("n", Needs(sizes=[to_json(N - 4)]), Symbol("n"))
    assert fit is not None and (fit.factor, fit.least) == (1, 5)
    fit = fit_of("n", Needs(sizes=[to_json(N % 8)]), Symbol("n"))
    assert fit is not None and (fit.factor, fit.least) == (1, 1)


class _Port(NamedTuple):
    name: str
    shape: tuple[int | str, ...]
    symbols: tuple[Symbol, ...]


def test_beside_a_quotient_of_nothing() -> None:
    """Pairs of sizes of two symbols, or one side of which has no value at 1."""
    quotient = [[1, [["floordiv", 7, [[1, ["n"]], [-1, []]]]]]]
    port = _Port("x", ("n", "b"), (Symbol("n"), Symbol("b")))
    (line,) = of_ports([port], [], Needs([(quotient, [[1, ["b"]]])]))
    assert line.startswith("'n' and 'b' are unbounded")
    (line,) = of_ports([port], [], Needs([(quotient, quotient)]))
    assert '"x:[2..8,1..256]"' in line
