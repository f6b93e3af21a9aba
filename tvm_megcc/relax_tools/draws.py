"""Draws: four words that random numbers are computed from, different in each draw.

The words are a key and the number of the draw, both low word first (``uint32[4]``). The numbers are
a pure function of them (`philox`). ``lower`` makes a draw a `core.program.Draw`, whose counter is
in the context; in ``relax.VirtualMachine`` it is our function, with a counter of the process.

Example
-------
>>> words = draw("RandomNormal 'noise'", "draw_3", None)                # doctest: +SKIP
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import tvm
from tvm import relax

from tvm_megcc.relax_tools.calls import packed_name

#: Name of the function that TVM's VM calls.
DRAWN = "tvm_megcc.drawn"
#: Name of the function that regions of TVM call (codegen_c/emit/package/tvm_region.c).
SEED_OF_RUN = "tvm_megcc.seed_of_run"
#: Difference between the seeds of two runs of regions: odd, so that 2**64 runs differ.
STRIDE = 0x9E3779B97F4A7C15
#: Words of a draw.
WORDS = 4


@dataclass(frozen=True, slots=True)
class Drawn:
    """A draw: the node, and the node's own key, if it has one."""

    node: str
    seed: int | None


def draw(node: str, place: str, seed: int | None) -> relax.Call:
    """A draw as ``uint32[4]``.

    Parameters
    ----------
    node : str
        The model's node, as messages name it.
    place : str
        Different for each call of the module: TVM merges equal calls.
    seed : int or None
        The key, 64 bits with a sign; None: the seed of the context.
    """
    own = "" if seed is None else str(seed)
    words = relax.TensorType((WORDS,), "uint32")
    texts = (tvm.ir.StringImm(text) for text in (node, place, own))
    return relax.op.call_pure_packed(DRAWN, *texts, ty_args=words)


def drawn_of(expr: relax.Expr) -> Drawn | None:
    """The draw that an expression of `draw` makes; None for any other expression."""
    if packed_name(expr) != DRAWN:
        return None
    _, node, _, own = expr.args
    return Drawn(str(node.value), int(own.value) if own.value else None)


@dataclass
class _Counter:
    """Seed, and number of the next draw, of a process."""

    seed: int = 0
    draws: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next(self, seed: int | None) -> np.ndarray:
        with self.lock:
            key = self.seed if seed is None else seed
            found = np.array([key & (1 << 64) - 1, self.draws], "<u8").view("<u4")
            self.draws += 1
        return found

    def seed_of_run(self) -> int:
        """Seed of the next run of a region, signed; the first run gets the seed itself."""
        with self.lock:
            key = self.seed + self.draws * STRIDE
            self.draws += 1
        return (key + (1 << 63)) % (1 << 64) - (1 << 63)

    def set(self, seed: int) -> None:
        with self.lock:
            self.seed, self.draws = seed, 0


_counter = _Counter()


def set_seed(seed: int) -> None:
    """Restart the random numbers of ``relax.VirtualMachine`` in this process.

    ``megcc_set_seed`` does so for a context of a package. The initial seed is 0. A region that
    draws (see `partition_for_megcc`) has a new seed in each run, and this one in the first.

    Parameters
    ----------
    seed : int
        64 bits, with a sign.
    """
    _counter.set(seed)


@cache
def register() -> None:
    """Make the functions known to TVM, for modules that run in ``relax.VirtualMachine``."""

    def run(node: str, place: str, own: str) -> Any:
        return tvm.runtime.tensor(_counter.next(int(own) if own else None))

    tvm.register_global_func(DRAWN, run)
    tvm.register_global_func(SEED_OF_RUN, _counter.seed_of_run)
