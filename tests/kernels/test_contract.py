"""The contract of an operator: what its header says, and what is no call of it."""

from __future__ import annotations

import re

import pytest

from tvm_megcc.dims import symbol
from tvm_megcc.kernels import constants, contract
from tvm_megcc.kernels.contract import Tensor

HEADER = """// op norm: a line of numbers, scaled.
//
//   in    x: T [rows, cols]
//   in    scale: S [cols] if scaled
//   in    table: i32 [2 * cols]
//   in    more0..more2: T if # < count
//   out   y: Y [rows, min(cols, 8)]
//   fact  func: NORM_*
//   fact  func: MEGCC_ACT_RELU
//   fact  scaled: 0 1
//   fact  count: 0 2
//
// Text.
#ifndef MEGCC_OP_NORM_H
#define MEGCC_OP_NORM_H
#include "megcc_act_codes.h"
#define NORM_SUM 5
#define NORM_BEST NORM_SUM
#define NORM_MAX 0x10  // of all
enum {
  NORM_ROWS,  // lines
  NORM_COLS,
  NORM_ATTRS
};
#endif
"""
FACTS = {"rows": 2, "cols": 3, "func": 16, "scaled": 0, "count": 0}
TENSORS = {"x": Tensor("f16", (2, 3)), "table": Tensor("i32", (6,)), "y": Tensor("f32", (6, 1))}


def norm(text: str = HEADER) -> contract.Contract:
    return contract.parse("norm", text)


def test_header_gives_the_contract() -> None:
    made = norm()
    assert made.summary == "a line of numbers, scaled."
    assert [o.name for o in made.inputs] == ["x", "scale", "table", "more0", "more1", "more2"]
    assert made.variables == ("T", "S", "Y")
    assert made.attributes == ("rows", "cols")
    assert made.facts == {
        "rows": (), "cols": (), "func": (1, 5, 16), "scaled": (0, 1), "count": (0, 2),
    }  # fmt: skip
    there = made.inputs_of({**FACTS, "scaled": 1, "count": 2})
    assert [o.name for o in there] == ["x", "scale", "table", "more0", "more1"]


def test_a_call_gets_its_types() -> None:
    assert norm().completed(FACTS, TENSORS) == {**FACTS, "T": "f16", "Y": "f32"}
    scaled = {**TENSORS, "scale": Tensor("i8", (3,))}
    assert norm().completed({**FACTS, "scaled": 1}, scaled)["S"] == "i8"


@pytest.mark.parametrize(
    ("facts", "tensors", "message"),
    [
        ({"rows": None}, {}, "norm: the fact 'rows' is missing"),
        ({"row": 2}, {}, "norm: 'row' is no fact of it; there are rows, cols, func, scaled, count"),
        ({"func": 3}, {}, "norm: the fact 'func' is 3, not 1, 5, 16"),
        ({"rows": "two"}, {}, "norm: the fact 'rows' is 'two', not a number"),
        ({"scaled": 1}, {}, "norm: operand 'scale' is missing; the call has x, table, y"),
        ({}, {"scale": Tensor("f32")}, "norm: operand 'scale' is given, but not: scaled"),
        ({}, {"bias": Tensor("f32")}, "norm: there is no operand 'bias'; it has x, scale, table"),
        ({}, {"table": Tensor("i64")}, "norm: operand 'table' is i64, not i32"),
        (
            {"count": 2},
            {"more0": Tensor("f16"), "more1": Tensor("f32")},
            "norm: operand 'more1' is f32, not f16, as operand 'x' is",
        ),
        ({}, {"x": Tensor("f16", (3, 3))}, "'x' has 9 elements, of the shape [3, 3], but [rows,"),
        ({"rows": 3}, {}, "'x' has 6 elements, of the shape [2, 3], but [rows, cols] has 9"),
        ({"cols": 9}, {"x": Tensor("f16"), "table": Tensor("i32")}, "[rows, min(cols, 8)] has 16"),
    ],
)
def test_what_is_no_call_says_why(facts, tensors, message: str) -> None:
    given = {name: value for name, value in {**FACTS, **facts}.items() if value is not None}
    with pytest.raises(ValueError, match=re.escape(message)):
        norm().completed(given, {**TENSORS, **tensors})


def test_symbolic_sizes_are_left_to_the_run() -> None:
    rows = symbol("rows", 1, 9)
    facts = {**FACTS, "rows": rows}
    assert norm().completed(facts, {**TENSORS, "x": Tensor("f16", (rows, 5))})["rows"] is rows


def test_the_last_of_a_run_stands_for_all_behind_the_first() -> None:
    made = norm(
        HEADER.replace("  NORM_COLS,", "  NORM_COLS,\n  NORM_D0,\n  NORM_D3 = NORM_D0 + 3,")
    )
    assert made.attributes == ("rows", "cols", "d0", "d1", "d2", "d3")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("// op norm:", "// op other:", "the first line must be `// op norm: ...`"),
        ("x: T [rows", "x: Type [rows", "'Type [rows, cols]' is not a type"),
        ("x: T [rows", "x T [rows", "is not `// in|out|fact name: ...`"),
        ("[rows, cols]", "[rows, lines]", "x: 'lines' is neither an attribute nor a fact"),
        ("if scaled", "if scales", "scale: 'scales' is neither"),
        ("func: NORM_*", "func: NORN_*", "fact func: NORN_* is no number and no code of C"),
        ("NORM_ATTRS", "NORM_END", "ends with NORM_ATTRS"),
        ("  NORM_COLS", "  NORN_COLS", "one enum of NORM_..."),
        ("  NORM_COLS", "  NORM_D3 = NORM_D0 + 3", "NORM_D3 is 3 places behind NORM_D0"),
        ("//   out   y: Y [rows, min(cols, 8)]\n", "", "an `in` and an `out` line are needed"),
    ],
)
def test_bad_headers_say_what_is_wrong(old: str, new: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        norm(HEADER.replace(old, new))


@pytest.mark.parametrize("op", contract.operators())
def test_every_header_is_a_contract(op: str) -> None:
    made = contract.contract(op)
    assert made.summary.endswith(".") and made.variables
    # Python asks for codes without the operator's name; C code has them whole.
    assert all(made.codes[f"{op.upper()}_{name}"] == c for name, c in contract.codes(op).items())


def test_constants_are_those_with_one_value(tmp_path) -> None:
    text = """#include "op/reduce.h"
#define BLOCK 96
#define TWICE (2 * BLOCK)
#define SAME BLOCK
#define LOOP LOOP
#if WIDE
#define LANES 8
#else
#define LANES 4
#endif
#define GIVEN 1
enum { COLUMNS = 32 };
"""
    found = constants.of_text(text, {"GIVEN"})
    assert found["BLOCK"] == found["SAME"] == 96 and found["COLUMNS"] == 32
    assert found["REDUCE_PROD"] == 4
    assert not {"TWICE", "LOOP", "LANES", "GIVEN", "MEGCC_OP_REDUCE_H"} & found.keys()
