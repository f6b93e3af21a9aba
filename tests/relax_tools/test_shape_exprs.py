"""Sizes of TVM's shape expressions: whose dims they are has to be said."""

from __future__ import annotations

import pytest
from tvm import relax, tirx

from tvm_megcc import dims
from tvm_megcc.relax_tools.shape_exprs import size_of, symbols_of, with_bounds


def function(*bounds: dims.Symbol) -> tuple[relax.Function, tirx.Var]:
    n = tirx.Var("n", "int64")
    x = relax.Var("x", relax.TensorType([n, 4], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.nn.relu(x)))
    return with_bounds(builder.get()["main"], bounds), n


def bounds_of(expr: object) -> tuple[float, float]:
    size = size_of(expr)
    assert size is not None
    return dims.bounds(size)


def test_a_dim_has_the_bounds_of_its_function() -> None:
    func, n = function(dims.Symbol("n", 2, 8))
    other, _ = function(dims.Symbol("n", 0, 3))
    with symbols_of(func):
        assert bounds_of(n) == (2, 8)
        with symbols_of(other):
            assert bounds_of(n * 2) == (0, 6)
        assert bounds_of(n) == (2, 8)


def test_a_function_may_give_a_dim_no_bounds() -> None:
    func, n = function()
    with symbols_of(func):
        assert bounds_of(n) == (0, dims.INFINITY)


def test_a_dim_of_no_function_is_an_error() -> None:
    _, n = function(dims.Symbol("n", 2, 8))
    assert size_of(tirx.IntImm("int64", 3)) == 3
    with pytest.raises(RuntimeError, match="the dim 'n' is read outside of `symbols_of`"):
        size_of(n + 1)
