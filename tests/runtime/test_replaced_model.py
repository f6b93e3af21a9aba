"""A model file replaced in the field: what a program that was built earlier takes, and refuses."""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tvm_megcc.codegen_c import emit
from tvm_megcc.core.program import Kernel, Port, Program
from tvm_megcc.errors import ToolError
from tvm_megcc.host import toolchain

from . import programs as p

HOST = toolchain.host_arch()
X = {"x": np.ones(4, np.float32)}


def image(program: Program) -> bytes:
    files = emit.package({HOST: program}, name="net", weights="bin")
    data = bytes(files[f"model/model_{HOST}.bin"])
    assert isinstance(data, bytes)
    return data


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A package of a model that adds 10, and its program."""
    folder = tmp_path_factory.mktemp("device")
    files = emit.package({HOST: p.adder(HOST, np.full(4, 10))}, name="net", weights="bin")
    package = p.write(files, folder / "pkg")
    return package, toolchain.build(package, HOST, build_dir=folder / "build")


def run(device: tuple[Path, Path], data: bytes, folder: Path, inputs: dict = X) -> np.ndarray:
    """What the program on the device makes of a new file."""
    package, program = device
    (folder / "new.bin").write_bytes(data)
    given = ["--model", str(folder / "new.bin")]
    manifest = p.manifest(package)
    return toolchain.run_package(program, HOST, inputs, manifest, args=given).outputs["y"]


def with_word(data: bytes, word: int, value: int) -> bytes:
    """Another number in the header, with the checksum that belongs to it."""
    words = bytearray(data)
    struct.pack_into("<I", words, 4 * word, value)
    (size,) = struct.unpack_from("<I", words, 8)
    struct.pack_into("<I", words, 12, zlib.crc32(words[16:size]))
    return bytes(words)


def test_retrained_weights_are_taken(device: tuple[Path, Path], tmp_path: Path) -> None:
    assert run(device, image(p.adder(HOST, np.full(4, 10))), tmp_path).tolist() == [11] * 4
    assert run(device, image(p.adder(HOST, np.full(4, 20))), tmp_path).tolist() == [21] * 4


def refused(device: tuple[Path, Path], data: bytes, folder: Path, sentence: str) -> None:
    with pytest.raises(ToolError, match=sentence):
        run(device, data, folder)


def test_other_kernels_are_refused(device: tuple[Path, Path], tmp_path: Path) -> None:
    minus = Kernel("t_add", source=p.ADD.source.replace("a[i] + b[i]", "a[i] - b[i]"))
    other = image(p.adder(HOST, np.full(4, 10), kernel=minus))
    refused(device, other, tmp_path, "compiled for other kernels than these")


def test_instructions_that_are_not_linked_in_are_refused(
    device: tuple[Path, Path], tmp_path: Path
) -> None:
    program = p.adder(HOST, np.full(4, 10))
    twice = replace(program, outputs=(*program.outputs, Port("z", program.outputs[0].tensor)))
    refused(device, image(twice), tmp_path, "uses an instruction that is not linked in")


def test_another_version_is_refused(device: tuple[Path, Path], tmp_path: Path) -> None:
    data = image(p.adder(HOST, np.full(4, 10)))
    (version,) = struct.unpack_from("<I", data, 4)
    for other in (version - 1, version + 1):
        refused(device, with_word(data, 1, other), tmp_path, "of different versions")


def test_damage_is_refused(device: tuple[Path, Path], tmp_path: Path) -> None:
    data = image(p.adder(HOST, np.full(4, 10)))
    refused(device, data[:-1], tmp_path, "ends too early")
    refused(device, b"MEGX" + data[4:], tmp_path, "not a model image")
    (size,) = struct.unpack_from("<I", data, 8)
    for place in (size - 1, size + 1):  # program, weights
        changed = bytearray(data)
        changed[place] ^= 1
        refused(device, bytes(changed), tmp_path, "bytes of the model image have changed")


def test_the_manifest_says_before_what_a_device_will_take() -> None:
    """As docs/c-api.md has it: `program_version`, `abi` and the machine's `fingerprint`."""

    def facts(program: Program) -> tuple[object, ...]:
        files = emit.package({HOST: program}, name="net", weights="bin")
        manifest = json.loads(files["manifest.json"])
        keys = (manifest["program_version"], manifest["abi"])
        return (*keys, manifest["per_arch"][HOST]["fingerprint"])

    minus = Kernel("t_add", source=p.ADD.source.replace("a[i] + b[i]", "a[i] - b[i]"))
    first = facts(p.adder(HOST, np.full(4, 10)))
    assert first == facts(p.adder(HOST, np.full(4, 20)))
    assert first != facts(p.adder(HOST, np.full(4, 10), kernel=minus))
