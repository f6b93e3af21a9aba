"""IntegerPorts: what becomes of ports, their steps, and the sentences of those that stay."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tvm import relax

from tests.passes.support import build, operators, run
from tests.passes.test_quantised import dequantize, held, quantize
from tvm_megcc.core.program import Quantisation
from tvm_megcc.errors import UnsupportedError
from tvm_megcc.passes import IntegerPorts
from tvm_megcc.passes.integer_ports import steps_of

op = relax.op
X = (1, 4, 5, 6)
STEP = Quantisation(float(np.float32(0.05)), 3)
Body = Callable[..., relax.Expr]


def ported(body: Body, dtype: str | None = "i8", given: str = "float32"):
    return IntegerPorts(dtype, ("main",), ("x",), ("y",))(build(body, X, dtype=given))


def test_ports_become_what_is_computed_with() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        return held(op.nn.relu(held(x)), 0.1, -4)

    mod = ported(body)
    assert operators(mod) == ["relax.dequantize", "relax.nn.relu", "relax.quantize"]
    assert steps_of(mod["main"]) == ((STEP,), (Quantisation(float(np.float32(0.1)), -4),))
    x = np.random.default_rng(0).integers(-128, 128, X).astype(np.int8)
    real = (x.astype(np.float32) - 3) * np.float32(0.05)
    (got,), (wanted,) = run(mod, x), run(build(body, X), real)
    assert got.dtype == np.int8
    np.testing.assert_array_equal((got.astype(np.float32) + 4) * np.float32(0.1), wanted)


def test_an_output_may_be_read_as_floats_too() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        value = relax.BlockBuilder.current().emit(held(x))
        return relax.BlockBuilder.current().emit(held(op.add(value, op.nn.relu(value))))

    assert steps_of(ported(body)["main"]) == ((STEP,), (STEP,))


def test_one_step_read_twice() -> None:
    mod = ported(lambda x: held(op.add(held(x), op.nn.relu(held(x)))))
    assert operators(mod).count("relax.quantize") == 1
    assert steps_of(mod["main"])[0] == (STEP,)


def test_ports_of_integers_say_what_they_stand_for() -> None:
    """Also through a permutation, as TFLite's importer has it."""
    mod = ported(lambda x: quantize(dequantize(op.permute_dims(x))), None, "int8")
    assert steps_of(mod["main"]) == ((STEP,), (STEP,))
    plain = ported(lambda x: op.add(x, x), None, "int8")
    assert steps_of(plain["main"]) == ((), ())
    assert steps_of(ported(lambda x: held(x), None)["main"]) == ((), ())


@pytest.mark.parametrize(
    ("body", "dtype", "sentence"),
    [
        (lambda x: held(op.nn.relu(x)), "i8", "input 'x' is not quantised first"),
        (lambda x: held(op.add(held(x), x)), "i8", "input 'x' is read as floats, too"),
        (lambda x: op.nn.relu(held(x)), "i8", "output 'y' is not dequantised last"),
        (lambda x: held(x), "u8", "input 'x' is quantised to int8, not uint8; say --io-dtype int8"),
        (
            lambda x: held(op.add(held(x), held(x, 0.1))),
            "i8",
            "input 'x' is quantised by more than one scale",
        ),
        (
            lambda x: held(op.nn.relu(held(x)), 0.1, 0, "uint8"),
            "i8",
            "output 'y' is quantised to uint8, not int8; say --io-dtype uint8",
        ),
    ],
)
def test_what_cannot_be_of_integers(body: Body, dtype: str, sentence: str) -> None:
    with pytest.raises(UnsupportedError) as error:
        ported(body, dtype)
    assert sentence in str(error.value) and "--io-dtype" in str(error.value)
