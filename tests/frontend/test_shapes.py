"""What the user says of the inputs' dims, put together with what the model says."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

from tvm_megcc.dims import GivenDim, Multiple, Symbol
from tvm_megcc.errors import InputError
from tvm_megcc.frontend import from_onnx
from tvm_megcc.frontend.input_shapes import bind

MODEL = {"x": ("f32", ["n", 3, "height", "width"]), "y": ("f32", ["k"])}


def bound(**shapes: list[GivenDim]) -> dict[str, tuple[int | str, ...]]:
    return {port.name: port.shape for port in bind(MODEL, shapes)}


def test_a_multiple_has_a_symbol_with_bounds_of_its_own() -> None:
    x, y = bind(MODEL, {"x": [1, 3, "32*(h=1..20)", "16*w"], "y": ["h"]})
    assert x.shape == (1, 3, "32*h", "16*w") and y.shape == ("h",)
    assert x.multiples == (Multiple(32, Symbol("h", 1, 20)), Multiple(16, Symbol("w")))
    assert x.symbols == y.symbols == (Symbol("h", 1, 20),)


def test_a_multiple_without_a_name_gets_one() -> None:
    (x, _) = bind(MODEL, {"x": [None, 3, "32*(2..4)", "8*?"]})
    assert x.shape == ("n", 3, "32*height_by_32", "8*width_by_8")
    assert x.symbols == (Symbol("height_by_32", 2, 4),)


def test_a_symbol_may_have_the_name_of_its_dim() -> None:
    x = bind(MODEL, {"x": [None, 3, "32*(height=1..20)", "32*width"]})[0]
    assert x.shape == ("n", 3, "32*height", "32*width")
    assert x.symbols == (Symbol("height", 1, 20),)


def test_bounds_of_a_dim_that_is_a_multiple_are_those_of_its_symbol() -> None:
    (x, y) = bind(MODEL, {"x": [None, 3, "16*m", None], "y": ["m=5..20"]})
    assert y.symbols == (Symbol("m", 5, 20),)
    declared = {"x": ("f32", ["2*s0"])}
    assert bind(declared, {"x": ["5..20"]})[0].symbols == (Symbol("s0", 3, 10),)


def test_a_multiple_of_a_size_is_a_size() -> None:
    assert bound(x=["n", 3, "32*k", None], y=[2]) == {"x": ("n", 3, 64, "width"), "y": (2,)}


def test_a_multiple_of_a_dim_with_another_name_is_one_of_that() -> None:
    assert bound(x=["n", 3, "4*k", None], y=["2*m"])["x"] == ("n", 3, "8*m", "width")
    assert bound(x=["n", 3, "4*k", None], y=["m"])["x"] == ("n", 3, "4*m", "width")


def test_the_model_may_say_it_itself() -> None:
    declared = {"x": ("f32", ["2*s0", "s0"])}
    assert bind(declared, {})[0].multiples == (Multiple(2, Symbol("s0")),)
    assert bind(declared, {"x": [None, 3]})[0].shape == (6, 3)
    assert bind(declared, {"x": [8, None]})[0].shape == (8, 4)
    with pytest.raises(InputError, match=r"dim 0 is 2\*s0 in the model, of which 5 is no multiple"):
        bind(declared, {"x": [5, None]})


@pytest.mark.parametrize(
    ("dims", "words"),
    [
        ([None, "2*h", None, None], r"dim 1 is 3 in the model, not 2\*h"),
        ([None, None, "32*(h=3..2)", None], "bounds 3 to 2, which hold no size"),
        ([None, None, "32*(h=1..2)", "16*(h=3..)"], "which have no size in common"),
    ],
)
def test_what_is_refused(dims: list[GivenDim], words: str) -> None:
    with pytest.raises(InputError, match=words):
        bind(MODEL, {"x": dims})


def added(*inputs: list[int | str]) -> onnx.ModelProto:
    """The sum of inputs of these dims, ``a``, ``b`` and so on."""
    names = "abc"[: len(inputs)]
    ports = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
        for name, dims in zip(names, inputs, strict=True)
    ]
    result = helper.make_empty_tensor_value_info("y")
    graph = helper.make_graph([helper.make_node("Sum", [*names], ["y"])], "sum", ports, [result])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


#: Dims of the inputs, what of their names says nothing, shapes given -> dims.
DISTINCT = {
    "nothing": ((["n", "k"], ["n", "k"]), (), {}, [("n", "k"), ("n", "k")]),
    "one name": ((["n", "k"], ["n", "k"]), ("n",), {}, [("a_dim0", "k"), ("b_dim0", "k")]),
    "a pattern": (
        (["unk__1", "unk__2"], ["unk__1", 3], ["m", "unk__12"]),
        ("unk__*",),
        {},
        [("a_dim0", "a_dim1"), ("b_dim0", 3), ("m", "c_dim1")],
    ),
    "two patterns": (
        (["n", "k"], ["n", "m"]),
        ("n", "[k-l]"),
        {},
        [("a_dim0", "a_dim1"), ("b_dim0", "m")],
    ),
    "within an input": ((["n", "n"],), ("n",), {}, [("a_dim0", "a_dim1")]),
    "and a size for one": (
        (["n", "k"], ["n", "k"]),
        ("n",),
        {"a": [4, None]},
        [(4, "k"), ("b_dim0", "k")],
    ),
    "and a name": (
        (["n", "k"], ["n", "k"]),
        ("n",),
        {"a": ["m", 3], "b": ["m", -1]},
        [("m", 3), ("m", 3)],
    ),
}


@pytest.mark.parametrize("case", DISTINCT)
def test_dims_whose_names_say_nothing(case: str) -> None:
    dims, distinct, shapes, expected = DISTINCT[case]
    model = added(*dims)
    before = model.SerializeToString()
    imported = from_onnx(model, shapes, distinct_dims=distinct)
    assert [port.shape for port in imported.inputs] == expected
    assert model.SerializeToString() == before


def test_a_pattern_that_fits_no_dim_is_refused() -> None:
    with pytest.raises(InputError, match="no input has a dim 'unk_'; the names are 'n', 'k'"):
        from_onnx(added(["n", "k"], [2, "n"]), distinct_dims=["n", "unk_"])
    with pytest.raises(InputError, match="'N'; the inputs' dims have no names"):
        from_onnx(added([2, 3]), distinct_dims=["N"])
