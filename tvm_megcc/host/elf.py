"""Is a shared library whole, and for which machine? The loader dies of a file that is cut short.

Enters: a path. Leaves: an architecture of ours, or an error.
"""

from __future__ import annotations

import struct
from pathlib import Path

from tvm_megcc.core import machine
from tvm_megcc.errors import InputError


def architecture(path: Path) -> str:
    """The architecture of an ELF shared library, "portable" for an architecture not in our table.

    Raises InputError if the file is no ELF file, or ends before its last segment or section.
    """
    data = path.read_bytes()
    try:
        number, needed = _header(data)
    except struct.error:
        number, needed = 0, len(data) + 1
    if data[:4] != b"\x7fELF" or needed > len(data):
        raise InputError(f"'{path}' is no shared library, or is cut short; compile it again")
    return next((row.name for row in machine.TABLE if row.elf == number), "portable")


def _header(data: bytes) -> tuple[int, int]:
    """The machine's number and the bytes that the file must have."""
    wide = data[4:5] == b"\x02"
    order = ">" if data[5:6] == b"\x02" else "<"
    (number,) = struct.unpack_from(f"{order}H", data, 18)
    offsets = struct.unpack_from(f"{order}{'QQ' if wide else 'II'}", data, 32 if wide else 28)
    sizes = struct.unpack_from(f"{order}6H", data, 52 if wide else 40)
    _, segment_bytes, segments, section_bytes, sections, _ = sizes
    needed = max(offsets[0] + segment_bytes * segments, offsets[1] + section_bytes * sections)
    for k in range(segments):
        at = offsets[0] + k * segment_bytes
        if wide:
            start, size = struct.unpack_from(f"{order}Q16xQ", data, at + 8)
        else:
            start, size = struct.unpack_from(f"{order}I8xI", data, at + 4)
        needed = max(needed, start + size)
    return number, needed
