"""The program of a package for a Cortex-M: what it is given, and what is made of its words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tvm_megcc.errors import InputError, ToolError
from tvm_megcc.host import firmware

PORTS = [
    {"name": "a", "dtype": "i8", "shape": [1, 3]},
    {"name": "b", "dtype": "f32", "shape": [2]},
]


def test_inputs_begin_at_multiples_of_eight() -> None:
    a, b = np.array([[1, 2, 3]], np.int8), np.array([1, 2], np.float32)
    found = firmware.packed(PORTS, {"b": b, "a": a})
    assert found == bytes([1, 2, 3, 0, 0, 0, 0, 0]) + b.tobytes()


def test_inputs_that_are_not_the_packages() -> None:
    a = np.zeros((1, 3), np.int8)
    with pytest.raises(InputError, match=r"input 'b' has the shape \[2\]; none is given"):
        firmware.packed(PORTS, {"a": a})
    with pytest.raises(InputError, match=r"input 'a' has the shape \[1, 3\]; given is \[3\]"):
        firmware.packed(PORTS, {"a": a[0], "b": np.zeros(2, np.float32)})


def test_what_a_program_prints() -> None:
    ports = [
        {"name": "y", "dtype": "i8", "shape": [1, 2]},
        {"name": "z", "dtype": "i8", "shape": [0]},
    ]
    printed = "call: 3\nff01\n\nstack: 988 bytes\n"
    found = firmware.outputs_of(ports, printed)
    assert found["y"].tolist() == [[-1, 1]] and found["z"].size == 0
    assert firmware.stack_of(printed) == 988
    with pytest.raises(ToolError, match="printed 1 outputs, not 2"):
        firmware.outputs_of(ports, "ff01\nfault\n")
    with pytest.raises(ToolError, match="did not say what it used of the stack: fault"):
        firmware.stack_of("fault\n")


def test_missing_tools_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    (tmp_path / "examples" / "cortexm").mkdir(parents=True)
    (tmp_path / "examples" / "cortexm" / "Makefile").touch()
    with pytest.raises(ToolError, match="gcc, qemu-system-arm not found: apt install gcc-arm"):
        firmware.Firmware(tmp_path, "cortex-m4").build()


def test_a_folder_without_the_example(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no program for a Cortex-M"):
        firmware.Firmware(tmp_path, "cortex-m4").build()
