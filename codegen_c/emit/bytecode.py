"""``Bundle`` -> the binary program that the C VM reads in place.

What enters are planned `Program`s and where their weights went; what leaves is one blob of
little-endian 32-bit words (docs/package-format.md).

Example
-------
>>> hex(fingerprint(["k"]))[:6] == hex(fingerprint(["k"]))[:6]
True
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Sequence

from tvm_megcc.codegen_c.emit.function_words import (
    NONE,
    UNBOUNDED,
    Function,
    FunctionEncoder,
    Strings,
    i32,
)
from tvm_megcc.core.contents import Parts
from tvm_megcc.core.program import ALIGNMENT, Bundle
from tvm_megcc.dims import as_multiple

MAGIC = 0x4347454D
VERSION = 5
ABI = 12  #: equal to MEGCC_ABI of runtime/src/megcc_vm.h (a test compares them)
HEADER_WORDS = 32
SECTIONS_AT = 10  #: word of the header with which the table of sections begins
FUNCTION_WORDS = 4  #: of a function, before its table of sections


def fingerprint(symbols: Sequence[str]) -> int:
    """64-bit hash of an ordered kernel table; image and table must agree on it."""
    text = "\n".join([f"megcc abi {ABI}", *symbols])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def checksum(blob: bytes) -> int:
    """The checksum in the header of an encoded program."""
    return int.from_bytes(blob[12:16], "little")


def encode(
    bundle: Bundle,
    functions: Sequence[Function],
    *,
    symbols: Sequence[str],
    segments: Sequence[Parts],
) -> bytes:
    """Encode the programs of one architecture: a multiple of `ALIGNMENT` bytes.

    `functions` are the bundle's variants, in order, with planned programs; `symbols` are the link
    names of the kernel table.
    """
    strings = Strings()
    header = [0] * HEADER_WORDS
    arch_ref, name_ref = strings.ref(bundle.arch), strings.ref(bundle.name)
    kernels = [strings.ref(s) for s in symbols]
    number = {s.name: k for k, s in enumerate(bundle.symbols)}
    symbol_words = [
        w
        for s in bundle.symbols
        for w in (strings.ref(s.name), s.low, UNBOUNDED if s.high is None else s.high)
    ]
    signature: list[int] = []
    # No signature is needed where every shape is fixed: the function's inputs have the dims.
    fixed = len(functions) == 1 and not (bundle.symbols or functions[0].code.program.symbols)
    for port in () if fixed else bundle.inputs:
        signature.append(len(port.dims))
        for dim in port.dims:
            if isinstance(dim, int):
                signature.append(i32(dim, f"a dimension of {port.name!r}"))
            else:
                multiple = as_multiple(dim)
                assert multiple is not None, f"{port.name}: {dim}"
                factor, symbol = multiple
                code = number[symbol.name] + len(number) * (factor - 1)
                signature.append(i32(-1 - code, f"a factor of {port.name!r}") & NONE)
    segment_words = [w for s in segments for w in (len(s) & NONE, len(s) >> 32, s.crc32(), 0)]
    encoders = [FunctionEncoder(f, bundle.symbols, strings) for f in functions]
    found = [encoder.sections() for encoder in encoders]

    body = bytearray()
    known: dict[bytes, int] = {}

    def section(data: bytes, count: int) -> tuple[int, int]:
        """Offset and count of a section; functions share equal ones."""
        if data not in known:
            known[data] = 4 * HEADER_WORDS + len(body)
            body.extend(data + bytes(-len(data) % 4))
        return known[data], count

    tables = [
        [w for words, count in sections for w in section(_pack(words), count)] for sections in found
    ]
    records = [w for e, table in zip(encoders, tables, strict=True) for w in (*e.head(), *table)]
    shared = [
        section(bytes(strings.data), len(strings.data)),
        section(_pack(segment_words), len(segments)),
        section(_pack(kernels), len(kernels)),
        section(_pack(symbol_words), len(bundle.symbols)),
        section(_pack(signature), len(signature)),
        section(_pack(records), len(functions)),
    ]
    for k, (offset, count) in enumerate(shared):
        header[SECTIONS_AT + 2 * k : SECTIONS_AT + 2 * k + 2] = offset, count

    # Padded inside the checksum: in a .bin the weights follow, and no byte may change unseen.
    body += bytes(-(4 * HEADER_WORDS + len(body)) % ALIGNMENT)
    mark = fingerprint(symbols)
    header[0:3] = MAGIC, VERSION, 4 * HEADER_WORDS + len(body)
    header[4:8] = mark & NONE, mark >> 32, arch_ref, name_ref
    blob = bytearray(_pack(header) + body)
    struct.pack_into("<I", blob, 12, zlib.crc32(blob[16:]))
    return bytes(blob)


def _pack(words: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(words)}I", *words)
