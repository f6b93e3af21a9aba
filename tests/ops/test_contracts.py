"""Operands that must agree are made to disagree at run time, for every operator: always a status.

A new operator needs a row, or its name beside the reason why it needs none.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.ops.contracts import Port, Row, feed, floats, ints, joined
from tests.ops.packages import runner
from tvm_megcc import ops
from tvm_megcc.errors import MegccError, ToolError
from tvm_megcc.frontend import from_onnx, subgraphs
from tvm_megcc.ops.common import stock

X, Y = Port(("a", 3)), Port(("b", 3))
IMAGE = Port(("n", "c", 8, 8))
SAME = {"a": 2, "b": 2}
OTHER = [{"b": 3}, {"a": 4}]
SEQUENCE = {"steps": 3, "batch": 2, "size": 4, "lens": 2, "other": 2, "hidden": 5}
SCALE, ZERO = np.array(0.5, "float32"), np.array(3, "uint8")
ZEROS = np.zeros(3, np.uint8)
#: A matrix's columns of which four have a scale each: sizes that fit, and that do not.
COLUMNS = {"n": 4}, [{"n": 1}, {"n": 5}]


def cell(op: str, gates: int, states: int = 1) -> dict[str, Row]:
    """A recurrent layer, whose operands are all given when it runs but for the weights."""
    state = Port(("directions", "other", "hidden"))
    weights = [floats(1, gates * 5, 4), floats(1, gates * 5, 5), floats(1, 2 * gates * 5)]
    operands = [Port(("steps", "batch", "size")), *weights, Port(("lens",), "int32", 2)]
    bad = [{"size": 40}, {"size": 3}, {"lens": 1}, {"other": 3}, {"hidden": 4}, {"batch": 1},
           {"4": 4}, {"4": -1}, {"steps": 1}, {"directions": 2}]  # fmt: skip
    operands += [state] * states
    good = {**SEQUENCE, "directions": 1}
    known = Row(op, operands, good, bad, {"hidden_size": 5}, 2)
    rows = {"d": 1, "w": gates * 5, "r": gates * 5, "b": gates * 10, "k": 4, "h": 5}
    given = [Port((2, 3, 4)), Port(("d", "w", "k")), Port((1, "r", "h")), Port((1, "b"))]
    wrong = [{key: size + 1} for key, size in rows.items()] + [{"w": 5 * gates - 1}, {"b": 1}]
    return {op: known, f"{op}_given": Row(op, given, rows, wrong, {"hidden_size": 5}, 2)}


def elementwise(names: str, dtype: str = "float32", count: int = 2) -> dict[str, Row]:
    ports = [Port(X.dims, dtype), *[Port(Y.dims, dtype)] * (count - 1)]
    return {name: Row(name, ports, SAME, OTHER) for name in names.split()}


ROWS: dict[str, Row] = {
    **elementwise("Add Sub Mul Div Pow Mod Equal Less LessOrEqual Greater GreaterOrEqual"),
    **elementwise("Max Min Sum Mean", count=3),
    **elementwise("And Or Xor", "bool"),
    **elementwise("BitwiseAnd BitwiseOr BitwiseXor", "int32"),
    "BitShift": Row("BitShift", [Port(X.dims, "uint8"), Port(Y.dims, "uint8")], SAME, OTHER,
                    {"direction": "LEFT"}),
    "Where": Row("Where", [Port(("a", 3), "bool"), Port(("b", 3)), Port(("c", 3))],
                 {"a": 2, "b": 2, "c": 2}, [{"a": 3}, {"b": 3}, {"c": 3}]),
    "Concat": Row("Concat", [X, Port(("b", 4))], SAME, OTHER, {"axis": 1}),
    "MatMul": Row("MatMul", [Port((2, "a")), Port(("b", 4))], SAME, OTHER),
    "MatMul_batch": Row("MatMul", [Port(("a", 2, 3)), Port(("b", 3, 4))], SAME, OTHER),
    "MatMul_known": Row("MatMul", [Port(("n", "k")), floats(6, 4)], {"n": 2, "k": 6},
                        [{"k": 5}, {"k": 600}]),
    "Gemm": Row("Gemm", [Port(("m", "k")), Port(("l", "n")), Port(("o", "p"))],
                {"m": 2, "k": 3, "l": 3, "n": 4, "o": 2, "p": 4},
                [{"k": 4}, {"l": 2}, {"o": 3}, {"p": 5}, {"m": 3}]),
    "MatMulInteger": Row("MatMulInteger", [Port((2, "a"), "uint8"), Port(("b", 4), "uint8")],
                         SAME, OTHER),
    "QLinearMatMul": Row("QLinearMatMul",
                         [Port((2, "a"), "uint8"), SCALE, ZERO, Port(("b", 4), "uint8"), SCALE,
                          ZERO, SCALE, ZERO], SAME, OTHER),
    "Conv": Row("Conv", [IMAGE, floats(4, 3, 3, 3)], {"n": 1, "c": 3}, [{"c": 2}, {"c": 40}]),
    "Conv_given": Row("Conv", [IMAGE, Port((4, 3, 3, 3)), Port((4,))], {"n": 1, "c": 3},
                      [{"c": 2}, {"c": 4}]),
    "Conv_groups": Row("Conv", [IMAGE, floats(4, 3, 3, 3)], {"n": 1, "c": 6},
                       [{"c": 3}, {"c": 5}], {"group": 2}),
    "Conv_small": Row("Conv", [Port((1, 3, "h", 5)), floats(4, 3, 3, 3)], {"h": 4}, [{"h": 1}]),
    "ConvInteger": Row("ConvInteger", [Port(IMAGE.dims, "uint8"), np.ones((4, 3, 3, 3), "uint8")],
                       {"n": 1, "c": 3}, [{"c": 2}, {"c": 40}]),
    "QLinearConv": Row("QLinearConv",
                       [Port(IMAGE.dims, "uint8"), SCALE, ZERO, np.ones((4, 3, 3, 3), "uint8"),
                        SCALE, ZERO, SCALE, ZERO], {"n": 1, "c": 3}, [{"c": 2}, {"c": 40}]),
    "ConvTranspose": Row("ConvTranspose", [IMAGE, floats(3, 4, 3, 3)], {"n": 1, "c": 3},
                         [{"c": 2}, {"c": 40}]),
    "FusedConv": Row("FusedConv", [IMAGE, floats(4, 3, 3, 3)], {"n": 1, "c": 3},
                     [{"c": 2}, {"c": 40}], {"activation": "Relu"}, domain="com.microsoft"),
    "BatchNormalization": Row("BatchNormalization", [IMAGE, *[floats(3)] * 4], {"n": 1, "c": 3},
                              [{"c": 2}, {"c": 4}]),
    "BatchNormalization_given": Row(
        "BatchNormalization", [IMAGE, Port(("s",)), Port(("b",)), Port(("m",)), Port(("v",))],
        {"n": 1, "c": 3, "s": 3, "b": 3, "m": 3, "v": 3},
        [{"c": 2}, {"s": 2}, {"b": 4}, {"m": 2}, {"v": 4}]),
    "InstanceNormalization": Row("InstanceNormalization", [IMAGE, floats(3), floats(3)],
                                 {"n": 1, "c": 3}, [{"c": 2}, {"c": 4}]),
    "LayerNormalization": Row("LayerNormalization", [Port((2, "k")), floats(4), floats(4)],
                              {"k": 4}, [{"k": 5}, {"k": 3}]),
    "LayerNormalization_wide": Row("LayerNormalization",
                                   [Port(("j", "k")), floats(4), floats(2, 4)],
                                   {"j": 2, "k": 4}, [{"k": 5}, {"k": 40}, {"j": 3}], {"axis": 0}),
    "GroupNormalization": Row("GroupNormalization", [Port((2, "c", 3)), Port(("s",)), Port(("t",))],
                              {"c": 4, "s": 2, "t": 2}, [{"s": 3}, {"t": 1}, {"c": 5}],
                              {"num_groups": 2}),
    "PRelu": Row("PRelu", [Port((2, "c", 4)), floats(3, 1)], {"c": 3}, [{"c": 2}, {"c": 4}]),
    **cell("LSTM", 4, 2), **cell("GRU", 3), **cell("RNN", 1),
    "GridSample": Row("GridSample", [Port(("a", 2, 4, 4)), Port(("b", 3, 3, "xy"))],
                      {**SAME, "xy": 2}, [*OTHER, {"xy": 3}, {"xy": 1}]),
    **{f"GridSample_image_{padding}": Row(
        "GridSample", [Port((1, 2, "h", "w")), floats(1, 3, 3, 2)], {"h": 4, "w": 4},
        [{"h": 0}, {"w": 0}], {"padding_mode": padding}) for padding in ("zeros", "border")},
    "TopK": Row("TopK", [Port(("n", 2)), ints(3)], {"n": 4}, [{"n": 2}, {"n": 0}],
                {"axis": 0}, 2),
    "TopK_given": Row("TopK", [Port((4, 2)), Port((1,), "int64", 3)], {},
                      [{"1": 5}, {"1": -1}], {"axis": 0}, 2),
    "DepthToSpace": Row("DepthToSpace", [Port((1, "c", 2, 2))], {"c": 8}, [{"c": 6}, {"c": 9}],
                        {"blocksize": 2}),
    "SpaceToDepth": Row("SpaceToDepth", [Port((1, 2, "h", "w"))], {"h": 4, "w": 6},
                        [{"h": 3}, {"w": 5}], {"blocksize": 2}),
    "Compress": Row("Compress", [Port(("n", 2)), Port(("m",), "bool", True)], {"n": 4, "m": 3},
                    [{"m": 5}, {"n": 2}], {"axis": 0}),
    "Compress_flat": Row("Compress", [Port(("n", 2)), Port(("m",), "bool", True)],
                         {"n": 4, "m": 8}, [{"m": 9}, {"n": 3}]),
    "ReverseSequence": Row("ReverseSequence", [Port(("t", "n", 2)), Port(("m",), "int64", 2)],
                           {"t": 4, "n": 3, "m": 3},
                           [{"m": 4}, {"n": 2}, {"1": 5}, {"1": -3}]),
    "Einsum": Row("Einsum", [Port((2, "a")), Port(("b", 4))], SAME, OTHER,
                  {"equation": "ij,jk->ik"}),
    "Einsum_of_one": Row("Einsum", [Port(("a", 1)), Port(("b", 4))], SAME, OTHER,
                         {"equation": "ij,ij->ij"}),
    "Einsum_dots": Row("Einsum", [Port(("b", 2, "j")), Port(("c", "k", 4))],
                       {"b": 2, "c": 2, "j": 3, "k": 3}, [{"b": 3}, {"c": 40}, {"j": 4}, {"k": 2}],
                       {"equation": "...ij,...jk->...ik"}),
    "Einsum_diagonal": Row("Einsum", [Port((2, "a", "b"))], SAME, OTHER,
                           {"equation": "...ii->...i"}),
    "Split": Row("Split", [Port(("n", 2)), ints(2, 3)], {"n": 5}, [{"n": 4}, {"n": 6}],
                 {"axis": 0}, 2),
    "Split_given": Row("Split", [Port(("n", 2)), Port((2,), "int64", [2, 3])], {"n": 5},
                       [{"n": 4}, {"n": 6}, {"1": [6, -1]}, {"1": [2, 2]}], {"axis": 0}, 2),
    "Reshape": Row("Reshape", [Port(("n", 3)), ints(-1, 4)], {"n": 4}, [{"n": 3}, {"n": 5}]),
    "Reshape_all": Row("Reshape", [Port(("n", 3)), ints(2, 6)], {"n": 4}, [{"n": 3}, {"n": 5}]),
    "Reshape_given": Row("Reshape", [Port(("n", 3)), Port((2,), "int64", [-1, 4])], {"n": 4},
                         [{"n": 3}, {"1": [5, 2]}, {"1": [-2, 6]}, {"1": [-1, -1]}]),
    "Reshape_rest": Row("Reshape", [Port(("n", 3)), Port((2,), "int64", [0, -1])], {"n": 4},
                        [{"n": 0}]),
    "Reshape_one": Row("Reshape", [Port(("n", 1)), Port((2,), "int64", [-1, 1])], {"n": 1},
                       [{"1": [-1, -1]}]),
    **{
        f"Reshape_empty_{k}": Row("Reshape", [Port(("n", 3)), ints(*shape)], {"n": 0},
                                  [{"n": 12}], {"allowzero": 1})
        for k, shape in enumerate([(0,), (0, 4), (2, 0, 6)])
    },
    "Reshape_zero": Row("Reshape", [Port(("n", 3)), Port((2,), "int64", [0, 4])], {"n": 0},
                        [{"n": 1}, {"1": [0, -1]}, {"1": [-1, 0]}], {"allowzero": 1}),
    "Expand": Row("Expand", [Port(("n", 3)), ints(4, 3)], {"n": 4}, [{"n": 3}, {"n": 5}]),
    "Expand_given": Row("Expand", [Port(("n", 3)), Port((2,), "int64", [4, 3])], {"n": 4},
                        [{"n": 3}, {"1": [2, 3]}, {"1": [4, 2]}]),
    "Tile": Row("Tile", [Port(("n", 3)), Port((2,), "int64", 2)], {"n": 2}, [{"1": [1, -1]}]),
    "Slice_starts": Row("Slice", [Port((2, 3)), Port(("s",), "int64", 0), ints(2, 2), ints(0, 1)],
                        {"s": 2}, [{"s": 1}, {"s": 3}]),
    "Slice_lists": Row("Slice", [Port((2, 3)), Port((2,), "int64", 0), Port(("e",), "int64", 2),
                                 Port(("a",), "int64", [0, 1]), Port(("p",), "int64", 1)],
                       {"e": 2, "a": 2, "p": 2}, [{"e": 1}, {"e": 3}, {"a": 1, "3": 0}, {"p": 1}]),
    "Pad": Row("Pad", [Port(("n", 3)), ints(-2, 0, -1, 0)], {"n": 4}, [{"n": 2}]),
    "Pad_read_axes": Row("Pad", [Port((2, 3)), Port(("w",), "int64", 1), None,
                                 Port((1,), "int64", 1)], {"w": 2},
                         [{"w": 5}, {"w": 1}, {"3": 2}]),
    "Pad_same_axes": Row("Pad", [Port((2, 3)), Port((4,), "int64", 1), None,
                                 Port((2,), "int64", [0, 1])], {},
                         [{"3": [1, 1]}, {"3": [-1, 1]}, {"3": [0, 2]}]),
    "Pad_reflect": Row("Pad", [Port(("n", "m")), ints(1, -1, 0, 2)], {"n": 3, "m": 4},
                       [{"n": 0}, {"m": 1}], {"mode": "reflect"}),
    "CenterCropPad": Row("CenterCropPad", [Port(("n", 3)), Port((2,), "int64", [2, 5])], {"n": 4},
                         [{"1": [-1, 5]}, {"1": [2, -3]}]),
    "Squeeze": Row("Squeeze", [Port(("n", 3)), ints(0)], {"n": 1}, [{"n": 2}, {"n": 0}]),
    "Gather": Row("Gather", [Port(("n", 3)), ints(0, 3)], {"n": 4}, [{"n": 3}, {"n": 0}]),
    "Gather_one": Row("Gather", [Port(("n", 3)), np.array(-3)], {"n": 3}, [{"n": 2}]),
    "GatherElements": Row("GatherElements", [Port(("n", "k")), Port(("m", 2), "int64", 1)],
                          {"n": 4, "k": 3, "m": 3}, [{"m": 5}, {"n": 2}, {"k": 1}], {"axis": 1}),
    "GatherElements_known": Row("GatherElements", [Port(("n", 2)), ints(3, -4).reshape(1, 2)],
                                {"n": 4}, [{"n": 3}]),
    "GatherND": Row("GatherND", [Port(("n", 3, 2)), Port(("m", 4, 1), "int64", 1)],
                    {"n": 4, "m": 4}, [{"m": 5}, {"n": 2}], {"batch_dims": 1}),
    "GatherND_known": Row("GatherND", [Port(("n", "k")), ints(3, -2).reshape(1, 2)],
                          {"n": 4, "k": 2}, [{"n": 3}, {"k": 1}]),
    "ScatterElements": Row(
        "ScatterElements", [Port(("n", "k")), Port(("m", 2), "int64", 1), Port(("u", "v"))],
        {"n": 4, "k": 3, "m": 3, "u": 3, "v": 2},
        [{"m": 5, "u": 5}, {"u": 2}, {"u": 4}, {"v": 3}, {"v": 1}, {"k": 1}], {"axis": 1}),
    "ScatterND": Row(
        "ScatterND", [Port(("n", "k")), Port(("m", 1), "int64", 1), Port(("u", "v"))],
        {"n": 4, "k": 3, "m": 3, "u": 3, "v": 3}, [{"u": 2}, {"u": 4}, {"v": 4}, {"k": 4}]),
    "ScatterND_known": Row("ScatterND", [Port(("n", 2)), ints(3, -4).reshape(2, 1), floats(2, 2)],
                           {"n": 4}, [{"n": 3}]),
    "MaxPool": Row("MaxPool", [Port((1, 2, "h", 5))], {"h": 4}, [{"h": 1}],
                   {"kernel_shape": [3, 3]}),
    "MaxPool_padding": Row("MaxPool", [Port((1, 2, "h", 5))], {"h": 4}, [{"h": 0}],
                           {"kernel_shape": [2, 2], "pads": [1] * 4}),
    "GlobalMaxPool": Row("GlobalMaxPool", [Port((1, 2, "h", "w"))], {"h": 4, "w": 3},
                         [{"h": 0}, {"w": 0}]),
    "NonMaxSuppression": Row("NonMaxSuppression",
                             [Port(("b", "k", "corners")), Port(("c", 2, "s")), ints(3)],
                             {"b": 1, "k": 3, "corners": 4, "c": 1, "s": 3},
                             [{"corners": 3}, {"corners": 5}, {"k": 2}, {"b": 2}]),
    "AveragePool": Row("AveragePool", [Port((1, 2, "h", 5))], {"h": 4}, [{"h": 1}],
                       {"kernel_shape": [3, 3]}),
    "LpPool": Row("LpPool", [Port((1, 2, "h", 5))], {"h": 4}, [{"h": 1}],
                  {"kernel_shape": [3, 3]}),
    "RoiAlign": Row("RoiAlign",
                    [Port((2, 2, 4, 4)), Port(("r", 4), values=1), Port(("s",), "int64", 0)],
                    {"r": 3, "s": 3}, [{"s": 4}, {"r": 2}, {"2": 2}, {"2": -1}, {"2": 10**9}],
                    {"output_height": 2, "output_width": 2}),
    "RoiAlign_corners": Row("RoiAlign", [Port((2, 2, 4, 4)), Port((3, "f"), values=1),
                                         ints(0, 1, 0)], {"f": 4}, [{"f": 3}, {"f": 5}]),
    "RoiAlign_samples": Row("RoiAlign", [Port((2, 2, 4, 4)), Port(("r", 4), values=1), ints(0)],
                            {"r": 1}, [{"1": np.inf}, {"1": np.nan}, {"1": [0, 0, 1e6, 1e6]}],
                            {"output_height": 2, "output_width": 2}),
    "MaxRoiPool_corners": Row("MaxRoiPool", [Port((2, 2, 4, 4)), Port((3, "f"), values=1)],
                              {"f": 5}, [{"f": 4}, {"f": 6}], {"pooled_shape": [2, 2]}),
    "RoiAlign_image": Row("RoiAlign",
                          [Port((2, 2, "h", "w")), Port((3, 4), values=1), ints(0, 1, 0)],
                          {"h": 4, "w": 4}, [{"h": 0}, {"w": 0}]),
    "MaxRoiPool_image": Row("MaxRoiPool",
                            [Port((2, 2, "h", "w")), Port((3, 5), values=[1, 0, 0, 2, 2])],
                            {"h": 4, "w": 4}, [{"h": 0}, {"w": 0}], {"pooled_shape": [2, 2]}),
    "Resize": Row("Resize", [Port((1, 1, "h", 4)), None, None, ints(1, 1, 6, 8)], {"h": 3},
                  [{"h": 0}], {"mode": "linear"}),
    "Resize_cubic": Row("Resize", [Port((1, 1, "h", 4)), None, None, ints(1, 1, 6, 4)],
                        {"h": 3}, [{"h": 0}], {"mode": "cubic"}),
    "DFT": Row("DFT", [Port((2, "m", 1))], {"m": 4}, [{"m": 0}], {"onesided": 1}),
    "MaxUnpool": Row("MaxUnpool", [Port((1, 1, 2, "w")), Port((1, 1, 2, "w"), "int64", 3)],
                     {"w": 2}, [{"1": 16}, {"1": -1}, {"1": 10**6}],
                     {"kernel_shape": [2, 2], "strides": [2, 2]}),
    "MaxUnpool_apart": Row("MaxUnpool", [Port((1, 1, 2, "w")), Port((1, 1, 2, "w"), "int64", 3),
                                         ints(1, 1, 5, 5)],
                           {"w": 2}, [{"w": 0}], {"kernel_shape": [2, 2], "strides": [3, 3]}),
    "MaxUnpool_corner": Row("MaxUnpool", [Port((1, 1, 2, "w")), Port((1, 1, 2, "w"), "int64", 3),
                                          ints(1, 1, 4, 4)],
                            {"w": 2}, [{"w": 3}], {"kernel_shape": [2, 2], "strides": [2, 2]}),
    "QuantizeLinear": Row("QuantizeLinear", [Port(("n", "c")), floats(3), ZEROS], {"n": 2, "c": 3},
                          [{"c": 2}, {"c": 4}], {"axis": 1}),
    "QuantizeLinear_row": Row("QuantizeLinear", [Port(("n",)), floats(3), ZEROS], {"n": 3},
                              [{"n": 2}, {"n": 4}], {"axis": 0}),
    "QuantizeLinear_blocks": Row(
        "QuantizeLinear", [Port(("n", 4, "m")), Port(("k", 2, 3), values=1),
                           Port(("z", 2, 3), "uint8", 0)],
        {"n": 2, "k": 2, "z": 2, "m": 3}, [{"n": 1}, {"n": 3}, {"k": 1}, {"z": 1}, {"m": 4}],
        {"axis": 1, "block_size": 2}),
    "DequantizeLinear_blocks": Row(
        "DequantizeLinear", [Port(("n", 4, "m"), "uint8"), floats(1, 2, 3)], {"n": 1, "m": 3},
        [{"n": 2}, {"n": 0}, {"m": 1}], {"axis": 1, "block_size": 2}),
    "DequantizeLinear": Row("DequantizeLinear", [Port(("n", "c"), "uint8"), floats(3), ZEROS],
                            {"n": 2, "c": 3}, [{"c": 2}, {"c": 4}], {"axis": 1}),
    "DequantizeLinear_row": Row("DequantizeLinear", [Port(("n",), "uint8"), floats(3), ZEROS],
                                {"n": 3}, [{"n": 2}, {"n": 4}], {"axis": 0}),
    "QLinearConcat": Row("QLinearConcat",
                         [SCALE, ZERO, Port(("a", 3), "uint8"), SCALE, ZERO,
                          Port(("b", 4), "uint8"), SCALE, ZERO], SAME, OTHER, {"axis": 1},
                         domain="com.microsoft"),
    "MatMulIntegerToFloat": Row("MatMulIntegerToFloat",
                                [Port((2, "a"), "uint8"), Port(("b", 4), "uint8"), SCALE, SCALE],
                                SAME, OTHER, domain="com.microsoft"),
    "NhwcMaxPool": Row("NhwcMaxPool", [Port((1, "h", 5, 2), "uint8")], {"h": 4}, [{"h": 1}],
                       {"kernel_shape": [3, 3]}, domain="com.microsoft"),
    "QLinearAveragePool": Row("QLinearAveragePool",
                              [Port((1, 2, "h", 5), "uint8"), SCALE, ZERO, SCALE, ZERO], {"h": 4},
                              [{"h": 1}], {"kernel_shape": [3, 3]}, domain="com.microsoft"),
    "MaxRoiPool": Row("MaxRoiPool", [Port((2, 2, 4, 4)), Port((3, 5), values=[1, 0, 0, 2, 2])],
                      {}, [{"1": [2, 0, 0, 2, 2]}, {"1": [-1, 0, 0, 2, 2]}],
                      {"pooled_shape": [2, 2]}),
    "QLinearAdd": Row("QLinearAdd",
                      [Port(X.dims, "uint8"), SCALE, ZERO, Port(Y.dims, "uint8"), SCALE, ZERO,
                       SCALE, ZERO], SAME, OTHER, domain="com.microsoft"),
    "QLinearMul": Row("QLinearMul",
                      [Port(X.dims, "uint8"), SCALE, ZERO, Port(Y.dims, "uint8"), SCALE, ZERO,
                       SCALE, ZERO], SAME, OTHER, domain="com.microsoft"),
    "QLinearWhere": Row("QLinearWhere",
                        [Port(("c", 3), "bool"), Port(X.dims, "uint8"), SCALE, ZERO,
                         Port(Y.dims, "uint8"), SCALE, ZERO, SCALE, ZERO], {**SAME, "c": 2},
                        [*OTHER, {"c": 4}], domain="com.microsoft"),
    "QGemm": Row("QGemm", [Port((2, "a"), "uint8"), SCALE, ZERO, Port(("b", 4), "uint8"), SCALE,
                           ZERO, None, SCALE, ZERO], SAME, OTHER, domain="com.microsoft"),
    "DynamicQuantizeMatMul": Row("DynamicQuantizeMatMul",
                                 [Port((2, "a")), Port(("b", 4), "uint8"), SCALE, ZERO], SAME,
                                 OTHER, domain="com.microsoft"),
    "QLinearAdd_scale": Row("QLinearAdd",
                            [Port((2, 3), "uint8"), Port(("s",)), ZERO, Port((2, 3), "uint8"),
                             SCALE, ZERO, SCALE, ZERO], {"s": 1}, [{"s": 3}, {"s": 0}],
                            domain="com.microsoft"),
    "QGemm_columns": Row("QGemm", [Port((2, 3), "uint8"), SCALE, ZERO, Port((3, "n"), "uint8"),
                                   floats(4), ZERO, None, SCALE, ZERO], *COLUMNS,
                         domain="com.microsoft"),
    "MatMulIntegerToFloat_columns": Row(
        "MatMulIntegerToFloat", [Port((2, 3), "uint8"), Port((3, "n"), "uint8"), SCALE, floats(4),
                                 None, None, Port(("b",))], {"n": 4, "b": 4},
        [{"n": 1}, {"b": 1}, {"n": 1, "b": 1}, {"b": 5}], domain="com.microsoft"),
    "DynamicQuantizeMatMul_columns": Row(
        "DynamicQuantizeMatMul", [Port((2, 3)), Port((3, "n"), "uint8"), floats(4)], *COLUMNS,
        domain="com.microsoft"),
    "QLinearMatMul_columns": Row(
        "QLinearMatMul", [Port((2, 3), "uint8"), SCALE, ZERO, Port((3, "n"), "uint8"), floats(4),
                          np.ones(4, "uint8"), SCALE, ZERO], *COLUMNS),
    "MatMulInteger_columns": Row(
        "MatMulInteger", [Port(("m", 3), "uint8"), Port((3, "n"), "uint8"), np.ones(2, "uint8"),
                          np.ones(4, "uint8")], {"m": 2, "n": 4},
        [{"m": 1}, {"m": 3}, {"n": 1}, {"n": 5}]),
    "MatMulNBits_bias": Row("MatMulNBits",
                            [Port((2, 16)), np.ones((4, 1, 8), "uint8"), floats(4), None, None,
                             Port(("b",))], {"b": 4}, [{"b": 1}, {"b": 5}],
                            {"K": 16, "N": 4, "bits": 4, "block_size": 16},
                            domain="com.microsoft"),
    "DynamicQuantizeLSTM": Row(
        "DynamicQuantizeLSTM",
        [Port(("steps", "batch", "size")), np.ones((1, 4, 20), "uint8"),
         np.ones((1, 5, 20), "uint8"), None, Port(("lens",), "int32", 2),
         *[Port((1, "other", "hidden"))] * 2, None, *[SCALE.reshape(1), ZERO.reshape(1)] * 2],
        SEQUENCE, [{"size": 40}, {"lens": 1}, {"other": 3}, {"hidden": 4}, {"batch": 1}],
        {"hidden_size": 5}, 2, "com.microsoft"),
    "FusedMatMul": Row("FusedMatMul", [Port(("a", 2)), Port(("b", 4))], SAME, OTHER,
                       {"transA": 1}, domain="com.microsoft"),
    "FusedGemm": Row("FusedGemm", [Port((2, "a")), Port(("b", 4))], SAME, OTHER,
                     {"activation": "Relu"}, domain="com.microsoft"),
    "Inverse": Row("Inverse", [Port((2, "a", "b"))], SAME, OTHER, domain="com.microsoft"),
    "BiasGelu": Row("BiasGelu", [Port((2, "k")), floats(4)], {"k": 4}, [{"k": 5}, {"k": 3}],
                    domain="com.microsoft"),
    "SkipLayerNormalization": Row("SkipLayerNormalization",
                                  [Port(("a", 2, "k")), Port(("b", 2, 4)), floats(4)],
                                  {**SAME, "k": 4}, [*OTHER, {"k": 5}], domain="com.microsoft"),
    "SkipSimplifiedLayerNormalization": Row(
        "SkipSimplifiedLayerNormalization", [Port(("a", 2, "k")), Port(("b", 2, 4)), floats(4)],
        {**SAME, "k": 4}, [*OTHER, {"k": 5}], domain="com.microsoft"),
    "EmbedLayerNormalization": Row(
        "EmbedLayerNormalization",
        [Port(("a", "s"), "int32", 2), Port(("b", "t"), "int32", 1), floats(3, 4), floats(5, 4),
         floats(2, 4), floats(4), floats(4)], {**SAME, "s": 3, "t": 3},
        [*OTHER, {"t": 4}, {"s": 6, "t": 6}, {"0": 3}, {"0": -1}, {"1": 2}], {}, 2,
        "com.microsoft"),
    "Attention_merged": Row(
        "Attention",
        [Port(("a", "s", "k")), floats(8, 12), floats(12), Port(("b", "t"), "int32", 1)],
        {**SAME, "s": 3, "t": 3, "k": 8}, [*OTHER, {"t": 4}, {"k": 7}], {"num_heads": 2},
        domain="com.microsoft"),
    "Attention_masks": Row(
        "Attention",
        [Port(("a", "s", 8)), floats(8, 12), floats(12), Port((2, 3, 3), "int32", 1), None,
         Port(("b", "heads", "q", "t"))],
        {**SAME, "s": 3, "heads": 2, "q": 3, "t": 3},
        [{"s": 4}, {"heads": 3}, {"q": 2}, {"t": 4}, {"a": 3}, {"b": 3}], {"num_heads": 2},
        domain="com.microsoft"),
    "MultiHeadAttention": Row(
        "MultiHeadAttention",
        [Port(("a", 3, 8)), Port(("b", "s", 8)), Port((2, "t", 4)), None,
         Port((2, "m"), "int32", 1)], {**SAME, "s": 5, "t": 5, "m": 5},
        [*OTHER, {"s": 4}, {"t": 6}, {"m": 4}], {"num_heads": 2}, domain="com.microsoft"),
    "MultiHeadAttention_masks": Row(
        "MultiHeadAttention",
        [Port(("a", 3, 8)), Port((2, "s", 8)), Port((2, 5, 4)), None,
         Port((2, 3, 5), "int32", 1), Port(("b", "heads", "q", "t"))],
        {**SAME, "s": 5, "heads": 2, "q": 3, "t": 5},
        [{"s": 4}, {"heads": 46341}, {"q": 2}, {"t": 4}, {"a": 3}, {"b": 3}], {"num_heads": 2},
        domain="com.microsoft"),
    "MultiHeadAttention_past": Row(
        "MultiHeadAttention",
        [Port((2, 3, 8)), Port((2, 5, 8)), Port((2, 5, 4)), None, None, None,
         Port(("a", "heads", "p", 4)), Port(("b", 2, "q", 2))],
        {**SAME, "heads": 2, "p": 3, "q": 3},
        [*OTHER, {"heads": 3}, {"p": 4}, {"q": 2}], {"num_heads": 2}, 3, domain="com.microsoft"),
    "RotaryEmbedding": Row(
        "RotaryEmbedding",
        [Port(("a", 3, 8)), Port(("b", "s"), "int64", 1), floats(4, 2), floats(4, 2)],
        {**SAME, "s": 3}, [*OTHER, {"s": 2}, {"1": 4}, {"1": -1}], domain="com.microsoft"),
    "GroupQueryAttention": Row(
        "GroupQueryAttention",
        [Port(("a", 2, 64)), Port(("b", "s", 32)), Port((2, 2, 32)), Port((2, 2, 3, 16)),
         Port((2, 2, "p", 16)), Port(("c",), "int32", 3), Port((), "int32", 4)],
        {**SAME, "s": 2, "p": 3, "c": 2}, [*OTHER, {"s": 3}, {"p": 4}, {"c": 3}, {"5": 4}],
        {"num_heads": 4, "kv_num_heads": 2}, 3, "com.microsoft"),
    "GatherBlockQuantized": Row(
        "GatherBlockQuantized",
        [np.ones((4, 8), "uint8"), Port(("n",), "int64", 2), np.ones((4, 1), "float32")], {"n": 2},
        [{"1": 4}, {"1": -5}], {"bits": 4, "block_size": 16}, domain="com.microsoft"),
    "MatMulNBits": Row("MatMulNBits", [Port((2, "k")), np.ones((4, 1, 8), "uint8"), floats(4)],
                       {"k": 16}, [{"k": 15}, {"k": 17}],
                       {"K": 16, "N": 4, "bits": 4, "block_size": 16}, domain="com.microsoft"),
    "ArrayFeatureExtractor": Row("ArrayFeatureExtractor",
                                 [Port((2, "f")), Port((1, 2), "int64", 2)], {"f": 3},
                                 [{"f": 2}, {"1": 3}, {"1": -4}], domain="ai.onnx.ml"),
    "LinearRegressor": Row("LinearRegressor", [Port(("n", "f"))], {"n": 2, "f": 3},
                           [{"f": 2}, {"f": 30}], {"coefficients": [1.0, 2.0, 3.0]},
                           domain="ai.onnx.ml"),
    "LinearClassifier": Row("LinearClassifier", [Port(("n", "f"))], {"n": 2, "f": 3},
                            [{"f": 2}, {"f": 30}],
                            {"coefficients": [1.0, 2.0, 3.0] * 2, "intercepts": [0.0, 1.0],
                             "classlabels_ints": [0, 1]}, 2, "ai.onnx.ml"),
    "SVMClassifier": Row("SVMClassifier", [Port(("n", "f"))], {"n": 2, "f": 3},
                         [{"f": 2}, {"f": 30}],
                         {"coefficients": [1.0, -2.0, 3.0], "rho": [0.5], "prob_a": [-1.0],
                          "vectors_per_class": [2, 1], "support_vectors": [1.0, 2.0, 3.0] * 3,
                          "classlabels_ints": [4, 2], "prob_b": [0.5], "kernel_type": "RBF",
                          "kernel_params": [0.5, 0.1, 3.0]}, 2, "ai.onnx.ml"),
    "SVMRegressor": Row("SVMRegressor", [Port(("n", "f"))], {"n": 2, "f": 3},
                        [{"f": 2}, {"f": 30}],
                        {"coefficients": [1.0, 2.0, 3.0], "rho": [0.5], "n_supports": 0,
                         "kernel_type": "LINEAR"}, domain="ai.onnx.ml"),
    "SVMRegressor_vectors": Row("SVMRegressor", [Port(("n", "f"))], {"n": 2, "f": 3},
                                [{"f": 2}, {"f": 30}],
                                {"coefficients": [1.0, 2.0], "rho": [0.5], "n_supports": 2,
                                 "support_vectors": [1.0, 2.0, 3.0] * 2, "kernel_type": "LINEAR"},
                                domain="ai.onnx.ml"),
    "AffineGrid": Row("AffineGrid", [Port(("b", 2, 3)), ints(2, 1, 2, 2)], {"b": 2},
                      [{"b": 1}, {"b": 3}]),
    "AffineGrid_matrix": Row("AffineGrid", [Port((2, "r", "c")), ints(2, 1, 2, 2)],
                             {"r": 2, "c": 3}, [{"r": 3}, {"c": 2}]),
    "STFT": Row("STFT", [Port((2, 8, 1)), ints(2).reshape(()), Port(("w",))], {"w": 4},
                [{"w": 12}, {"w": 9}, {"w": 0}]),
    "STFT_alone": Row("STFT", [Port((2, "s", 1)), ints(2).reshape(())], {"s": 8}, [{"s": 0}]),
    "STFT_signal": Row("STFT", [Port((2, "s", 1)), ints(2).reshape(()), None, ints(8).reshape(())],
                       {"s": 8}, [{"s": 7}, {"s": 2}]),
    "TensorScatter": Row("TensorScatter",
                         [Port(("b", "s", 2)), Port(("c", "t", 2)), Port(("i",), "int64", 1)],
                         {"b": 2, "s": 4, "c": 2, "t": 2, "i": 2},
                         [{"b": 3}, {"c": 1}, {"i": 3}, {"s": 2}, {"t": 4}, {"2": 3}, {"2": -1}]),
    **{
        op: Row(op, [Port(("n", "c", "d")), Port(("m", "e"), "int64", 0), Port(("w",))],
                {"n": 2, "c": 3, "d": 4, "m": 2, "e": 4, "w": 3},
                [{"m": 1}, {"m": 3}, {"e": 3}, {"d": 5}, {"w": 4}, {"c": 2}, {"1": 3}])
        for op in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
    },
    "Col2Im": Row("Col2Im", [Port(("n", "c", "l")), ints(5, 5), ints(1, 5)],
                  {"n": 1, "c": 5, "l": 5}, [{"c": 4}, {"c": 6}, {"l": 4}, {"l": 6}]),
}  # fmt: skip

OPSET = 18

#: Before opset 7 an attribute said where the second operand stands in the first one's dims.
OLD = {
    "PRelu": Row("PRelu", [Port((2, "c", 4)), floats(3)], {"c": 3}, [{"c": 2}, {"c": 4}]),
    "PRelu_length": Row("PRelu", [Port((2, 3, "l")), floats(3)], {"l": 4}, []),
    **{op: Row(op, [Port((2, "a", 4)), Port(("b",))], {"a": 3, "b": 3}, [{"a": 4}, {"b": 30}],
               {"broadcast": 1, "axis": 1}) for op in ("Add", "Pow")},
}  # fmt: skip

#: Operators that came later.
LATE = {
    "RotaryEmbedding_whole": Row(
        "RotaryEmbedding",
        [Port(("a", 2, "l", "d")), Port((9, "h")), Port((9, "i")), Port(("b", "m"), "int64", 1)],
        {**SAME, "l": 3, "m": 3, "d": 4, "h": 2, "i": 2},
        [*OTHER, {"m": 2}, {"h": 1}, {"i": 1}, {"d": 5}, {"h": 3}, {"3": 9}, {"3": -1},
         {"h": 1, "i": 1}]),
    "RotaryEmbedding_part": Row(
        "RotaryEmbedding",
        [Port(("a", "l", "d")), Port(("b", "m", "h")), Port(("b", "m", "i"))],
        {**SAME, "l": 3, "m": 3, "d": 12, "h": 2, "i": 2},
        [*OTHER, {"m": 1}, {"b": 1}, {"h": 1}, {"i": 1}, {"d": 6}, {"d": 11}, {"h": 1, "i": 1},
         {"h": 3, "i": 3}], {"num_heads": 2, "rotary_embedding_dim": 4}),
    "Attention_heads": Row(
        "Attention",
        [Port(("a", 4, 3, "h")), Port(("b", "k", "t", "g")), Port((2, "l", "u", 5))],
        {**SAME, "h": 8, "k": 2, "t": 6, "g": 8, "l": 2, "u": 6},
        [*OTHER, {"b": 1}, {"h": 7}, {"g": 1}, {"k": 4}, {"l": 1}, {"u": 5}, {"u": 1}]),
    "Attention_packed": Row(
        "Attention",
        [floats(2, 4, 12), Port(("b", "t", "d")), Port((2, "u", 5)), Port((2, 1, 4, "t"))],
        {"b": 2, "t": 6, "d": 4, "u": 6}, [{"b": 1}, {"d": 1}, {"d": 5}, {"u": 5}, {"u": 1}],
        {"q_num_heads": 3, "kv_num_heads": 1}),
    "Attention_keys": Row(
        "Attention", [Port((2, 4, "d")), floats(2, 6, 8), floats(2, 6, 10)], {"d": 16},
        [{"d": 8}, {"d": 4}, {"d": 15}], {"q_num_heads": 4, "kv_num_heads": 2}),
    "Attention_past": Row(
        "Attention",
        [floats(2, 4, 3, 8), floats(2, 4, 6, 8), floats(2, 4, 6, 5), None,
         Port(("b", 4, "p", "h")), Port((2, "c", "r", "v"))],
        {"b": 2, "p": 3, "h": 8, "c": 4, "r": 3, "v": 5},
        [{"b": 1}, {"h": 1}, {"c": 1}, {"r": 2}, {"v": 1}]),
}  # fmt: skip

#: Those of the newest opset.
NEWEST = {
    "SwiGLU": Row("SwiGLU", [X, Y], SAME, [*OTHER, {"a": 1}, {"b": 1}]),
    "CausalConvWithState": Row(
        "CausalConvWithState",
        [Port(("a", "c", 6)), floats(3, 1, 4), Port(("w",)), Port(("b", "d", "k"))],
        {**SAME, "c": 3, "d": 3, "w": 3, "k": 3},
        [*OTHER, {"b": 1}, {"c": 4}, {"w": 1}, {"d": 1}, {"k": 2}, {"k": 4}], outputs=2),
    "LinearAttention": Row(
        "LinearAttention",
        [floats(2, 5, 16), Port(("b", "t", "d")), Port((2, "s", 10)), Port(("c", "h", 4, 5))],
        {"b": 2, "t": 5, "d": 8, "s": 5, "c": 2, "h": 2},
        [{"b": 1}, {"t": 1}, {"d": 4}, {"d": 9}, {"s": 1}, {"c": 1}, {"h": 1}],
        {"q_num_heads": 4, "kv_num_heads": 2, "update_rule": "linear"}, 2),
}  # fmt: skip

#: Why an operator needs no row.
WITHOUT = {
    "one operand, of any dims": """
        Abs Acos Acosh ArgMax ArgMin Asin Asinh Atan Atanh Binarizer BitwiseNot Cast Ceil Cos Cosh
        DynamicQuantizeLinear Elu Erf Exp EyeLike Flatten Floor Gelu GlobalAveragePool GlobalLpPool
        HardSigmoid HardSwish Hardmax Identity IsInf IsNaN LRN LabelEncoder LeakyRelu
        Celu Log LogSoftmax MeanVarianceNormalization Mish Neg NonZero Normalizer Not
        OneHotEncoder Reciprocal Relu Round Selu Shape Shrink Sigmoid Sign Sin Sinh Size Softmax
        Softplus Softsign Sqrt Tan Tanh ThresholdedRelu Transpose Unique ZipMap FastGelu
        TfIdfVectorizer BitCast Det LpNormalization QuickGelu QLinearGlobalAveragePool
        Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike""",
    "the other operands are scalars": """
        Clip CumProd CumSum Dropout QLinearLeakyRelu QLinearSigmoid Range Trilu MelWeightMatrix
        QLinearSoftmax HannWindow HammingWindow BlackmanWindow""",
    "the other operand gives its type only": "CastLike",
    "the other operands are axes: those that are computed are looked at when they are read": """
        ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd
        ReduceSum ReduceSumSquare Unsqueeze""",
    "any sizes do; those that are computed are looked at when they are read": """
        ConstantOfShape Upsample""",
    "the dims that must agree may not be open": """
        DeformConv FeatureVectorizer Imputer OneHot
        RMSNormalization Scaler SimplifiedLayerNormalization TreeEnsemble
        TreeEnsembleClassifier TreeEnsembleRegressor Adagrad Adam Momentum""",
    "another name of ScatterElements": "Scatter",
    "tests of branches and loops have them": "If Loop Scan",
}


def test_every_operator_has_a_row() -> None:
    theirs = {n for n in stock.names() if stock.has("", n) or stock.has("com.microsoft", n)}
    operators = {name for _, name in ops.registered()} | theirs | set(subgraphs.CONVERTERS)
    rows = {row.op for row in ROWS.values()}
    reasons = {name for names in WITHOUT.values() for name in names.split()}
    assert not operators - rows - reasons, "add a row, or the reason why there is none"
    assert not rows & reasons


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "opset"),
    [(ROWS, OPSET), (OLD, 6), (LATE, 23), (NEWEST, 28)],
    ids=["new", "old", "late", "newest"],
)
def test_operands_that_disagree(tmp_path: Path, rows: dict[str, Row], opset: int) -> None:
    run = runner(joined(rows, opset), tmp_path)
    good = {k: v for name, row in rows.items() for k, v in feed(name, row, {}).items()}
    run(good)
    answered = []
    for name, row in rows.items():
        for changed in row.bad:
            try:
                run({**good, **feed(name, row, changed)})
                answered.append((name, changed, "an answer"))
            except ToolError as error:
                if not str(error).startswith("run: error:"):
                    answered.append((name, changed, str(error)[:200]))
    assert not answered


def _fixed(row: Row, sizes: dict[str, int]) -> Row:
    """The row with sizes in place of its open dims."""
    operands = [
        replace(p, dims=[sizes.get(d, d) if isinstance(d, str) else d for d in p.dims])
        if isinstance(p, Port)
        else p
        for p in row.operands
    ]
    return replace(row, operands=operands)


#: Rows whose sizes are wrong for what another operand holds: its run says so.
BY_VALUES = set(
    """
    ArrayFeatureExtractor EmbedLayerNormalization Expand_given GRU GatherElements LSTM RNN
    Reshape_given Reshape_rest Reshape_zero ScatterElements Split_given TensorScatter
""".split()
)


@pytest.mark.parametrize(
    "name", [name for name in (*ROWS, *LATE, *NEWEST) if name not in BY_VALUES]
)
def test_operands_that_never_agree(name: str) -> None:
    """The same sizes, known when compiling."""
    found = ((LATE, 23), (NEWEST, 28), (ROWS, OPSET))
    row, opset = next((rows[name], opset) for rows, opset in found if name in rows)
    from_onnx(joined({name: _fixed(row, row.good)}, opset))
    answered = []
    for changed in row.bad:
        if any(key.isdigit() for key in changed):  # other values, not sizes
            continue
        try:
            from_onnx(joined({name: _fixed(row, {**row.good, **changed})}, opset))
            answered.append(changed)
        except MegccError:
            pass
    assert not answered
