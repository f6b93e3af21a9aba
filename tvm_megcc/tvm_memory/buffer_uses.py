"""Uses of buffers by a statement of TIR: loads, stores, and others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import TensorLoad


class BufferUses:
    """The buffers that a statement loads and stores.

    Attributes
    ----------
    loaded, stored : set of Var
    """

    def __init__(self, stage: tirx.Stmt) -> None:
        self.loaded: set[tvm.ir.Var] = set()
        self.stored: set[tvm.ir.Var] = set()
        #: Occurrences of a buffer other than indexed or in a declared region.
        self._bare: Counter[tvm.ir.Var] = Counter()
        self._matches_part = False

        def occurrence(var: tvm.ir.Var) -> None:
            if isinstance(var.ty, tirx.BufferType):
                self._bare[var] += 1

        def load(node: TensorLoad) -> None:
            self.loaded.add(node.source)
            self._bare[node.source] -= 1

        def store(node: tirx.BufferStore) -> None:
            self.stored.add(node.buffer)
            self._bare[node.buffer] -= 1

        def region(node: tvm.ir.TensorRegion) -> None:
            self._bare[node.source] -= 1

        def match(node: object) -> None:
            self._matches_part = True

        tvm_ffi.structural_walk(
            stage,
            [
                (tvm.ir.Var, occurrence),
                (tirx.BufferStore, store),
                (TensorLoad, load),
                (tvm.ir.TensorRegion, region),
                (tvm.s_tir.MatchBufferRegion, match),
            ],
        )

    def only_indexed(self, buffers: Iterable[tvm.ir.Var] | None = None) -> bool:
        """Whether these or all buffers occur in loads, stores and declared regions only."""
        bare = self._bare if buffers is None else buffers
        return not self._matches_part and not any(self._bare[b] for b in bare)
