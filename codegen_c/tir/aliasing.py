"""The inputs that a function's output may overwrite: it reads each at the very index it writes.

Enters: a flat function. Leaves: positions of buffers, to be printed without ``restrict`` and with
`MEGCC_IVDEP` on the loops, as an element's own load is the only one that its store could disturb.
"""

from __future__ import annotations

from collections.abc import Sequence

import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import TensorLoad

from .walk import variables, walk


def aliases(func: tirx.PrimFunc) -> dict[tvm.ir.Var, tvm.ir.Var]:
    """The buffer that each declared one is another view of, from its first element on.

    Flat functions see every operand through such a declaration, in one dimension.
    """
    found: dict[tvm.ir.Var, tvm.ir.Var] = {}
    for node in walk(func.body):
        if isinstance(node, tirx.DeclBuffer):
            owner = next(iter(variables(node.data)), node.buffer)
            found[node.buffer] = found.get(owner, owner)
    return found


def overwritable(func: tirx.PrimFunc, buffers: Sequence[tvm.ir.Var]) -> tuple[int, ...]:
    """Positions in `buffers` of the inputs whose memory the only output may be.

    Holds where the body is one store in a nest of loops over plain buffers: nothing is accumulated,
    kept in a temporary, or read at another index.
    """
    nodes = list(walk(func.body))
    stores = [n for n in nodes if isinstance(n, tirx.BufferStore)]
    plain = (tirx.For, tirx.BufferStore, tirx.Bind, tirx.DeclBuffer, tirx.SeqStmt)
    statements = [n for n in nodes if isinstance(n, tirx.Stmt)]
    if len(stores) != 1 or not all(isinstance(n, plain) for n in statements):
        return ()
    (store,) = stores
    alias = aliases(func)
    target = alias.get(store.buffer, store.buffer)
    loads = [(alias.get(n.source, n.source), n) for n in nodes if isinstance(n, TensorLoad)]
    if not any(target.same_as(b) for b in buffers):
        return ()
    if any(source.same_as(target) for source, _ in loads) or not _injective(store, nodes):
        return ()
    found = []
    for position, buffer in enumerate(buffers):
        mine = [n for source, n in loads if source.same_as(buffer)]
        same_type = str(buffer.ty.dtype) == str(store.buffer.ty.dtype)
        if mine and same_type and all(_same_place(n, store) for n in mine):
            found.append(position)
    return tuple(found)


def _same_place(load: TensorLoad, store: tirx.BufferStore) -> bool:
    return len(load.indices) == len(store.indices) and all(
        tvm_ffi.structural_equal(a, b) for a, b in zip(load.indices, store.indices, strict=True)
    )


def _injective(store: tirx.BufferStore, nodes: Sequence[object]) -> bool:
    """Whether no two iterations write one element (a loop that the index leaves out would)."""
    used = {v for index in store.indices for v in walk(index) if isinstance(v, tvm.ir.Var)}
    bound = {n.var for n in nodes if isinstance(n, tirx.Bind)}
    loops = [n.loop_var for n in nodes if isinstance(n, tirx.For)]
    return not used & bound and all(any(v.same_as(u) for u in used) for v in loops)
