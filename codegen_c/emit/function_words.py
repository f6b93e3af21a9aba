"""One program as the sections of a function in an image: its tensors, ports and instructions.

Enters: a planned program, and where its weights and kernels are in the image. Leaves: words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tvm_megcc.codegen_c.emit.blocks import Blocks
from tvm_megcc.codegen_c.emit.instructions import Code, opcodes
from tvm_megcc.codegen_c.emit.scalars import Scalars, is_sized, slides_by_sizes
from tvm_megcc.core import dtypes
from tvm_megcc.core.program import (
    ALIGNMENT,
    Call,
    Check,
    Copy,
    Draw,
    Else,
    End,
    Feed,
    If,
    Let,
    Load,
    Location,
    Loop,
    Path,
    Pool,
    Port,
    Program,
    Range,
    Rows,
    Slide,
    Step,
    Store,
    Tensor,
    regions,
)
from tvm_megcc.core.splitting import MOST, grain, is_whole
from tvm_megcc.dims import Size, Symbol, fixed
from tvm_megcc.errors import UnsupportedError

NONE = 0xFFFFFFFF
SPACES = ("arena", "weight", "input", "output")
UNBOUNDED = 0x7FFFFFFF
DRAW_OPERANDS = 4  #: MEGCC_DRAW_OPERANDS


class Strings:
    """Deduplicated, 0-terminated strings; a reference is an offset."""

    def __init__(self) -> None:
        self.data = bytearray()
        self._known: dict[str, int] = {}

    def ref(self, text: str) -> int:
        if "\0" in text:
            raise UnsupportedError(
                f"name {text!r} contains a NUL character; rename it in the model"
            )
        if text not in self._known:
            self._known[text] = len(self.data)
            self.data += text.encode() + b"\0"
        return self._known[text]


@dataclass(frozen=True, slots=True)
class Function:
    """One program of an image, and the sizes that it serves.

    Attributes
    ----------
    kernels : tuple of int
        For each of the program's kernels, its number in the image's table.
    placed : tuple of (segment, offset)
        The place of each of the program's weights.
    draws : bool
        Whether this or another program of the image draws random numbers.
    """

    guard: tuple[Range, ...]
    code: Code
    kernels: tuple[int, ...]
    placed: Sequence[tuple[int, int]]
    draws: bool = False


def pools(program: Program) -> tuple[Pool, ...]:
    """The caller's buffers for activations, in the order of their numbers; at least one.

    A program of symbolic shapes has one of 0 bytes: its size is not known yet.
    """
    if program.symbols:
        return (Pool("arena", 0),)
    assert program.arena_bytes is not None, "memory.place has not run"
    if program.plan is None or not program.plan.pools:
        return (Pool("arena", program.arena_bytes),)
    assert program.arena_bytes == sum(p.bytes for p in program.plan.pools), program.plan.pools
    return program.plan.pools


class FunctionEncoder:
    """The sections of one function."""

    def __init__(self, function: Function, inputs: tuple[Symbol, ...], strings: Strings) -> None:
        self.function, self.strings = function, strings
        self.program = function.code.program
        self.scalars = Scalars(self.program, inputs)
        self.blocks = Blocks(self.program, self.scalars)
        for side, space in ((self.program.inputs, "input"), (self.program.outputs, "output")):
            for k, port in enumerate(side):
                _check_port(self.program, port.tensor, space, k, port.name)

    def head(self) -> list[int]:
        """The words before the table of sections."""
        calls = (step for step in self.program.calls if isinstance(step, Call))
        operands = max((len(call.operands) for call in calls), default=0)
        operands += self.function.draws * DRAW_OPERANDS
        return [operands, self.scalars.span(0)[1], self.scalars.data, 0]

    def sections(self) -> list[tuple[list[int], int]]:
        """(words, number of entries) of each section, in order."""
        dims: list[int] = []
        tensors: list[int] = []
        # The tensors of a pair that shares memory have the same dims, not equal ones.
        ports = self.program.inputs, self.program.outputs
        shared = {ports[1][b].tensor: ports[0][a].tensor for a, b in self.program.states}
        places: dict[int, int] = {}
        for number, t in enumerate(self.program.tensors):
            given = places.get(shared.get(number, number))
            places[number] = len(dims) if given is None else given
            tensors += self._tensor(t, places[number])
            if given is None:
                dims += [self._dim(d, t.name) for d in t.shape]
        code = self._code()
        pool_words = [
            w
            for p in pools(self.program)
            for w in (self.strings.ref(p.name), p.bytes & NONE, p.bytes >> 32)
        ]
        first = [v & NONE for v in self.scalars.first]
        operations = [w & NONE for row in self.scalars.code(self._short_ref) for w in row]
        guard = [
            w
            for r in self.function.guard
            for w in (r.symbol, r.low, UNBOUNDED if r.high is None else r.high)
        ]
        return [
            (dims, len(dims)),
            (tensors, len(self.program.tensors)),
            (self._ports(self.program.inputs, self._partners(0)), len(self.program.inputs)),
            (self._ports(self.program.outputs, self._partners(1)), len(self.program.outputs)),
            (code, len(code)),
            (pool_words, len(pools(self.program))),
            (first, len(first)),
            (operations, len(operations) // 3),
            (self.blocks.words, len(self.blocks.numbers)),
            (self.blocks.below, len(self.blocks.below)),
            (guard, len(self.function.guard)),
        ]

    def _short_ref(self, name: str) -> int:
        """A reference of 24 bits; strings beyond are not told."""
        ref = self.strings.ref(name)
        return ref if ref < 1 << 24 else self.strings.ref(self.program.name)

    def _ports(self, side: Sequence[Port], partners: Mapping[int, int]) -> list[int]:
        return [
            w
            for k, p in enumerate(side)
            for w in (self.strings.ref(p.name), p.tensor, partners.get(k, NONE))
        ]

    def _partners(self, side: int) -> dict[int, int]:
        """Input (side 0) or output (1) -> number, among all ports, of what shares its memory."""
        first = len(self.program.inputs)
        pairs = [(a, first + b) for a, b in self.program.states]
        return dict(pairs) if side == 0 else {b - first: a for a, b in pairs}

    def _dim(self, dim: Size, name: str) -> int:
        if isinstance(dim, int):
            return i32(dim, f"a dimension of {name!r}")
        return (-1 - self.scalars.number(dim)) & NONE

    def _tensor(self, t: Tensor, first_dim: int) -> tuple[int, ...]:
        where = t.location
        index, offset, space = where.index, where.offset, where.space
        if space == "weight":
            index, base = self.function.placed[where.index]
            offset = offset + base
        elif space == "block":
            block, offset = self.blocks.number(where)
            index, space = len(pools(self.program)) + block, "arena"
        assert isinstance(offset, int), t
        code = dtypes.code(t.dtype) | SPACES.index(space) << 8 | len(t.shape) << 16
        return code, first_dim, index, offset & NONE, offset >> 32, 0

    def _code(self) -> list[int]:
        """Every instruction's words, and where each branch and jump goes."""
        code = self.function.code
        ends = regions(self.program)
        begins = {end: begin for begin, end in ends.items()}
        at: list[int] = []  # word of each step's instruction
        words = [w for copy in code.first for w in self._copy(copy)]
        open_words: dict[int, int] = {}  # step -> word of the instruction that jumps to its end
        calls = 0
        for number, step in enumerate(self.program.calls):
            at.append(len(words))
            match step:
                case If() | Loop():
                    open_words[number] = len(words)
                    words += self._branch(step)
                case Else():
                    open_words[number] = len(words)
                    words += _instruction("JUMP", [NONE, 0, calls])
                    _land(words, open_words[begins[number]], calls)
                case End():
                    begin = begins[number]
                    loop = self.program.calls[begin]
                    if isinstance(loop, Loop):
                        back = (at[begin] - len(words)) & NONE
                        before = sum(isinstance(s, Call) for s in self.program.calls[:begin])
                        words += _instruction("JUMP", [loop.counter, back, before])
                    _land(words, open_words[begin], calls)
                case Slide():
                    words += self._slide(step, self._counter(number, ends))
                case Feed():
                    words += self._feed(step, self._counter(number, ends))
                case Call(rows=Rows()):
                    words += self._band(step, self._counter(number, ends))
                    calls += 1
                case _:
                    words += self._step(step, number)
                    calls += isinstance(step, Call)
        words += [w for copy in code.last for w in self._copy(copy)]
        return [*words, opcodes()["END"] | 1 << 8]

    def _step(self, step: Step, number: int) -> list[int]:
        match step:
            case Load():
                words = [self.strings.ref(step.name), step.source, *self._set_sizes(step)]
                return _instruction("LOAD", words)
            case Let():
                values = [self.scalars.number(size) for size in step.sizes]
                words = [self.strings.ref(step.name), *self._set_sizes(step), *values]
                return _instruction("LET", words)
            case Check():
                return _instruction("CHECK", [self.strings.ref(step.name), step.condition])
            case Copy():
                return self._copy(step)
            case Store():
                return _instruction("STORE", [step.target, self.scalars.number(step.size)])
            case Draw():
                key = (step.seed or 0) & (1 << 64) - 1
                own = int(step.seed is not None)
                return _instruction("DRAW", [step.target, key & NONE, key >> 32, own])
        assert isinstance(step, Call), step
        return self._call(step, number)

    def _counter(self, number: int, ends: Mapping[int, int]) -> int:
        """The tensor that counts the iterations of the innermost loop around a step."""
        around = max(n for n, end in ends.items() if n < number < end and self._loops(n))
        loop = self.program.calls[around]
        assert isinstance(loop, Loop)
        return loop.counter

    def _loops(self, number: int) -> bool:
        return isinstance(self.program.calls[number], Loop)

    def _feed(self, step: Feed, counter: int) -> list[int]:
        at = self.program.tensors[step.source].location
        assert (at.space, at.offset) == ("input", 0), step
        words = [counter, at.index, step.tensor, step.row_bytes]
        words += [*_path(step.base, fixed), *_path(step.made, fixed), step.planes]
        return _instruction("FEED", [*words, step.images.period, step.images.count])

    def _slide(self, step: Slide, counter: int) -> list[int]:
        sized = slides_by_sizes(step)
        size = self.scalars.number if sized else fixed
        words = [counter, step.tensor, size(step.row_bytes), *_path(step.base, size)]
        words += [step.made.first & NONE, step.images.period]
        return _instruction("SLIDE_SIZED" if sized else "SLIDE", words)

    def _band(self, call: Call, counter: int) -> list[int]:
        """A band; where shapes can change, every size is the number of a value."""
        rows = call.rows
        assert rows is not None
        sized = is_sized(call)
        size: Callable[[Size], int] = self.scalars.number if sized else fixed
        words = self._call_words(call, rows.units)
        window = rows.window
        words += [counter, *_path(rows.output, size), window.stride, window.up, window.reach]
        words += [window.pad, size(window.height), rows.tile, rows.block, size(rows.columns)]
        words += [len(rows.operands), len(rows.patches), rows.images.period, rows.images.count]
        words += call.operands
        for band in rows.operands:
            position = band.operand | band.is_input << 16 | band.has_all_images << 17
            words += [position, size(band.row_bytes), *_path(band.base, size)]
        for patch in rows.patches:
            kind = _PATCHED.index(patch.rows)
            words += [patch.attribute | kind << 16, size(patch.factor)]
        what = f"an attribute of {call.name!r}"
        words += [size(a) if sized else i32(fixed(a), what) for a in call.attrs]
        return _instruction("BAND_SIZED" if sized else "BAND", words)

    def _copy(self, copy: Copy) -> list[int]:
        if copy.row is None:
            return _instruction("COPY", [copy.target, copy.source])
        how = int(copy.into) | int(copy.backwards) << 1
        name = self.strings.ref(copy.name)
        return _instruction("ROW", [name, copy.target, copy.source, copy.row, how])

    def _branch(self, step: If | Loop) -> list[int]:
        condition, pair = step.condition, (NONE, NONE)
        if isinstance(step, Loop) and step.limit is not None:
            pair = step.counter, step.limit
        return _instruction("BRANCH", [NONE if condition is None else condition, *pair, 0, 0])

    def _call_words(self, call: Call, work: Size) -> list[int]:
        """Words that all instructions share which call a kernel."""
        if call.workspace is not None:
            offset = self.program.tensors[call.workspace].location.offset
            assert isinstance(offset, int) and offset % ALIGNMENT == 0, call
        sized = is_sized(call)
        what = f"the work of {call.name!r}"
        return [
            self.function.kernels[call.kernel],
            self.strings.ref(call.name),
            self.scalars.number(work) if sized else i32(fixed(work), what),
            _split(self.program, call),
            NONE if call.workspace is None else call.workspace,
            call.n_outputs,
            len(call.operands),
        ]

    def _call(self, call: Call, number: int) -> list[int]:
        words = self._call_words(call, call.work)
        if is_sized(call):
            return _instruction(
                "CALL_SIZED", [*words, *self.scalars.attribute(number), *call.operands]
            )
        attrs = [i32(a, f"an attribute of {call.name!r}") for a in call.attrs]  # type: ignore[arg-type]
        return _instruction("CALL", [*words, *call.operands, *attrs])

    def _set_sizes(self, step: Load | Let) -> list[int]:
        """Words that LOAD and LET share: values, operations and blocks that follow, bounds."""
        found = [self.program.symbols[k] for k in step.symbols]
        bounds = [(s.low & NONE, UNBOUNDED if s.high is None else s.high) for s in found]
        first, stage = self.scalars.set_by(step)
        return [
            first,
            len(found),
            *self.scalars.span(stage),
            *self.blocks.spans[stage - 1],
            *(w for row in bounds for w in row),
        ]


def _split(program: Program, call: Call) -> int:
    """The most workers of a call (8 bits), and the least work of each."""
    workers = MOST if call.workspace is None else call.workers
    return (1 if is_whole(program, call) else workers) | grain(call) << 8


#: What a band's patch is of, in the order of their numbers.
_PATCHED = ("out", "in", "above", "below", "first")


def _path(path: Path, size: Callable[[Size], int]) -> list[int]:
    return [path.step, path.first & NONE, size(path.height)]


#: Words of a BRANCH and a JUMP that say where to go, and the number of the call there.
_TARGET = {"BRANCH": (4, 5), "JUMP": (2, 3)}


def _land(words: list[int], jump: int, calls: int) -> None:
    """Let the instruction at word `jump` go to the one that comes next."""
    name = next(n for n, number in opcodes().items() if number == words[jump] & 0xFF)
    target, call = _TARGET[name]
    words[jump + target] = len(words) - jump
    words[jump + call] = calls


def _instruction(opcode: str, words: list[int]) -> list[int]:
    return [opcodes()[opcode] | (len(words) + 1) << 8, *words]


def i32(value: int, what: str) -> int:
    if not -(1 << 31) <= value < 1 << 31:
        raise UnsupportedError(f"{what} is {value}, which does not fit in 32 bits; make it smaller")
    return value & NONE


def _check_port(program: Program, port_tensor: int, space: str, k: int, name: str) -> None:
    location = program.tensors[port_tensor].location
    own = location == Location(space, k)  # type: ignore[arg-type]
    assert own or location.space in ("arena", "block"), (name, location)
