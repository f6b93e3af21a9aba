"""What a program computes, without numbers: every byte of memory holds the name of what it is.

A value is named by the kernel that made it, the attributes, and the names of the bytes that were
read. So two programs compute the same where their outputs hold the same names, in whatever order
and place; a byte that is overwritten before its last reader comes gives that reader's results other
names. A seed chooses branches, how often loops are repeated, and sizes that depend on data.

Enters: a program as `lower` makes it, and the same after forwarding and placing. Leaves: what
differs, in words.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from tvm_megcc.codegen_c.emit.instructions import own_outputs
from tvm_megcc.core.program import (
    ALIGNMENT,
    Call,
    Check,
    Copy,
    Draw,
    Else,
    End,
    If,
    Let,
    Load,
    Loop,
    Program,
    Step,
    operands_of,
    regions,
)
from tvm_megcc.core.splitting import is_whole
from tvm_megcc.dims import Size, at, symbols
from tvm_megcc.memory.stacking import placed

Names = np.ndarray  # of uint64, one for each byte
Region = tuple[str, object]
MOST_TRIPS = 3


class Stopped(Exception):
    """The sizes that the seed has chosen are none that the model takes."""


class Lost(Exception):
    """What says how often a loop was run is overwritten."""


def named(*parts: object) -> int:
    """A name that follows from `parts`; never 0, which is the name of what nobody wrote."""
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") | 1


def names(name: int, count: int) -> Names:
    """The names of a value's bytes."""
    step = np.arange(count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C16)
    return np.uint64(name) + step


def digest(found: Names) -> str:
    return hashlib.blake2b(found.tobytes(), digest_size=8).hexdigest()


@dataclass(frozen=True)
class _Span:
    """Bytes [start, stop) of a region."""

    region: Region
    start: int
    stop: int

    @property
    def nbytes(self) -> int:
        return self.stop - self.start

    def meets(self, other: _Span) -> bool:
        near = self.start < other.stop and other.start < self.stop
        return self.region == other.region and near and self.nbytes > 0 and other.nbytes > 0


@dataclass
class Machine:
    """A run of one program.

    Attributes
    ----------
    is_placed : bool
        Whether the program has addresses. Then what a call writes is held against what it reads,
        and memory that nobody wrote has names that no value has; else it has the name 0.
    wrong : list of str
        What the run did that it must not.
    """

    program: Program
    sizes: Mapping[str, int]
    seed: int
    is_placed: bool
    memory: dict[Region, Names] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    decisions: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    draws: int = 0

    def __post_init__(self) -> None:
        self.sizes = dict(self.sizes)
        self.offsets: tuple[int, ...] = ()
        if self.program.storages:
            self.offsets, arena = placed(self.program, self.sizes)
            self.room: dict[Region, int] = {("pool", 0): arena}
        else:
            plan = self.program.plan
            self.room = {("pool", k): p.bytes for k, p in enumerate(plan.pools)} if plan else {}
        self.groups = list(dict.fromkeys(
            s.symbols for s in self.program.calls if isinstance(s, Load | Let)
        ))  # fmt: skip
        self.capacity: dict[int, int] = {}
        self.block_ends = self._static_ends()
        self.first = self._first_tensors()

    # ---- memory

    def size(self, size: Size) -> int:
        try:
            found = at(size, self.sizes)
        except ZeroDivisionError as error:
            raise Stopped from error
        if found < 0:
            raise Stopped
        return found

    def _static_ends(self) -> list[int]:
        """How large the VM makes each block when the shapes are set."""
        ends = [0] * len(self.program.storages)
        known = set(self.sizes)
        for t in self.program.tensors:
            end = t.location.offset + t.nbytes
            if t.location.space == "block" and {s.name for s in symbols(end)} <= known:
                ends[t.location.index] = max(ends[t.location.index], self.size(end))
        return ends

    def _first_tensors(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for step in self.program.calls:
            for number in operands_of(step):
                where = self.program.tensors[number].location
                if where.space == "block":
                    found.setdefault(where.index, number)
        return found

    def span(self, tensor: int) -> _Span:
        t = self.program.tensors[tensor]
        for dim in t.shape:
            self.size(dim)
        where, start, nbytes = t.location, self.size(t.location.offset), self.size(t.nbytes)
        region: Region = (where.space, where.index)
        if where.space == "arena":
            region = ("pool" if self.is_placed else "storage", where.index)
        elif where.space == "weight":
            region = ("weight", bytes(self.program.weights[where.index].data))
        elif where.space == "block" and not self.program.storages[where.index].dynamic:
            if start + nbytes > self.block_ends[where.index]:
                raise Stopped
            region, start = ("pool", 0), start + self.offsets[where.index]
        return _Span(region, start, start + nbytes)

    def _bytes(self, span: _Span) -> Names:
        """Memory of a span, which is made where there is none yet."""
        room = self.room.get(span.region)
        if room is not None and span.stop > room and span.nbytes:
            self.wrong.append(f"bytes {span.start} to {span.stop} of {span.region} of {room}")
        found = self.memory.get(span.region, np.zeros(0, np.uint64))
        if len(found) < span.stop:
            if span.region[0] == "weight":
                more = names(named(span.region), span.stop)
            else:
                more = names(named("stale", span.region), span.stop) * np.uint64(self.is_placed)
            found = self.memory[span.region] = np.concatenate([found, more[len(found) :]])
        return found[span.start : span.stop]

    def read(self, span: _Span) -> Names:
        return self._bytes(span).copy()

    def write(self, span: _Span, what: Names) -> None:
        if span.region[0] in ("weight", "input"):
            self.wrong.append(f"a write to {span.region[0]} memory")
        if len(what) != span.nbytes:
            raise Stopped
        self._bytes(span)[:] = what

    # ---- steps

    def run(self) -> list[Names]:
        """The names that the outputs hold."""
        for port in self.program.inputs:
            span = self.span(port.tensor)
            self._bytes(span)[:] = names(named("input", port.name), span.nbytes)
        code = own_outputs(self.program) if self.is_placed else None
        if code is not None:
            self.program = code.program
            for copy in code.first:
                self._copy(copy)
        self._requirements()
        self._steps()
        for copy in code.last if code is not None else ():
            self._copy(copy)
        return [self.read(self.span(port.tensor)) for port in self.program.outputs]

    def _steps(self) -> None:
        steps, ends = self.program.calls, regions(self.program)
        begins = {end: begin for begin, end in ends.items()}
        at_ = 0
        while at_ < len(steps):
            step = steps[at_]
            match step:
                case If():
                    if not self._decide(step):
                        at_ = ends[at_]
                case Else():
                    at_ = ends[at_]
                case Loop():
                    if not self._goes_on(step, steps[at_ : ends[at_]]):
                        at_ = ends[at_]
                case End():
                    loop = steps[begins[at_]]
                    if isinstance(loop, Loop):
                        self._count(loop)
                        at_ = begins[at_] - 1
                case _:
                    self._step(step)
            at_ += 1

    def _step(self, step: Step) -> None:
        match step:
            case Call():
                self._call(step)
            case Copy():
                self._copy(step)
            case Draw():
                self.draws += 1
                self.write(self.span(step.target), names(named("draw", self.draws), 16))
            case Check():
                self._note("check", step.name, step.condition)
            case Load():
                self._note("load", step.name, step.source)
                self._set(step, {k: self.seed % 5 for k in step.symbols})
            case Let():
                sizes = (self.size(s) for s in step.sizes)
                self._set(step, dict(zip(step.symbols, sizes, strict=True)))

    def _note(self, kind: str, name: str, tensor: int) -> str:
        found = self.read(self.span(tensor))
        if not found.all():
            raise Stopped
        self.decisions[kind, name, digest(found)] += 1
        return digest(found)

    def _decide(self, step: If) -> bool:
        return named(self.seed, self._note("if", step.name, step.condition)) >> 9 & 1 == 1

    def _goes_on(self, loop: Loop, body: tuple[Step, ...]) -> bool:
        for tensor in (loop.limit, loop.condition):
            if tensor is not None:
                self._note("loop", loop.name, tensor)
        trips = named(self.seed, loop.name) % (MOST_TRIPS + 1)
        for step in body:
            if isinstance(step, Copy) and step.row == loop.counter:
                trips = min(trips, self._rows(step))
        return self._number(loop.counter) < trips

    def _rows(self, copy: Copy) -> int:
        """How many rows there are, as far as can be said before the body has run."""
        whole, row = (copy.target, copy.source) if copy.into else (copy.source, copy.target)
        try:
            return self.size(self.program.tensors[whole].shape[0])
        except KeyError:
            return MOST_TRIPS

    def _count(self, loop: Loop) -> None:
        number = self._number(loop.counter) + 1
        found = names(named("count", number), 8)
        self.numbers[digest(found)] = number
        self.write(self.span(loop.counter), found)

    def _number(self, tensor: int) -> int:
        """The number of a counter, which began as a constant."""
        found = self.read(self.span(tensor))
        if digest(found) not in self.numbers:
            zero = ("weight", bytes(8))
            if digest(names(named(zero), 8)) != digest(found):
                raise Lost
            return 0
        return self.numbers[digest(found)]

    def _set(self, step: Load | Let, values: Mapping[int, int]) -> None:
        for k, value in values.items():
            symbol = self.program.symbols[k]
            if isinstance(step, Load):
                value = max(value, symbol.low)
                value = value if symbol.high is None else min(value, symbol.high)
            if value < symbol.low or (symbol.high is not None and value > symbol.high):
                raise Stopped
            self.sizes[symbol.name] = value  # type: ignore[index]
        self._requirements()
        self._allocate(self.groups.index(step.symbols))

    def _requirements(self) -> None:
        for r in self.program.requirements:
            if all(s.name in self.sizes for size in (r.a, r.b) for s in symbols(size)):
                try:
                    equal = at(r.a, self.sizes) == at(r.b, self.sizes)
                except ZeroDivisionError as error:
                    raise Stopped from error
                if not equal:
                    raise Stopped

    def _allocate(self, group: int) -> None:
        """Blocks whose size is known by now, and was not before: what grows is new memory."""
        stages = {self.program.symbols[k].name: n for n, row in enumerate(self.groups) for k in row}
        for k, storage in enumerate(self.program.storages):
            if not storage.dynamic or k not in self.first:
                continue
            t = self.program.tensors[self.first[k]]
            needs = [s.name for s in symbols(t.location.offset + t.nbytes) if s.name in stages]
            if max((stages[s] for s in needs), default=-1) != group:
                continue
            if any(s not in self.sizes for s in needs):
                continue
            nbytes = self.size(t.location.offset + t.nbytes)
            if nbytes > self.capacity.get(k, 0):
                self.capacity[k] = nbytes
                self.memory.pop(("block", k), None)

    def _copy(self, copy: Copy) -> None:
        source, target = self.span(copy.source), self.span(copy.target)
        if copy.row is not None:
            part, whole = (source, target) if copy.into else (target, source)
            if part.nbytes == 0:
                return
            rows, row = whole.nbytes // part.nbytes, self._number(copy.row)
            row = rows - 1 - row if copy.backwards else row
            if not 0 <= row < rows:
                raise Stopped
            start = whole.start + row * part.nbytes
            one = _Span(whole.region, start, start + part.nbytes)
            source, target = (source, one) if copy.into else (one, target)
        self.write(target, self.read(source))

    def _call(self, call: Call) -> None:
        kernel = self.program.kernels[call.kernel]
        cut = len(call.operands) - call.n_outputs
        spans = [self.span(t) for t in call.operands]
        scratch = None if call.workspace is None else self.span(call.workspace)
        if self.is_placed:
            for words in self._clashes(call, spans, scratch):
                self.wrong.append(f"{call.name}: {words}")
        attrs = tuple(at(a, self.sizes) for a in call.attrs)
        if self.size(call.work) == 0:
            return
        found = [self.read(span) for span in spans[:cut]]
        if kernel.template == "concat" and attrs[1] == 1:
            self.write(spans[cut], np.concatenate(found))
            return
        name = named(kernel.symbol, attrs, [digest(f) for f in found])
        whole = all(f.all() for f in found)
        for k, span in enumerate(spans[cut:]):
            self.write(span, names(named(name, k), span.nbytes) * np.uint64(whole))
        if scratch is not None:
            self.write(scratch, names(named("scratch", call.name), scratch.nbytes))

    def _clashes(self, call: Call, spans: list[_Span], scratch: _Span | None) -> Iterator[str]:
        """What the call may not write, as it reads it or writes it otherwise."""
        cut = len(spans) - call.n_outputs
        reads, writes = spans[:cut], spans[cut:]
        kernel = self.program.kernels[call.kernel]
        for k, one in enumerate(writes):
            if any(one.meets(other) for other in writes[k + 1 :]):
                yield f"output {k} meets another one"
        if scratch is not None:
            if any(scratch.meets(span) for span in spans):
                yield "the workspace meets an operand"
            if call.workers > 1 and scratch.nbytes % (call.workers * ALIGNMENT):
                yield "the parts of the workspace are not aligned"
        for position, read in enumerate(reads):
            for write in (w for w in writes if w.meets(read)):
                same = write.start == read.start and write.nbytes == read.nbytes
                if same and position in kernel.inplace and len(writes) == 1:
                    continue
                before = None if call.overlap is None else self.size(call.overlap)
                if position == 0 and before is not None and read.start - write.start >= before:
                    if not is_whole(self.program, call):
                        yield "an output over the input is written by several workers"
                    continue
                yield f"operand {position} is overwritten while it is read"


def differs(
    before: Program,
    after: Program,
    sizes: Mapping[str, int] | None = None,
    seed: int = 0,
    kept: bool = False,
) -> str:
    """In what a run of the placed program differs from one of the program that `lower` made.

    Parameters
    ----------
    sizes : mapping
        Of all symbols of the inputs.
    kept : bool
        Whether the inputs must be what they were when the run ends.
    """
    one = Machine(before, sizes or {}, seed, is_placed=False)
    try:
        wanted = one.run()
    except Stopped:
        return ""
    two = Machine(after, sizes or {}, seed, is_placed=True)
    try:
        found = two.run()
    except Stopped:
        return "" if two.groups else "the placed program stops"
    except Lost:
        return "a loop's counter is overwritten"
    for port, names_, other in zip(before.outputs, wanted, found, strict=True):
        if len(names_) != len(other):
            return f"output '{port.name}' has {len(other)} bytes, not {len(names_)}"
        if (lost := np.flatnonzero((names_ != other) & (names_ != 0))).size:
            two.wrong.append(f"output '{port.name}' is another value from byte {lost[0]} on")
    for port in two.program.inputs if kept else ():
        span = two.span(port.tensor)
        if (two.read(span) != names(named("input", port.name), span.nbytes)).any():
            two.wrong.append(f"input '{port.name}' is overwritten")
    if one.decisions != two.decisions:
        two.wrong.append(f"decisions by other values: {two.decisions - one.decisions}")
    two.wrong += _small_parts(before, after, two.sizes)
    return "; ".join(dict.fromkeys(two.wrong))


def _small_parts(before: Program, after: Program, sizes: Mapping[str, int]) -> Iterator[str]:
    """Workspaces in which a worker has less than one worker had alone."""
    for call in after.calls:
        if isinstance(call, Call) and call.workspace is not None:
            ends = (p.tensors[call.workspace].nbytes for p in (before, after))
            try:
                need, have = (at(end, sizes) for end in ends)
            except KeyError:  # of a branch that was not taken
                continue
            if have // call.workers < need:
                yield f"{call.name}: {have} bytes for {call.workers} workers who need {need} each"
