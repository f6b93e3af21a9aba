"""``relay.vm`` and ``tvm.contrib.graph_executor``: Relay's other names for a library."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tvm
from tvm import relax

from tvm_megcc import relay
from tvm_megcc.errors import InputError


def module() -> tvm.IRModule:
    """``f(x: [n], w: [1]) -> (x + w, -x)``."""
    n = tvm.tirx.Var("n", "int64")
    x = relax.Var("x", relax.TensorType((n,), "float32"))
    w = relax.Var("w", relax.TensorType((1,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("f", [x, w]):
        with builder.dataflow():
            results = relax.Tuple([relax.op.add(x, w), relax.op.negative(x)])
            out = builder.emit_output(results)
        builder.emit_func_output(out)
    return builder.get()


ONE = np.ones(1, "float32")


@pytest.fixture(scope="module")
def exe() -> relay.Library:
    return relay.vm.compile(module(), "tvm_megcc", {"w": ONE}, entry="f")


def test_shapes_change_between_runs(exe: relay.Library, tmp_path: Path) -> None:
    exe.export_library(tmp_path / "model.so")
    for given in (exe, tvm.runtime.load_module(str(tmp_path / "model.so"))):
        machine = relay.vm.VirtualMachine(given, tvm.cpu())
        for n in (1, 5, 3):
            x = np.arange(n, dtype="float32")
            machine.set_input("main", x)
            machine.invoke_stateful("main")
            for found in (
                machine.get_outputs(),
                machine.run(x),
                machine.run(x=x),
                machine.invoke("main", tvm.runtime.tensor(x)),
                machine["main"](x),
            ):
                np.testing.assert_array_equal(found[0].numpy(), x + 1)
                np.testing.assert_array_equal(found[1].numpy(), -x)
        assert machine.benchmark(tvm.cpu(), x, repeat=2, number=1).min > 0


def test_what_does_not_fit_is_one_sentence(exe: relay.Library) -> None:
    machine = relay.vm.VirtualMachine(exe, tvm.cpu())
    for call, words in [
        (lambda: machine.invoke("f", ONE), "no function 'f'.*'main'"),
        (lambda: machine.run(ONE, ONE), "2 inputs are given; the model has 1"),
        (lambda: machine.run(ONE, x=ONE), "'x' is given by position and by name"),
    ]:
        with pytest.raises(InputError, match=words) as caught:
            call()
        assert "\n" not in str(caught.value)


def test_graph_executor_is_importable(exe: relay.Library) -> None:
    import tvm.contrib.graph_executor
    from tvm.contrib import graph_executor

    assert tvm.contrib.graph_executor is graph_executor
    assert graph_executor.GraphModule is relay.GraphModule
    m = graph_executor.create("", exe, tvm.cpu())
    m.run(x=ONE)
    np.testing.assert_array_equal(m.get_output(0).numpy(), [2])
    with pytest.raises(AttributeError):
        graph_executor.nothing  # noqa: B018
