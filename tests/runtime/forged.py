"""The packages whose images are forged, and where an image has what."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from onnx import TensorProto as T
from onnx import helper

from tvm_megcc import frontend
from tvm_megcc.codegen_c.emit import bytecode, instructions
from tvm_megcc.host import toolchain
from tvm_megcc.pipeline import compile_module

from ..codegen_c.test_bytecode import ENTRY, SECTIONS
from . import banded, changing, looping, paired
from . import programs as p

HOST = toolchain.host_arch()


def _static(folder: Path, weights: str = "c", arch: str = HOST) -> Path:
    return p.write_program(folder, p.in_two_pools(p.planned(arch)), weights)


def _checking(folder: Path, weights: str = "c", arch: str = HOST) -> Path:
    """Rows of a tensor of fixed dims, by indices that a CHECK has looked at, and a DRAW."""
    nodes = [
        helper.make_node("Gather", ["x", "i"], ["rows"], name="rows"),
        helper.make_node("RandomUniformLike", ["rows"], ["noise"], seed=1.0),
        helper.make_node("Add", ["rows", "noise"], ["y"]),
    ]
    ports = [
        helper.make_tensor_value_info(name, kind, dims)
        for name, kind, dims in (
            ("x", T.FLOAT, [4, 2]),
            ("i", T.INT64, [3]),
            ("y", T.FLOAT, [3, 2]),
        )
    ]
    graph = helper.make_graph(nodes, "checking", ports[:2], ports[2:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    mod = frontend.from_onnx(model).mod
    program = compile_module(mod, arch, name="checking", input_names=["x", "i"], output_names=["y"])
    return p.write_program(folder, program, weights)


#: Name of a package -> what writes it (with its weights in C or in a file), its name in C.
PACKAGES: dict[str, tuple[Callable[..., Path], str]] = {
    "static": (_static, "corners"),
    "changing": (changing.write, "changing"),
    "looping": (looping.write, "looping"),
    "checking": (_checking, "checking"),
    "banded": (banded.write, "banded"),
    "fed": (banded.write_fed, "banded"),
    "open": (banded.write_open, "banded"),
    "paired": (paired.write, "paired"),
}

#: Those whose shapes change.
SHAPED = ("changing", "looping", "open")


def write(package: str, folder: Path, arch: str = HOST) -> tuple[Path, Path]:
    """A package with its model in C, and the same model in a file."""
    make = PACKAGES[package][0]
    image = make(folder / f"{package}_bin", weights="bin", arch=arch)
    return make(folder / package, arch=arch), image / "model" / f"model_{arch}.bin"


def defines(package: str) -> list[str]:
    """What forge.h wants to know of a package."""
    ident = PACKAGES[package][1]
    shaped = int(package in SHAPED)
    return [
        f'-DHEADER="{ident}.h"',
        f"-DKERNELS={ident}_kernels",
        f"-DSHAPED={shaped}",
        f"-DFED={int(package == 'fed')}",
    ]


@dataclass(frozen=True, slots=True)
class Image:
    """The words of a program of one function; an index is that of a word."""

    words: tuple[int, ...]

    @classmethod
    def of(cls, path: Path) -> Image:
        data = path.read_bytes()
        data = data[: int.from_bytes(data[8:12], "little")]
        return cls(struct.unpack(f"<{len(data) // 4}I", data))

    def row(self, section: str) -> int:
        """Index of a section's (offset, count)."""
        number, first = SECTIONS.index(section), SECTIONS.index("dims")
        if number < first:
            return bytecode.SECTIONS_AT + 2 * number
        return self.at("functions") + bytecode.FUNCTION_WORDS + 2 * (number - first)

    def at(self, section: str, entry: int = 0, word: int = 0) -> int:
        """Index of a word of an entry."""
        return self.words[self.row(section)] // 4 + ENTRY.get(section, 1) * entry + word

    def count(self, section: str) -> int:
        return self.words[self.row(section) + 1]

    def entries(self, section: str) -> list[tuple[int, ...]]:
        size = ENTRY.get(section, 1)
        first = self.at(section)
        return [
            self.words[first + k * size : first + (k + 1) * size]
            for k in range(self.count(section))
        ]

    @property
    def data(self) -> int:
        """The first value that depends on data."""
        return self.words[self.at("functions") + 2]

    def instructions(self) -> list[tuple[str, int]]:
        """(name, index of the first word) of each instruction."""
        names = {number: name for name, number in instructions.opcodes().items()}
        found, pc = [], 0
        while pc < self.count("code"):
            word = self.words[self.at("code", pc)]
            found.append((names[word & 0xFF], self.at("code", pc)))
            pc += word >> 8
        return found
