"""Sizes -> the values of a program and the three-address code that computes them.

Enters: a `Program` whose sizes may be `Dim`s. Leaves: `Scalars`: where each size is found among the
context's values, what those are at first, and the operations in the order in which they are run:
first those that follow from the shapes (stage 0), then those that follow from what is set during
the run: a stage for the symbols of each `Load`, and for those that one or several `Let`s set.

Values are numbered so that everything that depends on data comes last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tvm_megcc.core.program import Call, Let, Load, Program, Slide, Store
from tvm_megcc.dims import Atom, Dim, Size, Symbol, is_static, symbols
from tvm_megcc.errors import UnsupportedError

#: Numbers of MEGCC_V_* in runtime/src/megcc_vm.h (a test compares them).
OPERATIONS = (
    "move", "add", "sub", "mul", "floordiv", "floormod", "min", "max", "eq", "lt", "require",
)  # fmt: skip

_INT32 = 1 << 31


@dataclass(slots=True)
class _Value:
    """One of the context's values; `number` is given at the end."""

    first: int
    stage: int
    number: int = -1


@dataclass(frozen=True, slots=True)
class _Operation:
    kind: str
    to: _Value
    a: _Value
    b: _Value
    #: Of a requirement: name of the value, in the model, whose size it is.
    name: str = ""


@dataclass(slots=True)
class Scalars:
    """Values and code of a planned program; the symbols of the model's `inputs` come first."""

    program: Program
    inputs: tuple[Symbol, ...]
    stages: list[list[_Operation]] = field(init=False)
    attributes: dict[int, tuple[_Value, int]] = field(default_factory=dict)
    _values: list[_Value] = field(default_factory=list)
    _of: dict[object, _Value] = field(default_factory=dict)
    _stage: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        setters = (step for step in self.program.calls if isinstance(step, Load | Let))
        groups = list(dict.fromkeys(step.symbols for step in setters))
        self.stages = [[] for _ in range(len(groups) + 1)]
        if not self.program.symbols:
            return
        for symbol in self.inputs:
            self._of[symbol.name] = self._new(0, 0)
        for stage, group in enumerate(groups, start=1):
            for k in group:  # consecutive, as LOAD and LET write them
                name = self.program.symbols[k].name
                self._stage[name] = stage
                self._of[name] = self._new(-1, stage)
        for requirement in self.program.requirements:
            with _named(f"'{requirement.name}'"):
                a, b = self._value(requirement.a), self._value(requirement.b)
            stage = max(a.stage, b.stage)
            self.stages[stage].append(_Operation("require", a, a, b, requirement.name))
        for tensor in self.program.tensors:
            with _named(f"'{tensor.name}'"):
                for dim in (*tensor.shape, tensor.location.offset):
                    if isinstance(dim, Dim):
                        self._value(dim)
        for number, step in enumerate(self.program.calls):
            if isinstance(step, Call) and is_sized(step):
                with _named(", ".join(step.nodes) or step.name):
                    self._value(step.work)
                    if step.rows is None:
                        self.attributes[number] = self._block(step)
                    else:
                        for size in (*step.rows.sizes, *step.attrs):
                            self._value(size)
            if isinstance(step, Store):
                with _named(step.name):
                    self._value(step.size)
            if isinstance(step, Slide) and slides_by_sizes(step):
                with _named(step.name):
                    self._value(step.row_bytes)
                    self._value(step.base.height)
            if isinstance(step, Let):
                with _named(step.name):
                    for size in step.sizes:
                        self._value(size)
        self._number()

    @property
    def first(self) -> list[int]:
        """Initial values, before the shapes are known, by number."""
        return [v.first for v in sorted(self._values, key=lambda v: v.number)]

    @property
    def data(self) -> int:
        """Number of the first value that depends on data."""
        return sum(v.stage == 0 for v in self._values)

    def number(self, size: Size) -> int:
        """Number of the value that is `size`."""
        return self._value(size, known=True).number

    def attribute(self, step: int) -> tuple[int, int]:
        """Number of the first attribute of a sized call, and how many there are."""
        value, count = self.attributes[step]
        return value.number, count

    def set_by(self, step: Load | Let) -> tuple[int, int]:
        """Number of the first value that a step sets, and its stage."""
        name = self.program.symbols[step.symbols[0]].name
        return self._of[name].number, self._stage[name]

    def code(self, string: Callable[[str], int]) -> list[tuple[int, int, int]]:
        """The operations of all stages as (kind | to << 8, a, b).

        `string` makes a reference of the name that a requirement has in the place of ``to``.
        """

        def to(op: _Operation) -> int:
            return string(op.name) if op.kind == "require" else op.to.number

        return [
            (OPERATIONS.index(op.kind) | to(op) << 8, op.a.number, op.b.number)
            for stage in self.stages
            for op in stage
        ]

    def span(self, stage: int) -> tuple[int, int]:
        """First and last + 1 operation of a stage."""
        start = sum(len(s) for s in self.stages[:stage])
        return start, start + len(self.stages[stage])

    def stage_of(self, size: Size) -> int:
        """The last stage of the symbols on which a size depends."""
        return max((self._stage.get(s.name, 0) for s in symbols(size)), default=0)

    # ---- inside

    def _new(self, first: int, stage: int) -> _Value:
        value = _Value(first, stage)
        self._values.append(value)
        return value

    def _block(self, call: Call) -> tuple[_Value, int]:
        """Consecutive values for the attributes of a call."""
        found = [a if isinstance(a, int) else self._value(a) for a in call.attrs]
        # They stand together, among what the last of them waits for: a LOAD writes nothing else.
        stage = max((a.stage for a in found if isinstance(a, _Value)), default=0)
        block = [self._new(_int32(a) if isinstance(a, int) else 0, stage) for a in found]
        for to, value in zip(block, found, strict=True):
            if isinstance(value, _Value):
                self.stages[value.stage].append(_Operation("move", to, value, value))
        # A call may have no attributes; then nobody looks at this one.
        return (block[0] if block else self._value(0)), len(block)

    def _value(self, size: Size, known: bool = False) -> _Value:
        if size in self._of:
            return self._of[size]
        assert not known, size
        self._of[size] = value = (
            self._new(_int32(size), 0) if isinstance(size, int) else self._sum(size)
        )
        return value

    def _sum(self, size: Dim) -> _Value:
        total: _Value | None = None
        for coefficient, atoms in size.terms:
            if not atoms:
                assert total is not None
                sign = "add" if coefficient > 0 else "sub"
                total = self._apply(sign, total, self._value(abs(coefficient)))
                continue
            term = self._atom(atoms[0])
            for atom in atoms[1:]:
                term = self._apply("mul", term, self._atom(atom))
            if total is None:
                by = self._value(coefficient)
                total = term if coefficient == 1 else self._apply("mul", term, by)
                continue
            if abs(coefficient) != 1:
                term = self._apply("mul", term, self._value(abs(coefficient)))
            total = self._apply("add" if coefficient > 0 else "sub", total, term)
        assert total is not None
        return total

    def _atom(self, atom: Atom) -> _Value:
        if isinstance(atom, Symbol):
            return self._of[atom.name]
        a, b = self._value(atom.a), self._value(atom.b)
        if atom.kind == "stretch":  # a + (a == 1) * (b - a)
            one = self._apply("eq", a, self._value(1))
            return self._apply("add", a, self._apply("mul", one, self._apply("sub", b, a)))
        return self._apply(atom.kind, a, b)

    def _apply(self, kind: str, a: _Value, b: _Value) -> _Value:
        key = (kind, id(a), id(b))
        if key not in self._of:
            to = self._new(-1, max(a.stage, b.stage))
            self.stages[to.stage].append(_Operation(kind, to, a, b))
            self._of[key] = to
        return self._of[key]

    def _number(self) -> None:
        order = sorted(self._values, key=lambda v: v.stage)  # stable: symbols stay in front
        for number, value in enumerate(order):
            value.number = number


def is_sized(call: Call) -> bool:
    """Whether a call's work, attributes or rows follow from the shapes."""
    rows = () if call.rows is None else call.rows.sizes
    return not is_static((call.work, *call.attrs, *rows))


def slides_by_sizes(step: Slide) -> bool:
    """Whether the rows that a step moves follow from the shapes."""
    return not is_static((step.row_bytes, step.base.height))


@contextmanager
def _named(what: str) -> Iterator[None]:
    """Put the name of a node or value in front of an error about its sizes."""
    try:
        yield
    except UnsupportedError as err:
        raise UnsupportedError(f"{what}: {err}") from None


def _int32(value: int) -> int:
    if not -_INT32 <= value < _INT32:
        raise UnsupportedError(f"a size is {value}, which does not fit in 32 bits; make it smaller")
    return value
