"""Contents of a package, independent of the link names in its code.

Enters: a package with its model in a file, and the objects it was built to. Leaves: the image as
text with every reference resolved, and the machine code of each kernel.

A kernel is called by its place in the table of kernels: link names carry a hash of the kernel's
source, so they differ where only a comment does.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import struct
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from tvm_megcc.codegen_c.emit import bytecode
from tvm_megcc.codegen_c.emit.instructions import opcodes
from tvm_megcc.codegen_c.emit.scalars import OPERATIONS
from tvm_megcc.errors import ToolError
from tvm_megcc.host import toolchain

SHARED = ("strings", "segments", "kernels", "symbols", "signature", "functions")
SECTIONS = (
    "dims", "tensors", "inputs", "outputs", "code", "pools", "values", "scalars", "blocks", "below",
    "guards",
)  # fmt: skip
#: Words of an entry, where it is not one.
WORDS = {
    "segments": 4, "symbols": 3, "functions": bytecode.FUNCTION_WORDS + 2 * len(SECTIONS),
    "tensors": 6, "inputs": 2, "outputs": 2, "pools": 3, "scalars": 3, "blocks": 4, "guards": 3,
}  # fmt: skip
#: Which word of an entry is a reference to a string.
NAMED = {"symbols": 0, "inputs": 0, "outputs": 0, "pools": 0}
#: Which word of an instruction is.
NAMED_CODE = {"CALL": 2, "CALL_SIZED": 2, "LOAD": 1, "LET": 1, "ROW": 1, "CHECK": 1}


def image_text(data: bytes) -> list[str]:
    """A program, as `codegen_c.emit.bytecode` wrote it, as lines.

    An image of another version than this tree's is only a hash of its bytes.
    """
    bytes_of_program = int.from_bytes(data[8:12], "little")
    words = struct.unpack(f"<{bytes_of_program // 4}I", data[:bytes_of_program])
    if words[:2] != (bytecode.MAGIC, bytecode.VERSION):
        return [f"version {words[1]}", hashlib.sha256(data[:bytes_of_program]).hexdigest()]
    return list(_Reader(data, words).lines())


class _Reader:
    def __init__(self, data: bytes, words: Sequence[int]) -> None:
        self.data, self.words = data, words
        first = bytecode.SECTIONS_AT
        self.shared = {name: words[first + 2 * k :][:2] for k, name in enumerate(SHARED)}
        self.opcodes = {number: name for name, number in opcodes().items()}

    def string(self, ref: int) -> str:
        start = self.shared["strings"][0] + ref
        return repr(self.data[start : self.data.index(b"\0", start)].decode())

    def entries(self, name: str, place: Sequence[int]) -> Iterator[tuple[int, ...]]:
        offset, count = place
        size = WORDS.get(name, 1)
        for k in range(offset // 4, offset // 4 + size * count, size):
            yield tuple(self.words[k : k + size])

    def lines(self) -> Iterator[str]:
        yield f"version {self.words[1]} {self.string(self.words[6])} {self.string(self.words[7])}"
        for name in ("segments", "symbols", "signature"):
            yield from self.section(name, self.shared[name])
        for number, record in enumerate(self.entries("functions", self.shared["functions"])):
            head = record[: bytecode.FUNCTION_WORDS]
            yield f"function {number}: {' '.join(map(str, head))}"
            for k, name in enumerate(SECTIONS):
                place = record[bytecode.FUNCTION_WORDS + 2 * k :][:2]
                yield from self.code(place) if name == "code" else self.section(name, place)

    def section(self, name: str, place: Sequence[int]) -> Iterator[str]:
        for k, entry in enumerate(self.entries(name, place)):
            shown: list[object] = list(entry)
            if name in NAMED:
                shown[NAMED[name]] = self.string(entry[NAMED[name]])
            if name == "scalars" and OPERATIONS[entry[0] & 0xFF] == "require":
                shown[0] = f"require {self.string(entry[0] >> 8)}"
            yield f"{name} {k}: {' '.join(map(str, shown))}"

    def code(self, place: Sequence[int]) -> Iterator[str]:
        at, end = place[0] // 4, place[0] // 4 + place[1]
        while at < end:
            opcode, count = self.words[at] & 0xFF, self.words[at] >> 8
            name = self.opcodes.get(opcode, f"opcode {opcode}")
            shown: list[object] = [name, *self.words[at + 1 : at + count]]
            if name in NAMED_CODE:
                shown[NAMED_CODE[name]] = self.string(self.words[at + NAMED_CODE[name]])
            yield " ".join(map(str, shown))
            at += count


def calls_of(image: Sequence[str]) -> list[tuple[int, str]]:
    """(number of the kernel, name) of each call in an image's text."""
    rows = (re.match(r"CALL(?:_SIZED)? (\d+) '(.*?)' ", line) for line in image)
    return [(int(row[1]), row[2]) for row in rows if row]


def code_of(path: Path, arch: str, symbol: str) -> str:
    """Machine code and constants of an object, addresses relative and its own symbol left out.

    Raises ToolError if there is no objdump for the architecture, or it fails.
    """
    prefix = "" if toolchain.is_native(arch) else toolchain.find_compiler(arch).removesuffix("gcc")
    objdump = f"{prefix}objdump"

    def said(*options: str) -> str:
        done = subprocess.run([objdump, *options, str(path)], capture_output=True, text=True)
        if done.returncode:
            raise ToolError(f"{objdump} cannot read {path}: {done.stderr.strip()[-200:]}")
        return done.stdout

    if shutil.which(objdump) is None:
        raise ToolError(f"{objdump} is missing; apt install binutils")
    text = said("-dr", "--no-show-raw-insn")
    constants = re.findall(r"^\s*\d+ (\.rodata\S*)", said("-hw"), re.MULTILINE)
    if constants:
        text += said("-rs", *(f"-j{name}" for name in constants))
    lines = (line for line in text.splitlines() if "file format" not in line)
    return "\n".join(lines).replace(symbol, "kernel")
