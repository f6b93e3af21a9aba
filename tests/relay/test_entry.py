"""``relay.build(entry=...)``: modules of several functions, and tuples as the tensors in them."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax.frontend import nn

from tvm_megcc import relay
from tvm_megcc.errors import InputError

F32 = relax.TensorType((4,), "float32")
RNG = np.random.default_rng(0)
WEIGHT, BIAS, X = (RNG.standard_normal(s).astype("float32") for s in ((4, 3), (4,), (2, 3)))


class Net(nn.Module):
    def __init__(self) -> None:
        self.fc = nn.Linear(3, 4)

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        return self.fc(x)

    def twice(self, x: nn.Tensor, y: nn.Tensor) -> tuple[nn.Tensor, nn.Tensor]:
        return self.fc(x), y + y


def exported(mode: str) -> tvm.IRModule:
    options = {"$": {"param_mode": mode, "effect_mode": "none"}}
    tensor = nn.spec.Tensor(["n", 3], "float32")
    mod, _ = Net().export_tvm(
        {"forward": {"x": tensor, **options}, "twice": {"x": tensor, "y": tensor, **options}}
    )
    return mod


VALUES = {
    "plain": {"fc.weight": WEIGHT, "fc.bias": BIAS},
    "packed": {"packed_params": [WEIGHT, BIAS]},
}


def running(library: relay.Library) -> relay.GraphModule:
    return relay.GraphModule(library["default"](tvm.cpu()))


@pytest.mark.slow
@pytest.mark.parametrize("mode", VALUES)
@pytest.mark.parametrize("dispatched", [False, True])
def test_entry_of_a_module_of_several_functions(mode: str, dispatched: bool) -> None:
    mod = exported(mode)
    if dispatched:
        dispatcher = relay.vm.uniform_dispatcher(step=2, low=1, high=5)
        mod = mod.dispatch("twice", {"x": (relay.Any(), 3)}, dispatcher)
    before = mod.script()
    m = running(relay.build(mod, entry="twice", params=VALUES[mode]))
    assert (m.get_input_names(), m.get_output_names()) == (["x", "y"], ["output_0", "output_1"])
    for x in (X, X[:1], np.concatenate([X, X, X])):
        m.run(x=x, y=x)
        np.testing.assert_allclose(m.get_output(0).numpy(), x @ WEIGHT.T + BIAS, rtol=1e-5)
        np.testing.assert_array_equal(m.get_output(1).numpy(), x + x)
    m = running(relay.build(mod, entry="forward", params=VALUES[mode]))
    m.run(x=X)
    np.testing.assert_allclose(m.get_output(0).numpy(), X @ WEIGHT.T + BIAS, rtol=1e-5)
    assert mod.script() == before


def two_functions() -> tvm.IRModule:
    """``other`` calls ``main``, which is ``exp``, and ``odd`` is not for packages."""
    builder = relax.BlockBuilder()
    x, y, z = (relax.Var(name, F32) for name in "xyz")
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.exp(x)))
    with builder.function("odd", [z]):
        builder.emit_func_output(builder.emit(relax.op.nonzero(z)))
    main = builder.get().get_global_var("main")
    with builder.function("other", [y]):
        builder.emit_func_output(builder.emit(relax.op.negative(relax.Call(main, [y]))))
    return builder.get()


@pytest.mark.slow
def test_entry_calls_main_and_leaves_the_rest() -> None:
    x = np.linspace(-1, 1, 4, dtype="float32")
    for entry, expected in (("main", np.exp(x)), ("other", -np.exp(x))):
        m = running(relay.build(two_functions(), entry=entry))
        m.run(**{m.get_input_names()[0]: x})
        np.testing.assert_allclose(m.get_output(0).numpy(), expected, rtol=1e-6)


def tuples() -> tvm.IRModule:
    """``main(p: (A, (B, C))) -> (exp(B), p)``, of one open dim."""
    n = tvm.tirx.Var("n", "int64")
    each = relax.TensorType((n,), "float32")
    builder = relax.BlockBuilder()
    p = relax.Var("p", relax.TupleType([each, relax.TupleType([each, F32])]))
    with builder.function("main", [p]):
        with builder.dataflow():
            inner = builder.emit(relax.TupleGetItem(p, 1))
            result = builder.emit(relax.op.exp(relax.TupleGetItem(inner, 0)))
            out = builder.emit_output(relax.Tuple([result, p]))
        builder.emit_func_output(out)
    return builder.get()


@pytest.mark.slow
def test_tuples_are_the_tensors_in_them() -> None:
    a, b, c = (np.full(4, k, "float32") for k in range(3))
    m = running(relay.build(tuples()))
    assert m.get_input_names() == ["p.0", "p.1.0", "p.1.1"]
    assert m.get_output_names() == ["output_0", "output_1.0", "output_1.1.0", "output_1.1.1"]
    m.run(**{"p.0": a, "p.1.0": b, "p.1.1": c})
    for k, expected in enumerate((np.exp(b), a, b, c)):
        np.testing.assert_allclose(m.get_output(k).numpy(), expected, rtol=1e-6)


@pytest.mark.slow
def test_values_of_tuples() -> None:
    a, b, c = (np.full(4, k, "float32") for k in range(3))
    m = running(relay.build(tuples(), params={"p": (a, [b, c])}))
    assert m.get_num_inputs() == 0
    m.run()
    np.testing.assert_allclose(m.get_output(0).numpy(), np.exp(b), rtol=1e-6)
    m = running(relay.build(tuples(), params={"p.1.1": c}))
    assert m.get_input_names() == ["p.0", "p.1.0"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"entry": "forward"}, ["'forward'", "'main'", "entry="]),
        ({"params": {"p": [np.zeros(4, "float32")]}}, ["'p'", "tuple of 2", "value is 1"]),
        ({"params": {"p": np.zeros(4, "float32")}}, ["'p'", "tuple of 2", "ndarray"]),
        (
            {"params": {"p": [np.zeros(4, "float32"), [np.zeros(4), np.zeros(4)]]}},
            ["'p.1.0'", "float64"],
        ),
    ],
)
def test_what_does_not_fit_is_one_sentence(options: dict, words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        relay.build(tuples(), **options)
    message = str(caught.value)
    assert all(word in message for word in words) and "\n" not in message, message


def test_state_of_effects_is_one_sentence() -> None:
    mod, _ = Net().export_tvm({"forward": {"x": nn.spec.Tensor([2, 3], "float32")}}, debug=True)
    with pytest.raises(InputError, match="'.*io' of forward is no tensor"):
        relay.build(mod, entry="forward")
