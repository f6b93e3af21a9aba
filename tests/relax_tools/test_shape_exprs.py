"""Sizes of TVM's shape expressions: whose dims they are has to be said."""

from __future__ import annotations

import pytest
from tvm import relax, tirx

from tvm_megcc import dims
from tvm_megcc.relax_tools.shape_exprs import Symbols, size_of, symbol_of, symbols_of, with_bounds


def function(*bounds: dims.Symbol) -> tuple[relax.Function, tirx.Var]:
    n = tirx.Var("n", "int64")
    x = relax.Var("x", relax.TensorType([n, 4], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.nn.relu(x)))
    return with_bounds(builder.get()["main"], bounds), n


def bounds_of(expr: object, symbols: Symbols) -> tuple[float, float]:
    size = size_of(expr, symbols)
    assert size is not None
    return dims.bounds(size)


def test_a_dim_has_the_bounds_of_its_function() -> None:
    func, n = function(dims.Symbol("n", 2, 8))
    other, _ = function(dims.Symbol("n", 0, 3))
    assert bounds_of(n, symbols_of(func)) == (2, 8)
    assert bounds_of(n * 2, symbols_of(other)) == (0, 6)


def test_a_function_may_give_a_dim_no_bounds() -> None:
    func, n = function()
    assert bounds_of(n, symbols_of(func)) == (0, dims.INFINITY)


def test_a_dim_may_be_known_to_be_another_size() -> None:
    _, n = function()
    m = dims.symbol("m", 1, 4)
    assert size_of(n + 1, {"n": m * 2}) == m * 2 + 1
    assert symbol_of("n", {"n": m * 2}) == dims.Symbol("n")
    assert symbol_of("n", {"n": dims.Symbol("n", 2, 8)}) == dims.Symbol("n", 2, 8)


def test_whose_dims_they_are_has_to_be_said() -> None:
    _, n = function(dims.Symbol("n", 2, 8))
    with pytest.raises(TypeError, match="symbols"):
        size_of(n + 1)  # type: ignore[call-arg]
