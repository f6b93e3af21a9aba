"""The image's bytes: Python and C agree on every number, and the blob says what the program is."""

from __future__ import annotations

import re
import struct
import zlib
from dataclasses import replace

from tvm_megcc.codegen_c import sources
from tvm_megcc.codegen_c.emit import (
    blocks,
    bytecode,
    function_words,
    instructions,
    model_header,
    scalars,
    weight_segments,
)
from tvm_megcc.core.contents import Parts
from tvm_megcc.core.dtypes import DTYPES
from tvm_megcc.core.program import ALIGNMENT, bundle_of
from tvm_megcc.core.splitting import PIECE

from ..runtime import programs as p

#: Sections in the order of the C enum; from "dims" on they are those of a function.
SECTIONS = (
    "strings", "segments", "kernels", "symbols", "signature", "functions", "dims", "tensors",
    "inputs", "outputs", "code", "pools", "values", "scalars", "blocks", "below", "guards",
)  # fmt: skip
ENTRY = {
    "segments": 4, "symbols": 3, "functions": 26, "tensors": 6, "inputs": 3, "outputs": 3,
    "pools": 3, "scalars": 3, "blocks": 4, "guards": 3,
}  # fmt: skip


def blob(program=None) -> bytes:
    code = instructions.own_outputs(program or p.adder("x86", p.W))
    symbols = [k.symbol for k in code.program.kernels]
    segments = [Parts([w.data.ljust(64, b"\0")]) for w in code.program.weights]
    placed = [(k, 0) for k in range(len(segments))]
    function = function_words.Function((), code, tuple(range(len(symbols))), placed)
    bundle = bundle_of(code.program)
    return bytecode.encode(bundle, [function], symbols=symbols, segments=segments)


def words(data: bytes) -> list[int]:
    return list(struct.unpack(f"<{len(data) // 4}I", data))


def section(data: bytes, name: str, function: int = 0) -> list[int]:
    number = SECTIONS.index(name)
    if number < SECTIONS.index("dims"):
        at = bytecode.SECTIONS_AT + 2 * number
    else:
        at = words(data)[bytecode.SECTIONS_AT + 2 * SECTIONS.index("functions")] // 4
        at += ENTRY["functions"] * function + bytecode.FUNCTION_WORDS
        at += 2 * (number - SECTIONS.index("dims"))
    offset, count = words(data)[at : at + 2]
    return words(data)[offset // 4 :][: count * ENTRY.get(name, 1)]


def string(data: bytes, ref: int) -> str:
    start = words(data)[bytecode.SECTIONS_AT] + ref
    return data[start : data.index(0, start)].decode()


def test_numbers_are_those_of_the_c_sources():
    vm = sources.runtime_text("src/megcc_vm.h")
    api = sources.runtime_text("include/megcc.h")
    macros = dict(re.findall(r"#define (\w+) (\w+)", vm + api))
    assert int(macros["MEGCC_ABI"]) == bytecode.ABI
    assert int(macros["MEGCC_MAGIC"].rstrip("u"), 16) == bytecode.MAGIC
    assert int(macros["MEGCC_VERSION"].rstrip("u")) == bytecode.VERSION
    assert int(macros["MEGCC_ALIGNMENT"]) == ALIGNMENT
    limits = int(macros["MEGCC_MAX_SEGMENTS"]), int(macros["MEGCC_MAX_POOLS"])
    assert limits == (weight_segments.MAX_SEGMENTS, model_header.MAX_POOLS)
    types = re.search(r"typedef enum megcc_dtype \{(.*?)\}", api, re.S).group(1)
    assert [d.lower() for d in re.findall(r"MEGCC_(\w+)", types)] == [d.name for d in DTYPES]
    assert int(macros["MEGCC_SHAPED_BYTES"]) == model_header.SHAPED_BYTES
    sections = re.search(
        r"enum \{\n  // Shared by all functions\.(.*?)MEGCC_SECTIONS", vm, re.S
    ).group(1)
    assert tuple(n.lower() for n in re.findall(r"^  MEGCC_S_(\w+)", sections, re.M)) == SECTIONS
    operations = re.findall(
        r"MEGCC_V_(\w+)", re.search(r"enum \{  // operations.*?\}", vm, re.S).group(0)
    )
    assert tuple(o.lower() for o in operations)[:-1] == scalars.OPERATIONS
    kinds = re.findall(r"MEGCC_B_(\w+)", re.search(r"// Kinds of blocks.*?\}", vm, re.S).group(0))
    assert [getattr(blocks, k) for k in kinds] == list(range(3))
    spaces = re.search(r"enum \{ (MEGCC_ARENA.*?) \}", vm).group(1)
    assert (
        tuple(s.lower() for s in re.findall(r"MEGCC_(\w+)", spaces))[:-1] == function_words.SPACES
    )


def test_opcode_table_is_the_c_one():
    table = instructions.opcodes()
    assert table["END"] == 0 and len(set(table.values())) == len(table)
    text = sources.runtime_text("src/megcc_opcodes.def")
    assert text.count("\nMEGCC_OPCODE(") == len(table)
    for name in table:
        handler = instructions.handler(name)
        if handler is not None:
            assert f"const megcc_op_t {handler} =" in sources.runtime_text(f"src/{handler}.c")


def test_header():
    data = blob()
    head = words(data)[:32]
    assert data[:4] == b"MEGC" and head[1] == bytecode.VERSION
    assert head[2] == len(data) and len(data) % ALIGNMENT == 0
    assert head[3] == zlib.crc32(data[16:])
    assert head[4] | head[5] << 32 == bytecode.fingerprint(["t_add"])
    assert (string(data, head[6]), string(data, head[7])) == ("x86", "adder")
    assert head[8:10] == [0, 0] and head[22:] == [0] * 10
    assert section(data, "functions")[:4] == [3, 0, 0, 0]


def test_sections():
    data = blob()
    assert section(data, "segments") == [64, 0, zlib.crc32(p.W.tobytes().ljust(64, b"\0")), 0]
    assert section(data, "dims") == [6, 6, 6]
    assert section(data, "tensors")[6:12] == [1 << 8 | 1 << 16, 1, 0, 0, 0, 0]
    (name, tensor, partner) = section(data, "inputs")
    assert (string(data, name), tensor, partner) == ("x", 0, function_words.NONE)
    call = section(data, "code")
    assert call[0] == 1 | 11 << 8 and call[1] == 0 and string(data, call[2]) == "add"
    assert call[3:] == [6, 255 | PIECE << 8, function_words.NONE, 1, 3, 0, 1, 2, 0 | 1 << 8]


def test_pools():
    data = blob(p.corners("x86"))
    assert (
        section(data, "pools")[1:] == [256, 0]
        and string(data, section(data, "pools")[0]) == "arena"
    )
    program = p.in_two_pools(p.planned("x86"))
    big = replace(program.plan.pools[1], bytes=5 << 32)
    plan = replace(program.plan, pools=(program.plan.pools[0], big))
    data = blob(replace(program, plan=plan, arena_bytes=128 + (5 << 32)))
    (first, *one), (second, *two) = section(data, "pools")[:3], section(data, "pools")[3:]
    assert (string(data, first), one) == ("sram", [128, 0])
    assert (string(data, second), two) == ("ps-ram 2", [0, 5])
    arena = [
        t[2:4]
        for t in zip(*[iter(section(data, "tensors"))] * 6, strict=True)
        if t[0] >> 8 & 255 == 0
    ]
    assert (1, 64) in arena and (0, 64) in arena


def test_fingerprint_depends_on_order():
    assert bytecode.fingerprint(["a", "b"]) != bytecode.fingerprint(["b", "a"])
    assert bytecode.fingerprint(["a", "b"]) != bytecode.fingerprint(["a\nb", ""])


def test_inputs_are_copied_first_and_the_rest_last():
    code = instructions.own_outputs(p.corners("x86"))
    kinds = [type(i).__name__ for i in code.instructions]
    assert kinds == ["Copy"] * 4 + ["Call"] * 6 + ["Copy"] * 4
    assert code.opcodes == ("END", "CALL", "COPY")
