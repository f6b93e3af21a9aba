"""``GraphModule``: times of runs and calls, parameters, and what a library cannot say."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import tvm

from tests.cli import tiny
from tvm_megcc import relay
from tvm_megcc.errors import InputError, UnsupportedError


@pytest.fixture(scope="module")
def lib(model: onnx.ModelProto) -> relay.Library:
    mod, params = relay.frontend.from_onnx(model)
    return relay.build(mod, params=params)


@pytest.fixture
def m(lib: relay.Library) -> relay.GraphModule:
    return relay.GraphModule(lib["default"](tvm.cpu()))


X, EXPECTED = tiny.example()


def test_benchmark(m: relay.GraphModule) -> None:
    for end_to_end in (False, True):
        times = m.benchmark(tvm.cpu(), repeat=3, number=2, end_to_end=end_to_end, **X)
        assert len(times.results) == 3
        assert 0 < times.min <= times.median <= times.max and times.std >= 0
        assert times.min <= times.mean <= times.max
    np.testing.assert_allclose(m.get_output(0).numpy(), EXPECTED["y/0"], rtol=1e-6)
    times = m.benchmark(repeat=2, number=1, min_repeat_ms=2)
    assert max(times.results) < 2e-3
    assert len(m.time_evaluator("run", tvm.cpu(), number=2, repeat=4)().results) == 4


def test_profile(m: relay.GraphModule, lib: relay.Library) -> None:
    found = m.profile(**X)
    np.testing.assert_allclose(m.get_output(0).numpy(), EXPECTED["y/0"], rtol=1e-6)
    assert [c.name for c in found.calls] == [c.name for c in lib.program.calls]
    assert all(c.seconds > 0 and c.count == 1 and c.kernel for c in found.calls)
    assert f"profile: {len(found.calls)} calls" in str(found)
    assert found.calls[0].kernel in str(found)


def test_profile_function_that_raises(m: relay.GraphModule) -> None:
    def raises(*_: object) -> None:
        raise ValueError("enough of it")

    m.set_input(**X)
    m._call("profile", tvm.runtime.convert(raises))
    with pytest.raises(ValueError, match="enough of it"):
        m.run()
    m._call("profile", None)
    m.run()
    np.testing.assert_allclose(m.get_output(0).numpy(), EXPECTED["y/0"], rtol=1e-6)
    with pytest.raises(TypeError, match="function, or None"):
        m._call("profile", 3)


def test_load_params(m: relay.GraphModule) -> None:
    tensors = {name: tvm.runtime.tensor(value) for name, value in X.items()}
    for params in (X, tvm.runtime.save_param_dict(tensors)):
        m.set_input(0, np.zeros((2, 3), "float32"))
        m.load_params(params)
        np.testing.assert_array_equal(m.get_input(0).numpy(), X["x:0"])


def test_what_cannot_be_is_one_sentence(m: relay.GraphModule) -> None:
    cases = [
        (lambda: m.load_params({"w": tiny.WEIGHT}), InputError, ["'w'", "weights", "params="]),
        (lambda: m.debug_get_output("y/0"), UnsupportedError, ["'y/0'", "tvmc"]),
        (lambda: m.benchmark(func_name="main"), InputError, ["'main'", "'run'"]),
        (lambda: m.benchmark(number=0), InputError, ["number=0"]),
        (lambda: m.time_evaluator("main"), InputError, ["'main'"]),
    ]
    for call, kind, words in cases:
        with pytest.raises(kind) as caught:
            call()
        message = str(caught.value)
        assert all(word in message for word in words) and "\n" not in message, message
