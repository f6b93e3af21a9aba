"""Reductions of a schedule: the initialisation apart, and a spatial loop innermost."""

from __future__ import annotations

from functools import partial

import tvm
from tvm import s_tir, tirx
from tvm.s_tir import SBlock

from .block_facts import BlockFacts, accesses, attempt, facts_of, realize_of, strides_of
from .walk import variables


def arrange_reduction(sch: s_tir.Schedule, name: str, tile: int) -> s_tir.Schedule:
    """Split off the initialisation and, where it vectorises, put a spatial loop innermost.

    `tile`: so many turns of that loop are innermost, the others around the reduction.
    """
    block = sch.get(sch.get_sblock(name))
    facts = facts_of(block)
    # TVM makes no loop for an extent of 1: there the initialisation is before the sum as it stands.
    if block.init is None or "reduce" not in _loop_kinds(sch, name):
        return sch
    inner = _vector_iter(block, facts)

    def step(s: s_tir.Schedule, inner: str | None) -> None:
        rv = s.get_sblock(name)
        loops = s.get_loops(rv)
        kinds = _loop_kinds(s, name)
        reduce = [lp for lp, k in zip(loops, kinds, strict=True) if k == "reduce"]
        if inner is not None:
            spatial = [lp for lp, k in zip(loops, kinds, strict=True) if k == inner]
            if len(spatial) == 1:
                s.reorder(*reduce, spatial[0])
        s.decompose_reduction(rv, reduce[0])

    def tiled(s: s_tir.Schedule) -> None:
        rv = s.get_sblock(name)
        pairs = list(zip(s.get_loops(rv), _loop_kinds(s, name), strict=True))
        reduce = [loop for loop, kind in pairs if kind == "reduce"]
        (spatial,) = (loop for loop, kind in pairs if kind == inner)
        extent = s.get(spatial).extent
        if not isinstance(extent, tirx.IntImm) or extent.value % tile:
            raise ValueError("a tile may be cut")
        around, lanes = s.split(spatial, [None, tile])
        s.reorder(around, *reduce, lanes)
        s.decompose_reduction(rv, reduce[0])

    if inner is not None and tile and (found := attempt(sch, tiled)) is not None:
        return found
    return (
        attempt(sch, partial(step, inner=inner)) or attempt(sch, partial(step, inner=None)) or sch
    )


def _loop_kinds(sch: s_tir.Schedule, name: str) -> list[str]:
    """For each loop: the spatial variable it alone drives, ``reduce``, or ``other``."""
    realize = realize_of(sch, name)
    owner: dict[tvm.ir.Var, set[str]] = {}
    for var, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        kind = "reduce" if var.iter_type == tirx.IterVar.CommReduce else var.var.name
        for used in variables(value):
            owner.setdefault(used, set()).add(kind)
    kinds = []
    for loop in sch.get_loops(sch.get_sblock(name)):
        who = owner.get(sch.get(loop).loop_var, set())
        kinds.append(next(iter(who)) if len(who) == 1 else "other")
    return kinds


def _vector_iter(block: SBlock, facts: BlockFacts) -> str | None:
    """The spatial variable along which the result and all operands lie (almost) side by side."""
    if not isinstance(block.body, tirx.BufferStore) or not facts.spatial:
        return None
    store = block.body
    if str(store.buffer.ty.dtype) in ("float16", "bfloat16"):
        return None  # partial sums would be rounded to 16 bits at every step
    for iter_var in reversed(facts.spatial):
        extent = iter_var.dom.extent
        if isinstance(extent, tirx.IntImm) and extent.value < 4:
            continue
        steps = []
        for shape, index in accesses(block):
            strides = strides_of(shape, index, [iter_var.var])
            if strides is None or not isinstance(strides[0], tirx.IntImm):
                return None
            steps.append(strides[0].value)
        return iter_var.var.name if steps[-1] == 1 and all(0 <= s <= 2 for s in steps) else None
    return None
