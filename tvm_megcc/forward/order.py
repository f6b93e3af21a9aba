"""Order of calls: a topological order with a low peak of live bytes.

A branchy graph may be run branch by branch or level by level; what is live in between differs. The
search is over sets of finished calls (what is live follows from the set), cheapest peak first; a
call that frees at least what it makes, without rising above the peak so far, is taken at once, as
no order gains by waiting. With this rule most networks collapse to a few thousand sets and the
answer is exact; where more than ``MAX_STATES`` are met, the search goes on from the best sets only
(a beam).

Source of the formulation: "Ordering Chaos: Memory-Aware Scheduling of Irregularly Wired Neural
Networks for Edge Devices" (MLSys 2020); the rule of free calls is ours.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace

from tvm_megcc.core.program import Call, Check, Draw, Program, ends_of, sized, usual_sizes
from tvm_megcc.dims import fixed

#: Sets of finished calls that the exact search may visit.
MAX_STATES = 4_000

#: Calls that a search may try before it gives up and the model's own order stays (about a second).
MAX_TRIALS = 150_000


@dataclass(frozen=True, slots=True)
class _Graph:
    """Calls as bits: predecessors, and bytes that each makes, needs and may free."""

    before: tuple[int, ...]  # mask of calls that must be done
    after: tuple[tuple[int, ...], ...]  # calls that wait for the call
    makes: tuple[int, ...]  # bytes of outputs
    during: tuple[int, ...]  # bytes of workspace
    reads: tuple[tuple[int, ...], ...]  # storages whose last reader the call may be
    readers: tuple[int, ...]  # per storage: mask of its readers
    size: tuple[int, ...]  # per storage: bytes that are freed after the last reader
    forwards: tuple[tuple[int, ...], ...]  # storages whose memory the output may take over
    at_start: int  # bytes of inputs that lie in the arena


class _OutOfTrials(Exception):
    """The search has used up its budget."""


@dataclass(frozen=True, slots=True)
class _State:
    """Calls done and ready, live bytes, the peak so far, and the path to here."""

    done: int
    ready: tuple[int, ...]
    live: int
    peak: int
    step: int
    parent: _State | None

    def order(self) -> list[int]:
        steps: list[int] = []
        state: _State | None = self
        while state is not None and state.step >= 0:
            steps.append(state.step)
            state = state.parent
        return steps[::-1]


def reorder(program: Program, io: str) -> Program:
    """Sort calls in an order of lower peak; leave them where none is found.

    With ``io="caller"`` inputs and outputs take no room in the arena. Where sizes are symbolic, the
    usual ones count.
    """
    # Steps after a Load may depend on its sizes, which no operand shows; steps stay in their branch
    # or loop. Steps after a Check stay behind it, and Draws in their order.
    if len(program.calls) < 3 or not all(isinstance(s, Call | Check | Draw) for s in program.calls):
        return program
    graph = _graph(sized(program, usual_sizes(program)[0]), io)
    try:
        found = _Search(graph).best()
    except _OutOfTrials:
        return program
    given = _start(graph)
    for call in range(len(program.calls)):
        given = _run(graph, given, call)
    if found is None or found.peak >= given.peak:
        return program
    return replace(program, calls=tuple(program.calls[i] for i in found.order()))


def _graph(program: Program, io: str) -> _Graph:
    ids: dict[int, int] = {}
    size: list[int] = []

    def storage(tensor: int) -> int | None:
        t = program.tensors[tensor]
        if t.location.space != "arena":
            return None
        index = ids.setdefault(t.location.index, len(size))
        if index == len(size):
            size.append(0)
        size[index] = max(size[index], fixed(t.location.offset + t.nbytes))
        return index

    inputs = {s for p in program.inputs if (s := storage(p.tensor)) is not None}
    kept = {s for p in program.outputs if (s := storage(p.tensor)) is not None}
    writers: dict[int, int] = {}
    rows: list[tuple[set[int], set[int]]] = []
    for number, step in enumerate(program.calls):
        reads, writes = (
            {s for t in tensors if (s := storage(t)) is not None} for tensors in ends_of(step)
        )
        for s in writes:
            writers.setdefault(s, number)
        rows.append((reads, writes))
    readers = [0] * len(size)
    before = [0] * len(rows)
    checks = draws = 0
    for number, (reads, writes) in enumerate(rows):
        before[number] |= checks
        if isinstance(program.calls[number], Check):
            checks |= 1 << number
        if isinstance(program.calls[number], Draw):
            before[number] |= draws
            draws |= 1 << number
        for s in reads:
            readers[s] |= 1 << number
            if s in writers and writers[s] != number:
                before[number] |= 1 << writers[s]
        for s in writes:  # a second writer of a storage keeps its place behind the first
            if writers[s] != number:
                before[number] |= 1 << writers[s]
    scratch = [
        fixed(program.tensors[c.workspace].nbytes)
        if isinstance(c, Call) and c.workspace is not None
        else 0
        for c in program.calls
    ]
    if io == "caller":
        kept |= inputs
        size = [0 if s in kept else n for s, n in enumerate(size)]
    forwards = []
    for step, (_, writes) in zip(program.calls, rows, strict=True):
        made = sum(size[s] for s in writes)
        options = []
        if isinstance(step, Call):
            options = [storage(step.operands[i]) for i in program.kernels[step.kernel].inplace]
        forwards.append(tuple(s for s in options if s is not None and size[s] == made))
    after: list[list[int]] = [[] for _ in rows]
    for number, mask in enumerate(before):
        for earlier in range(len(rows)):
            if mask >> earlier & 1:
                after[earlier].append(number)
    return _Graph(
        before=tuple(before),
        after=tuple(map(tuple, after)),
        makes=tuple(
            sum(size[s] for s in writes if writers[s] == n) for n, (_, writes) in enumerate(rows)
        ),
        during=tuple(scratch),
        reads=tuple(tuple(sorted(r - kept)) for r, _ in rows),
        readers=tuple(readers),
        size=tuple(size),
        forwards=tuple(tuple(s for s in f if s not in kept | inputs) for f in forwards),
        at_start=sum(size[s] for s in inputs),
    )


def _start(graph: _Graph) -> _State:
    ready = tuple(c for c, mask in enumerate(graph.before) if not mask)
    return _State(0, ready, graph.at_start, graph.at_start, -1, None)


def _run(graph: _Graph, state: _State, call: int) -> _State:
    """State after one more call."""
    done = state.done | 1 << call
    dying = [s for s in graph.reads[call] if not graph.readers[s] & ~done]
    freed = sum(graph.size[s] for s in dying)
    reused = graph.makes[call] if any(s in dying for s in graph.forwards[call]) else 0
    high = state.live + graph.makes[call] - reused + graph.during[call]
    live = state.live + graph.makes[call] - freed
    freed_calls = (c for c in graph.after[call] if not graph.before[c] & ~done)
    ready = (*(c for c in state.ready if c != call), *freed_calls)
    return _State(done, ready, live, max(state.peak, high), call, state)


class _Search:
    """One search, with its budget of trials (counted, so that the answer is always the same)."""

    def __init__(self, graph: _Graph) -> None:
        self.graph = graph
        self.goal = (1 << len(graph.before)) - 1
        self.trials = 0

    def best(self) -> _State | None:
        """The best order: exact within ``MAX_STATES``, else by a beam over promising sets."""
        start = self._settle(_start(self.graph))
        best: dict[int, int] = {start.done: start.peak}
        queue: list[tuple[int, int, int, _State]] = [(start.peak, 0, 0, start)]
        made = 0
        while queue:
            peak, _, _, state = heapq.heappop(queue)
            if state.done == self.goal:
                return state
            if best[state.done] < peak:
                continue
            for call in state.ready:
                after = self._settle(self._try(state, call))
                if best.get(after.done, after.peak + 1) > after.peak:
                    best[after.done] = after.peak
                    made += 1
                    if made > MAX_STATES:
                        return self._beam(queue)
                    count = -after.done.bit_count()
                    heapq.heappush(queue, (after.peak, count, made, after))
        return None

    def _try(self, state: _State, call: int) -> _State:
        self.trials += 1
        if self.trials > MAX_TRIALS:
            raise _OutOfTrials
        return _run(self.graph, state, call)

    def _settle(self, state: _State) -> _State:
        """Run every call that is free: it frees what it makes and stays under the peak so far."""
        moved = True
        while moved:
            moved = False
            for call in state.ready:
                after = self._try(state, call)
                if after.live <= state.live and after.peak == state.peak:
                    state, moved = after, True
                    break
        return state

    def _beam(self, queue: list[tuple[int, int, int, _State]], width: int = 16) -> _State | None:
        """From the states in the queue to the goal, keeping the `width` best at a time."""
        rows = heapq.nsmallest(width, queue, key=lambda r: (r[1], r[0], r[2]))
        level = [row[3] for row in rows]
        while level:
            finished = [s for s in level if s.done == self.goal]
            if finished:
                return min(finished, key=lambda s: s.peak)
            found: dict[int, _State] = {}
            for state in level:
                for call in state.ready:
                    after = self._settle(self._try(state, call))
                    if after.done not in found or after.peak < found[after.done].peak:
                        found[after.done] = after
            level = sorted(found.values(), key=lambda s: (s.peak, s.live, s.done))[:width]
        return None
