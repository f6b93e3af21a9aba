"""Facts about TVM's blocks that a schedule depends on, and trial steps of a schedule.

Enters: a schedule, and the name of a block. Leaves: its loops and accesses in plain terms, or the
schedule after a step that TVM's scheduler takes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import tvm
from tvm import s_tir, tirx
from tvm.ir import Call, TensorLoad
from tvm.s_tir import SBlock, SBlockRealize
from tvm.s_tir.schedule.schedule import ScheduleError
from tvm.sym import Analyzer, detect_linear_equation

from .walk import name_of, walk

#: How TVM's scheduler says no: its own error, and failed checks that come as other classes.
REFUSALS = (ScheduleError, RuntimeError, ValueError, TypeError)

_CHEAP_CALLS = frozenset({"likely", "reinterpret", "fabs", "floor", "ceil"})


def attempt(sch: s_tir.Schedule, step: Callable[[s_tir.Schedule], None]) -> s_tir.Schedule | None:
    """Apply `step` to a copy; None when the scheduler refuses."""
    trial = sch.copy()
    try:
        step(trial)
    except REFUSALS:
        return None
    return trial


def block_names(sch: s_tir.Schedule) -> list[str]:
    root = sch.get_sblock("root")
    return [sch.get(b).name_hint for b in sch.get_child_blocks(root)]


def is_transparent(block: SBlock) -> bool:
    """Whether a block is plain stores, so that the accesses it declares are all it makes.

    Scans, scatters and sorts come as opaque loops that declare none; the scheduler would move their
    neighbours across them.
    """
    parts = list(block.body.seq) if isinstance(block.body, tirx.SeqStmt) else [block.body]
    return bool(block.writes) and all(isinstance(p, (tirx.Bind, tirx.BufferStore)) for p in parts)


@dataclass(frozen=True)
class BlockFacts:
    """Facts about one block that schedules depend on."""

    spatial: tuple[tirx.IterVar, ...]
    reduce: tuple[tirx.IterVar, ...]
    loads: tuple[TensorLoad, ...]
    stored: object
    expensive: bool
    regular: bool

    @property
    def injective(self) -> bool:
        return self.regular and not self.reduce


def facts_of(block: SBlock) -> BlockFacts:
    spatial = tuple(v for v in block.iter_vars if v.iter_type == tirx.IterVar.DataPar)
    reduce = tuple(v for v in block.iter_vars if v.iter_type == tirx.IterVar.CommReduce)
    nodes = list(walk(block.body))
    loads = [n for n in nodes if isinstance(n, TensorLoad)]
    calls = {name_of(n) for n in nodes if isinstance(n, Call)}
    regular = (
        len(spatial) + len(reduce) == len(block.iter_vars)
        and len(block.writes) == 1
        and isinstance(block.body, tirx.BufferStore)
    )
    expensive = bool(calls - _CHEAP_CALLS) or len(loads) > 3
    stored = block.body.buffer if isinstance(block.body, tirx.BufferStore) else None
    return BlockFacts(spatial, reduce, tuple(loads), stored, expensive, regular)


def realize_of(sch: s_tir.Schedule, name: str) -> SBlockRealize:
    for node in walk(sch.mod["main"].body):
        if isinstance(node, SBlockRealize) and node.block.name_hint == name:
            return node
    raise KeyError(name)


def strides_of(
    access_shape: list[tvm.ir.Expr], index: list[tvm.ir.Expr], variables: list[tvm.ir.Expr]
) -> list[tvm.ir.Expr] | None:
    """Elements by which a row-major access moves per step of each variable; None if not linear."""
    flat: tvm.ir.Expr = tirx.const(0, "int64")
    for extent, i in zip(access_shape, index, strict=True):
        flat = flat * tirx.Cast("int64", extent) + tirx.Cast("int64", i)
    analyzer = Analyzer()
    coefficients = detect_linear_equation(analyzer.simplify(flat), variables)
    return list(coefficients[:-1]) if len(coefficients) else None


def accesses(block: SBlock) -> list[tuple[list[tvm.ir.Expr], list[tvm.ir.Expr]]]:
    found = [(list(load.source.ty.shape), list(load.indices)) for load in facts_of(block).loads]
    if isinstance(block.body, tirx.BufferStore):
        found.append((list(block.body.buffer.ty.shape), list(block.body.indices)))
    return found
