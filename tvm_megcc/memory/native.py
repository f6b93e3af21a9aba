"""The C core of the planners: compiled once with the host's compiler, or absent.

The library is kept in the user's cache folder under the hash of its source, so that a changed
source is a new file and nothing is ever stale. Without a compiler or a cache folder `core` is None
and the planners run in Python, to the same results.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvm_megcc.core import user_cache
from tvm_megcc.memory.branch_model import Attempt, Model
from tvm_megcc.memory.flat import Flat, Ints

SOURCE = Path(__file__).with_name("core.c")
COMPILERS = ("cc", "gcc", "clang")
FLAGS = ("-O2", "-std=gnu99", "-fPIC", "-shared", "-fvisibility=hidden")


class Core:
    """The functions of ``core.c`` over our arrays."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library

    def place(self, flat: Flat, order: Ints, best: bool) -> Ints:
        """See `tvm_megcc.memory.firstfit.place`."""
        offsets = np.zeros(flat.n, dtype=np.int64)
        order = np.ascontiguousarray(order, dtype=np.int64)
        arrays = (flat.start, flat.t0, flat.t1, flat.lo, flat.hi, flat.alignment, flat.fixed, order)
        status = self._library.megcc_memory_place(
            ctypes.c_int64(flat.n),
            *(_pointer(a) for a in arrays),
            ctypes.c_int(best),
            _pointer(offsets),
        )
        if status:
            raise MemoryError("memory planner")
        return offsets

    def search(self, model: Model, attempt: Attempt, seconds: float) -> tuple[int, Ints, int, int]:
        """Result, offsets, nodes and work of one search; see `tvm_megcc.memory.branch.search`."""
        offsets, counters = np.zeros(model.n, dtype=np.int64), np.zeros(2, dtype=np.int64)
        m = model
        arrays = (
            m.size, m.whole, m.alignment, m.fixed, m.sections_of0, m.sections_of, m.blocks_in0,
            m.blocks_in, m.near0, m.near, m.twin, m.first, m.last, m.lifetime, attempt.rank,
        )  # fmt: skip
        result: int = self._library.megcc_memory_search(
            ctypes.c_int32(m.n), ctypes.c_int32(m.sections), *(_pointer(a) for a in arrays),
            ctypes.c_int64(attempt.cap), ctypes.c_int(attempt.tightest),
            ctypes.c_int64(attempt.work), ctypes.c_double(seconds),
            _pointer(offsets), _pointer(counters),
        )  # fmt: skip
        return result, offsets, int(counters[0]), int(counters[1])


def _pointer(array: NDArray[Any]) -> ctypes.c_void_p:
    assert array.flags.c_contiguous
    return ctypes.c_void_p(array.ctypes.data)


@cache
def core() -> Core | None:
    """The compiled core; None where it cannot be had."""
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        return None
    try:
        return Core(ctypes.CDLL(str(_built(compiler))))
    except (OSError, subprocess.SubprocessError):
        return None


def _built(compiler: str) -> Path:
    source = SOURCE.read_bytes()
    facts = "\0".join((*FLAGS, compiler, platform.machine(), sys.platform)).encode()
    name = f"memory-{hashlib.sha256(source + facts).hexdigest()[:16]}.so"
    cache = user_cache.folder()
    if cache is None:
        raise FileNotFoundError("no cache of this user alone")
    library = cache / name
    if not library.exists():
        with tempfile.TemporaryDirectory(dir=library.parent) as scratch:
            fresh = Path(scratch) / name
            subprocess.run(
                [compiler, *FLAGS, "-o", str(fresh), str(SOURCE)],
                check=True, capture_output=True, timeout=60,
            )  # fmt: skip
            os.replace(fresh, library)  # atomic: whoever else builds it writes the same bytes
    return library
