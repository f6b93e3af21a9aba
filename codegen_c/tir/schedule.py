"""A cheap schedule for legalised TIR: fewer temporaries, vectorisable inner loops, one outer loop.

TVM's default loops compute every block over its whole domain before the next begins. Here

1. injective producers disappear into their consumers where nothing is computed twice,
2. the remaining producers of a single output move under its outer loops (softmax works row by row),
3. those outer loops become one parallel loop, the kernel's work range,
4. a reduction over rows whose elements lie side by side runs with that spatial loop innermost, so
   that it vectorises without reassociating floating-point sums.

`Knobs` say what may be otherwise: the longest loop innermost in 3, tiles in 4.

Every step is tried on a copy and kept only when TVM accepts it; what cannot be scheduled is left as
it came, which is slow but correct.
"""

from __future__ import annotations

from functools import partial

import tvm
from tvm import s_tir, tirx
from tvm.s_tir import SBlock
from tvm.sym import Analyzer

from .block_facts import (
    REFUSALS,
    BlockFacts,
    accesses,
    attempt,
    block_names,
    facts_of,
    is_transparent,
    realize_of,
    strides_of,
)
from .c_sizes import elements
from .flattening import lower
from .indices import DIVIDE
from .knobs import USUAL, Knobs
from .reductions import arrange_reduction
from .walk import variables, walk

#: Iterations under one step of the work range below which outer loops are not split further.
_ENOUGH_WORK = 8
#: Elements that a block's text may read with a producer in several places of it: where each of many
#: blocks reads the one before twice, the text doubles with each.
_MOST_READS = 32


def schedule(func: tirx.PrimFunc, knobs: Knobs = USUAL) -> tirx.PrimFunc:
    """Return `func` rearranged, or `func` itself when TVM's scheduler cannot take it."""
    try:
        sch = s_tir.Schedule(
            tvm.IRModule({"main": func}), debug_mask="none", error_render_level="none"
        )
        sch.get_sblock("root")
    except REFUSALS:
        return func
    if not all(is_transparent(sch.get(sch.get_sblock(name))) for name in block_names(sch)):
        return func
    sch = _inline_producers(sch)
    sch, depth = _gather_under_output(sch)
    longest = _longest_inside(sch, depth) if knobs.longest else None
    sch = _parallelise(sch, depth) if longest is None else _parallelise(longest, depth, flat=False)
    for name in block_names(sch):
        sch = arrange_reduction(sch, name, knobs.tile)
    return sch.mod["main"]


def _outputs(sch: s_tir.Schedule) -> set[str]:
    root = sch.get_sblock("root")
    return {sch.get(b).name_hint for b in sch.get_output_blocks(root)}


def _extent(iters: tuple[tirx.IterVar, ...]) -> tvm.ir.Expr:
    return elements(v.dom.extent for v in iters)


def _inline_producers(sch: s_tir.Schedule) -> s_tir.Schedule:
    outputs = _outputs(sch)
    for name in block_names(sch):
        if name in outputs:
            continue
        block = sch.get_sblock(name)
        facts = facts_of(sch.get(block))
        if not facts.injective:
            continue
        consumers = [facts_of(sch.get(c)) for c in sch.get_consumers(block)]
        if not consumers or (facts.expensive and _recomputes(facts, consumers)):
            continue
        if any(_reads_with(facts, consumer) > _MOST_READS for consumer in consumers):
            continue
        sch = attempt(sch, partial(_inline, name=name)) or sch
    return sch


def _reads_with(producer: BlockFacts, consumer: BlockFacts) -> int:
    """How many elements the consumer's text reads with the producer's text in it."""
    places = sum(load.source.same_as(producer.stored) for load in consumer.loads)
    return len(consumer.loads) + places * (len(producer.loads) - 1) if places > 1 else 0


def _inline(sch: s_tir.Schedule, name: str) -> None:
    sch.compute_inline(sch.get_sblock(name))


def _recomputes(producer: BlockFacts, consumers: list[BlockFacts]) -> bool:
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
    names = block_names(sch)
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
            trial = attempt(sch, partial(_compute_at, name=name, out=out, depth=depth))
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
    return elements(sch.get(loop).extent for loop in sch.get_loops(sch.get_sblock(name)))


def _spatial_loops(sch: s_tir.Schedule, name: str) -> int:
    """Number of leading loops of a block that are bound, one to one, to its spatial variables."""
    realize = realize_of(sch, name)
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


def _longest_inside(sch: s_tir.Schedule, depth: int) -> s_tir.Schedule | None:
    """The only block's loops with the longest one innermost; None where that is as it was."""
    (out, *more) = block_names(sch)
    loops = sch.get_loops(sch.get_sblock(out))
    if more or depth < 2 or len(loops) != depth or _mergeable_suffix(sch, out, depth) == depth:
        return None
    extents = [sch.get(loop).extent for loop in loops]
    if not all(isinstance(extent, tirx.IntImm) for extent in extents):
        return None
    at = max(range(depth), key=lambda k: extents[k].value)
    if extents[at].value == extents[-1].value:
        return None
    order = [*range(at), *range(at + 1, depth), at]

    def step(s: s_tir.Schedule) -> None:
        mine = s.get_loops(s.get_sblock(out))
        s.reorder(*(mine[k] for k in order))

    return attempt(sch, step)


def _parallelise(sch: s_tir.Schedule, depth: int, flat: bool = True) -> s_tir.Schedule:
    """Fuse the `depth` outer loops of the output into the kernel's work range.

    `flat`: all of them become one loop where that leaves no index arithmetic in it.
    """
    if depth == 0:
        return sch
    out = block_names(sch)[-1]
    has_all = len(sch.get_loops(sch.get_sblock(out))) == depth
    inner = _mergeable_suffix(sch, out, depth) if flat and has_all else int(has_all)
    if 1 < inner < depth:
        if (joined := _joined(sch, out, inner)) is not None:
            sch, depth = joined, depth - inner + 1
        inner = 1
    if flat and has_all and inner == depth:
        take = depth  # one flat loop: no index arithmetic is left in it
    else:
        take = _enough(sch, out, max(1, depth - inner))

    def step(s: s_tir.Schedule) -> None:
        loops = s.get_loops(s.get_sblock(out))
        s.parallel(s.fuse(*loops[:take]) if take > 1 else loops[0])

    return attempt(sch, step) or sch


def _joined(sch: s_tir.Schedule, out: str, count: int) -> s_tir.Schedule | None:
    """The inner `count` loops as one; None where that leaves index arithmetic in it."""
    made = attempt(sch, lambda s: s.fuse(*s.get_loops(s.get_sblock(out))[-count:]))
    if made is None:
        return None
    loops = [node for node in walk(lower(made.mod["main"]).body) if isinstance(node, tirx.For)]
    divisions = (node for node in walk(loops[-1].body) if type(node) in DIVIDE)
    return None if any(loops[-1].loop_var in variables(node) for node in divisions) else made


def _enough(sch: s_tir.Schedule, out: str, most: int) -> int:
    """Fewest outer loops whose product is a useful work range."""
    product = 1
    for n, loop in enumerate(sch.get_loops(sch.get_sblock(out))[:most], start=1):
        extent = sch.get(loop).extent
        product *= extent.value if isinstance(extent, tirx.IntImm) else _ENOUGH_WORK
        if product >= _ENOUGH_WORK:
            return n
    return most


def _mergeable_suffix(sch: s_tir.Schedule, name: str, depth: int) -> int:
    """How many of the inner loops fuse into one without leaving a division in any index."""
    realize = realize_of(sch, name)
    block = realize.block
    if not isinstance(block.body, tirx.BufferStore) or len(block.iter_vars) != depth:
        return 1
    iters = list(block.iter_vars)
    analyzer = Analyzer()
    merged = depth
    for k in range(depth):
        if _mentions_value(block, iters[k:]):
            merged = min(merged, depth - k - 1)
    for shape, index in accesses(block):
        strides = strides_of(shape, index, [v.var for v in iters])
        if strides is None:
            return 1
        for k in range(depth - 2, depth - merged - 1, -1):
            whole = strides[k + 1] * tirx.Cast("int64", iters[k + 1].dom.extent)
            if not analyzer.can_prove(strides[k] == whole):
                merged = depth - k - 1
                break
    return max(1, merged)


def _mentions_value(block: SBlock, iters: list[tirx.IterVar]) -> bool:
    """Whether a loop variable is used outside an index (``arange``, a padding condition)."""
    wanted = {v.var for v in iters}
    everywhere = sum(v in wanted for v in variables(block.body))
    inside = sum(v in wanted for _, index in accesses(block) for i in index for v in variables(i))
    return everywhere != inside
