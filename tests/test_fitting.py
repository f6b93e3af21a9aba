"""Models that a board has no memory for: one sentence with the bytes, and no output."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tvm_megcc import driver, relay
from tvm_megcc.cli import main
from tvm_megcc.core import board_table
from tvm_megcc.core.program import Bundle, Program
from tvm_megcc.dims import read
from tvm_megcc.memory import DoesNotFit
from tvm_megcc.memory_options import MemoryOptions

KIB = 1024
FLOATS = [1, 1, 64, 64]  # 16 KiB


def model(shape: list[int | str] = FLOATS) -> onnx.ModelProto:
    """Softmax of Softmax, a value of the input's size between, then a product with 4 KiB."""
    weight = numpy_helper.from_array(np.ones((64, 16), "float32"), "w")
    nodes = [
        helper.make_node("Softmax", ["x"], ["a"], name="first", axis=-1),
        helper.make_node("Softmax", ["a"], ["b"], name="second", axis=-2),
        helper.make_node("MatMul", ["b", "w"], ["y"], name="product"),
    ]
    ports = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [*shape[:-1], last])
        for name, last in (("x", shape[-1]), ("y", 16))
    ]
    graph = helper.make_graph(nodes, "small", ports[:1], ports[1:], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch):
    """Puts a board of so many bytes of flash and RAM into the table."""

    def put(flash: int, ram: int) -> str:
        row = replace(board_table.board("nrf52840"), chip="test", flash=flash, ram=ram)
        monkeypatch.setattr(board_table, "TABLE", (row,))
        return row.name

    return put


def test_a_model_that_fits(board, tmp_path: Path) -> None:
    name = board(4 * KIB, 64 * KIB)
    said: list[str] = []
    driver.compile_model(model(), tmp_path / "pkg", board=name, summarise=said.append)
    assert (tmp_path / "pkg/examples/cortexm/main.c").exists()
    assert "; nrf52840 has 4,096 bytes of flash, 65,536 of RAM; " in said[0]


def test_weights_beyond_the_flash(board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = board(4 * KIB - 1, 64 * KIB)

    def never(*args: object, **named: object) -> None:
        raise AssertionError("memory was planned")

    monkeypatch.setattr("tvm_megcc.memory.place", never)
    said = (
        r"^model 'small' on nrf52840 \(test\): 1 bytes of flash are missing, its weights take 4096"
        r" and there are 4095; quantise"
    )
    with pytest.raises(DoesNotFit, match=said) as caught:
        driver.compile_model(model(), tmp_path / "pkg", board=name)
    assert caught.value.missing_bytes == 1
    assert not [*tmp_path.iterdir()]


def test_an_arena_beyond_the_ram(board, tmp_path: Path) -> None:
    options = {"board": board(64 * KIB, 1 << 20)}
    need = driver.compile_programs(model(), ["cortexm"], **options)["cortexm"].arena_bytes
    assert need is not None and need > 16 * KIB
    options = {"board": board(64 * KIB, need - 1)}
    said = (
        rf"^model 'small' on nrf52840 .*: 1 bytes of RAM are missing, its arena takes {need} \(call"
        rf" \d+, '\w+', the most\) and there are {need - 1}; take"
    )
    with pytest.raises(DoesNotFit, match=said):
        driver.compile_model(model(), tmp_path / "pkg", **options)
    assert not [*tmp_path.iterdir()]
    # Pools say which memory there is.
    pools = MemoryOptions(pools=(("sram", need // 2), ("psram", None)))
    driver.compile_programs(model(), ["cortexm"], memory=pools, **options)


def test_an_arena_for_all_sizes(board) -> None:
    """One without a bound is not checked."""

    def compiled(ram: int, rows: object) -> Program | Bundle:
        shapes = {"x": (1, 1, rows, 64)}
        name = board(64 * KIB, ram)
        symbolic = model([1, 1, "n", 64])
        return driver.compile_programs(symbolic, ["cortexm"], board=name, input_shapes=shapes)[
            "cortexm"
        ]

    assert compiled(KIB, "n").arena_limit is None
    need = compiled(1 << 20, read("n=1..65")).arena_limit
    with pytest.raises(DoesNotFit, match=rf"its arena takes {need} and there are {need - 1}"):
        compiled(need - 1, read("n=1..65"))


def test_relay_takes_a_board(board) -> None:
    mod, params = relay.frontend.from_onnx(model())
    found = relay.build(mod, params=params, board=board(4 * KIB, 64 * KIB))
    assert found.program.arch == "cortexm+dsp"
    with pytest.raises(DoesNotFit, match="bytes of flash are missing"):
        relay.build(mod, params=params, board=board(KIB, 64 * KIB))


def test_command_line(board, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "small.onnx"
    onnx.save(model(), path)
    name = board(4 * KIB, 64 * KIB)
    command = ["compile", str(path), "-o", str(tmp_path / "pkg"), "--board", name]
    assert main(command) == 0
    assert "cortexm+dsp (weights 4,096 bytes" in capsys.readouterr().out
    assert main([*command, "--mcpu", "cortex-m4"]) == 1
    said = "tvmc: --board 'nrf52840' says the machine; leave out --arch, --mcpu, --target\n"
    assert capsys.readouterr().err == said
    assert main(["boards"]) == 0
    assert "nrf52840  cortex-m4  4,096        65,536     test" in capsys.readouterr().out
