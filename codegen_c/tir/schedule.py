"""A cheap schedule for legalised TIR: fewer temporaries, vectorisable inner loops, one outer loop.

TVM's default loops compute every block over its whole domain before the next begins. Here

1. injective producers disappear into their consumers where nothing is computed twice,
2. the remaining producers of a single output move under its outer loops (softmax works row by row),
3. those outer loops become one parallel loop, the kernel's work range,
4. a reduction over rows whose elements lie side by side runs with that spatial loop innermost, so
   that it vectorises without reassociating floating-point sums.

Every step is tried on a copy and kept only when TVM accepts it; what cannot be scheduled is left as
it came, which is slow but correct.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import tvm
from tvm import s_tir, tirx
from tvm.ir import Call, TensorLoad
from tvm.s_tir import SBlock, SBlockRealize
from tvm.s_tir.schedule.schedule import ScheduleError
from tvm.sym import Analyzer, detect_linear_equation

from .walk import variables, walk

#: Iterations under one step of the work range below which outer loops are not split further.
_ENOUGH_WORK = 8

#: How TVM's scheduler says no: its own error, and failed checks that come as other classes.
_REFUSALS = (ScheduleError, RuntimeError, ValueError, TypeError)

_CHEAP_CALLS = frozenset(
    {"tirx.if_then_else", "tirx.likely", "tirx.reinterpret", "tirx.fabs", "tirx.floor", "tirx.ceil"}
)


def schedule(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """Return `func` rearranged, or `func` itself when TVM's scheduler cannot take it."""
    try:
        sch = s_tir.Schedule(
            tvm.IRModule({"main": func}), debug_mask="none", error_render_level="none"
        )
        sch.get_sblock("root")
    except _REFUSALS:
        return func
    if not all(_transparent(sch.get(sch.get_sblock(name))) for name in _block_names(sch)):
        return func
    sch = _inline_producers(sch)
    sch, depth = _gather_under_output(sch)
    sch = _parallelise(sch, depth)
    for name in _block_names(sch):
        sch = _arrange_reduction(sch, name)
    return sch.mod["main"]


def _attempt(sch: s_tir.Schedule, step: Callable[[s_tir.Schedule], None]) -> s_tir.Schedule | None:
    """Apply `step` to a copy; None when the scheduler refuses."""
    trial = sch.copy()
    try:
        step(trial)
    except _REFUSALS:
        return None
    return trial


def _block_names(sch: s_tir.Schedule) -> list[str]:
    root = sch.get_sblock("root")
    return [sch.get(b).name_hint for b in sch.get_child_blocks(root)]


def _outputs(sch: s_tir.Schedule) -> set[str]:
    root = sch.get_sblock("root")
    return {sch.get(b).name_hint for b in sch.get_output_blocks(root)}


def _transparent(block: SBlock) -> bool:
    """Whether a block is plain stores, so that the accesses it declares are all it makes.

    Scans, scatters and sorts come as opaque loops that declare none; the scheduler would move their
    neighbours across them.
    """
    parts = list(block.body.seq) if isinstance(block.body, tirx.SeqStmt) else [block.body]
    return bool(block.writes) and all(isinstance(p, (tirx.Bind, tirx.BufferStore)) for p in parts)


@dataclass(frozen=True)
class _BlockFacts:
    """What the decisions below need to know of one block."""

    spatial: tuple[tirx.IterVar, ...]
    reduce: tuple[tirx.IterVar, ...]
    loads: tuple[TensorLoad, ...]
    expensive: bool
    regular: bool

    @property
    def injective(self) -> bool:
        return self.regular and not self.reduce


def _facts(block: SBlock) -> _BlockFacts:
    spatial = tuple(v for v in block.iter_vars if v.iter_type == tirx.IterVar.DataPar)
    reduce = tuple(v for v in block.iter_vars if v.iter_type == tirx.IterVar.CommReduce)
    nodes = list(walk(block.body))
    loads = [n for n in nodes if isinstance(n, TensorLoad)]
    calls = {getattr(n.op, "name", "?") for n in nodes if isinstance(n, Call)}
    regular = (
        len(spatial) + len(reduce) == len(block.iter_vars)
        and len(block.writes) == 1
        and isinstance(block.body, tirx.BufferStore)
    )
    expensive = bool(calls - _CHEAP_CALLS) or "tirx.if_then_else" in calls or len(loads) > 3
    return _BlockFacts(spatial, reduce, tuple(loads), expensive, regular)


def _extent(iters: tuple[tirx.IterVar, ...]) -> tvm.ir.Expr:
    product: tvm.ir.Expr = tirx.const(1, "int64")
    for v in iters:
        product = product * tirx.Cast("int64", v.dom.extent)
    return product


def _inline_producers(sch: s_tir.Schedule) -> s_tir.Schedule:
    outputs = _outputs(sch)
    for name in _block_names(sch):
        if name in outputs:
            continue
        block = sch.get_sblock(name)
        facts = _facts(sch.get(block))
        if not facts.injective:
            continue
        consumers = [_facts(sch.get(c)) for c in sch.get_consumers(block)]
        if not consumers or (facts.expensive and _recomputes(facts, consumers)):
            continue
        trial = _attempt(sch, partial(_inline, name=name))
        sch = trial or sch
    return sch


def _inline(sch: s_tir.Schedule, name: str) -> None:
    sch.compute_inline(sch.get_sblock(name))


def _recomputes(producer: _BlockFacts, consumers: list[_BlockFacts]) -> bool:
    """Whether inlining computes elements again (twice as often is fine outside of reductions)."""
    if len(consumers) > 1:
        return True
    (consumer,) = consumers
    read = _extent(consumer.spatial + consumer.reduce)
    limit = _extent(producer.spatial) * (2 if consumer.injective else 1)
    return not _at_most(read, limit)


def _at_most(count: tvm.ir.Expr, limit: tvm.ir.Expr) -> bool:
    """Whether ``count <= limit`` for all sizes, none of which is negative."""
    analyzer = Analyzer()
    for var in {*variables(count), *variables(limit)}:
        analyzer.bind(var, tvm.ir.Range(0, 2**31 - 1))
    return bool(analyzer.can_prove(count <= limit))


def _gather_under_output(sch: s_tir.Schedule) -> tuple[s_tir.Schedule, int]:
    """Move producers under the one output's loops; return how many of those loops all share."""
    names = _block_names(sch)
    outputs = _outputs(sch)
    if len(outputs) != 1 or names[-1] not in outputs:
        return sch, 0
    out = names[-1]
    n_spatial = _spatial_loops(sch, out)
    if len(names) == 1:
        return sch, n_spatial
    # The innermost spatial loop stays a loop of each block, so that each vectorises.
    deepest = n_spatial - 1 if n_spatial > 1 else n_spatial
    shared = deepest
    for name in reversed(names[:-1]):
        before = _cost(sch, name)
        for depth in range(deepest, 0, -1):
            trial = _attempt(sch, partial(_compute_at, name=name, out=out, depth=depth))
            if trial is not None and _at_most(_cost(trial, name), before):
                sch, shared = trial, min(shared, depth)
                break
        else:
            shared = 0
    return sch, shared


def _compute_at(sch: s_tir.Schedule, name: str, out: str, depth: int) -> None:
    loop = sch.get_loops(sch.get_sblock(out))[depth - 1]
    sch.compute_at(sch.get_sblock(name), loop)


def _cost(sch: s_tir.Schedule, name: str) -> tvm.ir.Expr:
    """How often the block's body runs."""
    product: tvm.ir.Expr = tirx.const(1, "int64")
    for loop in sch.get_loops(sch.get_sblock(name)):
        product = product * tirx.Cast("int64", sch.get(loop).extent)
    return product


def _realize(sch: s_tir.Schedule, name: str) -> SBlockRealize:
    for node in walk(sch.mod["main"].body):
        if isinstance(node, SBlockRealize) and node.block.name_hint == name:
            return node
    raise KeyError(name)


def _spatial_loops(sch: s_tir.Schedule, name: str) -> int:
    """Number of leading loops of a block that are bound, one to one, to its spatial variables."""
    realize = _realize(sch, name)
    bound = {
        value
        for var, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)
        if isinstance(value, tvm.ir.Var) and var.iter_type == tirx.IterVar.DataPar
    }
    count = 0
    for loop in sch.get_loops(sch.get_sblock(name)):
        if sch.get(loop).loop_var not in bound:
            break
        count += 1
    return count


def _parallelise(sch: s_tir.Schedule, depth: int) -> s_tir.Schedule:
    """Fuse the `depth` outer loops of the output into the kernel's work range."""
    if depth == 0:
        return sch
    out = _block_names(sch)[-1]
    merged = _mergeable_prefix(sch, out, depth)
    if merged == depth and len(sch.get_loops(sch.get_sblock(out))) == depth:
        take = depth  # one flat loop: no index arithmetic is left in it
    else:
        own_inner = len(sch.get_loops(sch.get_sblock(out))) == depth
        take = max(1, min(depth - 1 if own_inner else depth, depth))
        take = _enough(sch, out, take)

    def step(s: s_tir.Schedule) -> None:
        loops = s.get_loops(s.get_sblock(out))[:take]
        s.parallel(s.fuse(*loops) if len(loops) > 1 else loops[0])

    return _attempt(sch, step) or sch


def _enough(sch: s_tir.Schedule, out: str, most: int) -> int:
    """Fewest outer loops whose product is a useful work range."""
    product = 1
    for n, loop in enumerate(sch.get_loops(sch.get_sblock(out))[:most], start=1):
        extent = sch.get(loop).extent
        product *= extent.value if isinstance(extent, tirx.IntImm) else _ENOUGH_WORK
        if product >= _ENOUGH_WORK:
            return n
    return most


def _strides(
    access_shape: list[tvm.ir.Expr], index: list[tvm.ir.Expr], variables: list[tvm.ir.Expr]
) -> list[tvm.ir.Expr] | None:
    """Elements by which a row-major access moves per step of each variable; None if not linear."""
    flat: tvm.ir.Expr = tirx.const(0, "int64")
    for extent, i in zip(access_shape, index, strict=True):
        flat = flat * tirx.Cast("int64", extent) + tirx.Cast("int64", i)
    analyzer = Analyzer()
    coefficients = detect_linear_equation(analyzer.simplify(flat), variables)
    return list(coefficients[:-1]) if len(coefficients) else None


def _accesses(block: SBlock) -> list[tuple[list[tvm.ir.Expr], list[tvm.ir.Expr]]]:
    found = [(list(load.source.ty.shape), list(load.indices)) for load in _facts(block).loads]
    if isinstance(block.body, tirx.BufferStore):
        found.append((list(block.body.buffer.ty.shape), list(block.body.indices)))
    return found


def _mergeable_prefix(sch: s_tir.Schedule, name: str, depth: int) -> int:
    """How many outer loops fuse into one without leaving a division in any index."""
    realize = _realize(sch, name)
    block = realize.block
    if not isinstance(block.body, tirx.BufferStore) or len(block.iter_vars) < depth:
        return 0
    iters = list(block.iter_vars)[:depth]
    analyzer = Analyzer()
    merged = depth
    for shape, index in _accesses(block):
        strides = _strides(shape, index, [v.var for v in iters])
        if strides is None or _mentions_value(block, iters):
            return 0
        for k in range(merged - 1):
            whole = strides[k + 1] * tirx.Cast("int64", iters[k + 1].dom.extent)
            if not analyzer.can_prove(strides[k] == whole):
                merged = k + 1
                break
    return merged


def _mentions_value(block: SBlock, iters: list[tirx.IterVar]) -> bool:
    """Whether a loop variable is used outside an index (``arange``, a padding condition)."""
    wanted = {v.var for v in iters}
    everywhere = sum(v in wanted for v in variables(block.body))
    inside = sum(v in wanted for _, index in _accesses(block) for i in index for v in variables(i))
    return everywhere != inside


def _arrange_reduction(sch: s_tir.Schedule, name: str) -> s_tir.Schedule:
    """Split off the initialisation and, where it vectorises, put a spatial loop innermost."""
    block = sch.get(sch.get_sblock(name))
    facts = _facts(block)
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

    return (
        _attempt(sch, partial(step, inner=inner)) or _attempt(sch, partial(step, inner=None)) or sch
    )


def _loop_kinds(sch: s_tir.Schedule, name: str) -> list[str]:
    """For each loop: the spatial variable it alone drives, ``reduce``, or ``other``."""
    realize = _realize(sch, name)
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


def _vector_iter(block: SBlock, facts: _BlockFacts) -> str | None:
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
        for shape, index in _accesses(block):
            strides = _strides(shape, index, [iter_var.var])
            if strides is None or not isinstance(strides[0], tirx.IntImm):
                return None
            steps.append(strides[0].value)
        return iter_var.var.name if steps[-1] == 1 and all(0 <= s <= 2 for s in steps) else None
    return None
