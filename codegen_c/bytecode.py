"""``Program`` -> the binary program that the C VM reads in place.

What enters is a planned `Program` and where its weights went; what leaves is one blob of
little-endian 32-bit words (docs/package-format.md). The opcode numbers come from
``runtime/src/megcc_opcodes.def``, the same lines the C enum is made from.

Example
-------
>>> sorted(opcodes(), key=opcodes().get)
['END', 'CALL', 'COPY']
"""

from __future__ import annotations

import hashlib
import re
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ..errors import UnsupportedError
from ..program import ALIGNMENT, DTYPES, Call, Location, Pool, Program, Tensor
from .sources import runtime_text

MAGIC = 0x4347454D
VERSION = 2
ABI = 2  #: equal to MEGCC_ABI of runtime/src/megcc_vm.h (a test compares them)
NONE = 0xFFFFFFFF
HEADER_WORDS = 32
SECTIONS_AT = 10  #: word of the header with which the table of sections begins
SPACES = ("arena", "weight", "input", "output")


@lru_cache(maxsize=1)
def opcodes() -> dict[str, int]:
    """Numbers of the VM's instructions by name."""
    return {name: number for name, (number, _) in _opcode_table().items()}


def handler(opcode: str) -> str | None:
    """C name of the handler of ``opcode`` (and of its source file), None when it needs none."""
    name = _opcode_table()[opcode][1]
    return None if name == "-" else name


@lru_cache(maxsize=1)
def _opcode_table() -> dict[str, tuple[int, str]]:
    row = re.compile(r"^MEGCC_OPCODE\((\d+), (\w+), ([\w-]+)\)$", re.MULTILINE)
    text = runtime_text("src/megcc_opcodes.def")
    return {name: (int(number), c_name) for number, name, c_name in row.findall(text)}


def fingerprint(symbols: Sequence[str]) -> int:
    """64-bit hash of an ordered kernel table; image and table must agree on it."""
    text = "\n".join([f"megcc abi {ABI}", *symbols])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


@dataclass(frozen=True, slots=True)
class Copy:
    """Instruction: copy tensor ``src`` to tensor ``dst``."""

    dst: int
    src: int


@dataclass(frozen=True, slots=True)
class Code:
    """A program whose every output has its own memory, and its instructions in order."""

    program: Program
    instructions: tuple[Call | Copy, ...]

    @property
    def opcodes(self) -> tuple[str, ...]:
        used = {"COPY" if isinstance(i, Copy) else "CALL" for i in self.instructions} | {"END"}
        return tuple(sorted(used, key=lambda name: opcodes()[name]))


def pools(program: Program) -> tuple[Pool, ...]:
    """The caller's buffers for activations, in the order of their numbers; at least one."""
    assert program.arena_bytes is not None, "memory.place has not run"
    if program.plan is None or not program.plan.pools:
        return (Pool("arena", program.arena_bytes),)
    assert program.arena_bytes == sum(p.bytes for p in program.plan.pools), program.plan.pools
    return program.plan.pools


def checksum(blob: bytes) -> int:
    """The checksum in the header of an encoded program."""
    return int.from_bytes(blob[12:16], "little")


def _overlap(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors of the arena share bytes."""
    one, two = a.location, b.location
    return (
        one.index == two.index
        and one.offset < two.offset + b.nbytes
        and two.offset < one.offset + a.nbytes
    )


def own_outputs(program: Program) -> Code:
    """Give every output port memory of its own, adding COPY where its value lives elsewhere.

    An output whose tensor is ``("output", k)`` is written in place; one in the arena is read from
    there. Everything else is copied to the port's own buffer: a weight, an input passed straight
    through, another port's tensor or a view of it, arena bytes that another output already shows.
    """
    tensors = list(program.tensors)
    ports = list(program.outputs)
    input_tensors = {p.tensor for p in program.inputs}
    shown: list[Tensor] = []
    first: list[Call | Copy] = []
    last: list[Call | Copy] = []
    for k, port in enumerate(program.outputs):
        t = tensors[port.tensor]
        if t.location == Location("output", k):
            continue
        if t.location.space == "arena" and port.tensor not in input_tensors:
            if not any(_overlap(t, other) for other in shown):
                shown.append(t)
                continue
        copy = Copy(len(tensors), port.tensor)
        # An input in the arena may be overwritten by the program; at the start it is there.
        (first if port.tensor in input_tensors else last).append(copy)
        tensors.append(Tensor(port.name, t.dtype, t.shape, Location("output", k)))
        ports[k] = replace(port, tensor=copy.dst)
    changed = replace(program, tensors=tuple(tensors), outputs=tuple(ports))
    return Code(changed, (*first, *program.calls, *last))


class _Strings:
    """Deduplicated, 0-terminated strings; a reference is an offset."""

    def __init__(self) -> None:
        self.data = bytearray()
        self._known: dict[str, int] = {}

    def ref(self, text: str) -> int:
        if "\0" in text:
            raise UnsupportedError(
                f"name {text!r} contains a NUL character; rename it in the model"
            )
        if text not in self._known:
            self._known[text] = len(self.data)
            self.data += text.encode() + b"\0"
        return self._known[text]


def _i32(value: int, what: str) -> int:
    if not -(1 << 31) <= value < 1 << 31:
        raise UnsupportedError(f"{what} is {value}, which does not fit in 32 bits; make it smaller")
    return value & NONE


def _check_port(program: Program, port_tensor: int, space: str, k: int, name: str) -> None:
    location = program.tensors[port_tensor].location
    assert location == Location(space, k) or location.space == "arena", (name, location)  # type: ignore[arg-type]


def _tensor_words(
    t: Tensor, first_dim: int, placed: Sequence[tuple[int, int]]
) -> tuple[int, int, int, int, int, int]:
    where = t.location
    index, offset = where.index, where.offset
    if where.space == "weight":
        index, base = placed[where.index]
        offset += base
    code = list(DTYPES).index(t.dtype) | SPACES.index(where.space) << 8 | len(t.shape) << 16
    return code, first_dim, index, offset & NONE, offset >> 32, 0


def _call_words(call: Call, strings: _Strings, op: int) -> list[int]:
    words = [
        op,
        call.kernel,
        strings.ref(call.name),
        _i32(call.work, f"the work of {call.name!r}"),
        NONE if call.workspace is None else call.workspace,
        call.n_outputs,
        len(call.operands),
        *call.operands,
        *(_i32(a, f"an attribute of {call.name!r}") for a in call.attrs),
    ]
    words[0] |= len(words) << 8
    return words


def encode(
    code: Code,
    *,
    symbols: Sequence[str],
    placed: Sequence[tuple[int, int]],
    segments: Sequence[bytes],
) -> bytes:
    """Encode one architecture's program.

    Parameters
    ----------
    code : Code
        From `own_outputs`; its program has ``arena_bytes``.
    symbols : sequence of str
        The kernel table, in the order of ``code.program.kernels``.
    placed : sequence of (segment, offset)
        Where each of ``code.program.weights`` lies.
    segments : sequence of bytes
        The weight segments of this architecture.

    Returns
    -------
    bytes
        Little-endian 32-bit words, a multiple of `ALIGNMENT` long.
    """
    program = code.program
    assert len(symbols) == len(program.kernels)
    for k, port in enumerate(program.inputs):
        _check_port(program, port.tensor, "input", k, port.name)
    for k, port in enumerate(program.outputs):
        _check_port(program, port.tensor, "output", k, port.name)

    strings = _Strings()
    header = [0] * HEADER_WORDS
    arch_ref, name_ref = strings.ref(program.arch), strings.ref(program.name)
    kernels = [strings.ref(s) for s in symbols]
    pool_words = [
        w for p in pools(program) for w in (strings.ref(p.name), p.bytes & NONE, p.bytes >> 32)
    ]
    ports = [
        [w for p in side for w in (strings.ref(p.name), p.tensor)]
        for side in (program.inputs, program.outputs)
    ]
    dims: list[int] = []
    tensors: list[int] = []
    for t in program.tensors:
        tensors += _tensor_words(t, len(dims), placed)
        dims += [_i32(d, f"a dimension of {t.name!r}") for d in t.shape]
    words: list[int] = []
    for item in code.instructions:
        if isinstance(item, Copy):
            words += [opcodes()["COPY"] | 3 << 8, item.dst, item.src]
        else:
            if item.workspace is not None:
                assert program.tensors[item.workspace].location.offset % ALIGNMENT == 0, item
            words += _call_words(item, strings, opcodes()["CALL"])
    words.append(opcodes()["END"] | 1 << 8)
    segment_words = [w for s in segments for w in (len(s) & NONE, len(s) >> 32, zlib.crc32(s), 0)]

    body = bytearray()

    def section(number: int, data: bytes, count: int) -> None:
        at = SECTIONS_AT + 2 * number
        header[at : at + 2] = 4 * HEADER_WORDS + len(body), count
        body.extend(data + bytes(-len(data) % 4))

    def pack(values: Sequence[int]) -> bytes:
        return struct.pack(f"<{len(values)}I", *values)

    section(0, bytes(strings.data), len(strings.data))
    section(1, pack(segment_words), len(segments))
    section(2, pack(kernels), len(kernels))
    section(3, pack(dims), len(dims))
    section(4, pack(tensors), len(program.tensors))
    section(5, pack(ports[0]), len(program.inputs))
    section(6, pack(ports[1]), len(program.outputs))
    section(7, pack(words), len(words))
    section(8, pack(pool_words), len(pools(program)))

    # Padded inside the checksum: in a .bin the weights follow, and no byte may change unseen.
    body += bytes(-(4 * HEADER_WORDS + len(body)) % ALIGNMENT)
    mark = fingerprint(symbols)
    header[0:3] = MAGIC, VERSION, 4 * HEADER_WORDS + len(body)
    operands = max((len(c.operands) for c in program.calls), default=0)
    header[4:9] = mark & NONE, mark >> 32, arch_ref, name_ref, operands
    blob = bytearray(pack(header) + body)
    struct.pack_into("<I", blob, 12, zlib.crc32(blob[16:]))
    return bytes(blob)
