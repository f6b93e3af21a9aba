"""The tokenizer in C, called from Python."""

from __future__ import annotations

import ctypes
import json
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tvm_megcc.core.this_machine import host_arch
from tvm_megcc.host import toolchain
from tvm_megcc.tokenizer import compile_tokenizer

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("megcc_tokenizer", "megcc_unicode", "megcc_encode", "megcc_decode")
AROUND, PLAIN = 1, 2


@cache
def library(folder: Path, *flags: str) -> ctypes.CDLL:
    """The C files as a shared library."""
    files = [str(ROOT / f"runtime/generate/{name}.c") for name in SOURCES]
    where = [f"-I{ROOT / 'runtime'}/{part}" for part in ("include", "generate")]
    out = folder / "tokenizer.so"
    command = [toolchain.find_compiler(host_arch()), "-std=c99", "-O1", "-shared", "-fPIC"]
    subprocess.run([*command, *flags, *where, *files, "-o", str(out)], check=True)
    found = ctypes.CDLL(str(out))
    found.megcc_encode_bytes.restype = found.megcc_decode_bytes.restype = ctypes.c_size_t
    return found


class Decoder(ctypes.Structure):
    _fields_ = [
        ("pending", ctypes.c_uint8 * 4), ("count", ctypes.c_uint32), ("begun", ctypes.c_uint32),
    ]  # fmt: skip


class CTokenizer:
    """A tokenizer of an image, or its status where the image is refused."""

    def __init__(self, lib: ctypes.CDLL, image: bytes) -> None:
        self.lib = lib
        self.image = ctypes.create_string_buffer(image, len(image))
        self.work, self.ids = ctypes.create_string_buffer(0), (ctypes.c_int32 * 0)()
        self.handle = (ctypes.c_void_p * 2)()
        size = ctypes.c_size_t(len(image))
        self.status = lib.megcc_tokenizer_open(self.image, size, self.handle)
        self.room = 0 if self.status else lib.megcc_decode_bytes(self.handle)

    def encode(self, text: str | bytes, flags: int = AROUND, room: int | None = None) -> list[int]:
        """Ids of a text; raises ValueError with the status where there are none."""
        raw = text.encode() if isinstance(text, str) else text
        size = ctypes.c_size_t(len(raw))
        need = self.lib.megcc_encode_bytes(self.handle, size)
        if need > len(self.work):
            self.work = ctypes.create_string_buffer(2 * need)
            self.ids = (ctypes.c_int32 * (need // 8))()
        work, ids, count = self.work, self.ids, ctypes.c_size_t()
        ctypes.memset(ids, 0, 4 * len(raw))
        most = ctypes.c_size_t(len(ids) if room is None else room)
        status = self.lib.megcc_encode(
            self.handle, raw, size, flags, work, ctypes.c_size_t(need), ids, most,
            ctypes.byref(count),
        )  # fmt: skip
        if status:
            raise ValueError(status, count.value, list(ids[: len(raw)]))
        return list(ids[: count.value])

    def decode(self, ids: Sequence[int], *, special: bool = False) -> str:
        decoder, found = Decoder(), bytearray()
        piece, size = ctypes.create_string_buffer(self.room + 3), ctypes.c_size_t()
        for one in ids:
            status = self.lib.megcc_decode_token(
                self.handle, ctypes.byref(decoder), one, int(special), piece,
                ctypes.c_size_t(self.room), ctypes.byref(size),
            )  # fmt: skip
            if status:
                raise ValueError(status)
            found += piece.raw[: size.value]
        self.lib.megcc_decode_end(
            ctypes.byref(decoder), piece, ctypes.c_size_t(3), ctypes.byref(size)
        )
        return (found + piece.raw[: size.value]).decode()


def compiled(found: dict[str, object], folder: Path, name: str = "tokenizer.json") -> bytes:
    """Image of a tokenizer.json's contents."""
    file = folder / name
    file.write_text(json.dumps(found), encoding="utf-8")
    return compile_tokenizer(file)
