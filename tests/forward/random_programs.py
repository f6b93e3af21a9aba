"""Random programs as `lower` makes them: views, workspaces, concats, branches, loops, open dims."""

from __future__ import annotations

import random
from collections.abc import Callable

from tvm_megcc.core.program import (
    Call,
    Check,
    Copy,
    Draw,
    Else,
    End,
    If,
    Kernel,
    Location,
    Loop,
    Port,
    Program,
    Step,
    Tensor,
    Weight,
)
from tvm_megcc.dims import Size, Symbol, of

N = Symbol("n", 0, 40)

#: plain, in place over one of its first two operands, a window, one that adds operand 2, a concat.
KERNELS = (
    Kernel("plain", source="x"),
    Kernel("inplace", source="x", inplace=(0, 1)),
    Kernel("window", source="x"),
    Kernel("residual", source="x", inplace=(2,)),
    Kernel("megcc_concat", template="concat"),
)
PLAIN, INPLACE, WINDOW, RESIDUAL, CONCAT = range(len(KERNELS))


class _Sketch:
    """A program while it grows; values that may be read are in `known`."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.unit: Size = self.rng.choice([64, 64, of(N) * 64])
        self.tensors: list[Tensor] = []
        self.calls: list[Step] = []
        self.known: list[int] = []
        self.storages = 0
        self.weights = [Weight("zero", bytes(8)), Weight("w", bytes(range(256)))]
        self.zero = self._add("zero", "i64", 1, Location("weight", 0))
        weight = self._add("w", "u8", 256, Location("weight", 1))
        self.inputs = [self.new(self.size()) for _ in range(self.rng.randint(1, 3))]
        self.known += [weight, *self.inputs]

    def size(self) -> Size:
        return self.unit * self.rng.choice([1, 1, 2, 2, 2, 3, 4, 8])

    def _add(self, name: str, dtype: str, count: Size, where: Location) -> int:
        self.tensors.append(Tensor(f"{name}{len(self.tensors)}", dtype, (count,), where))
        return len(self.tensors) - 1

    def new(self, count: Size, dtype: str = "u8") -> int:
        self.storages += 1
        return self._add("t", dtype, count, Location("arena", self.storages - 1))

    def one(self) -> int:
        return self.rng.choice(self.known[-3:] if self.rng.random() < 0.6 else self.known)

    def like(self, tensor: int) -> int:
        """A value of the same size as another one."""
        size = self.tensors[tensor].nbytes
        same = [t for t in self.known if self.tensors[t].nbytes == size]
        return self.rng.choice(same[-2:] if same and self.rng.random() < 0.7 else [*same, tensor])

    def call(self, kernel: int, reads: list[int], sizes: list[Size], **more: object) -> list[int]:
        scratch = self.new(self.size()) if self.rng.random() < 0.25 else None
        written = [self.new(size) for size in sizes]
        facts = {"work": 64, "cost": 1 << self.rng.choice([8, 12, 18, 20]), "workspace": scratch}
        name = f"c{len(self.calls)}"
        operands = (*reads, *written)
        self.calls.append(Call(kernel, operands, len(written), name=name, **facts | more))  # type: ignore[arg-type]
        self.known += written
        return written

    # ---- steps

    def plain(self) -> None:
        reads = [self.one() for _ in range(self.rng.randint(1, 3))]
        self.call(PLAIN, reads, [self.size() for _ in range(self.rng.choice([1, 1, 1, 2]))])

    def inplace(self) -> None:
        first = self.one()
        self.call(INPLACE, [first, self.like(first)], [self.tensors[first].nbytes])

    def window(self) -> None:
        first = self.one()
        other = self.rng.choice([[], [self.one()], [self.one(), self.like(first)]])
        size = self.rng.choice([self.tensors[first].nbytes, self.size()])
        overlap = self.rng.choice([0, 64, self.unit, self.unit * 3])
        kernel = RESIDUAL if len(other) == 2 else WINDOW
        self.call(kernel, [first, *other], [size], overlap=overlap)

    def concat(self) -> None:
        for _ in range(self.rng.choice([0, 1, 2])):
            self.plain()
        parts = [self.one() for _ in range(self.rng.randint(2, 3))]
        sizes = [self.tensors[p].nbytes for p in parts]
        attrs = (len(parts), self.rng.choice([1, 1, 1, 2]), *sizes)
        self.call(CONCAT, parts, [sum(sizes[1:], sizes[0])], attrs=attrs, workspace=None)

    def view(self) -> None:
        tensor = self.one()
        t = self.tensors[tensor]
        if t.location.space == "weight":
            return
        for start, stop in ((0, 1), (1, 2), (1, 3), (0, 2), (3, 4)):
            whole = t.nbytes - self.unit * stop
            if isinstance(whole, int) and whole < 0:
                continue
            if not isinstance(whole, int) and whole.bounds[0] < 0:
                continue
            if self.rng.random() < 0.5:
                at = Location("arena", t.location.index, t.location.offset + self.unit * start)
                self.known.append(self._add("v", "u8", self.unit * (stop - start), at))
                return

    def check(self) -> None:
        """A value that is there as another tensor from here on."""
        value = self.one()
        condition = self.call(PLAIN, [self.one()], [1])[0]
        self.known.remove(condition)
        self.calls.append(Check(condition, f"check{len(self.calls)}"))
        self.tensors.append(self.tensors[value])
        self.known.append(len(self.tensors) - 1)

    def draw(self) -> None:
        """Words of a draw; a second one is another value."""
        words = self.new(4, "u32")
        self.calls.append(Draw(words, self.rng.choice([None, 3]), f"draw{len(self.calls)}"))
        self.known.append(words)

    def inside(self, count: int, depth: int, *given: int) -> None:
        """Some steps of a branch or a body, whose values nobody else knows."""
        self.known += given
        for _ in range(count):
            self.step(depth + 1)

    def branch(self, depth: int) -> None:
        outside = list(self.known)
        condition = self.call(PLAIN, [self.one()], [1])[0]
        self.known = list(outside)
        name = f"if{len(self.calls)}"
        self.calls.append(If(condition, name))
        count = self.rng.randint(1, 2)
        self.inside(self.rng.randint(0, 4), depth)
        then = [self.one() for _ in range(count)]
        first_end = len(self.calls)
        self.calls.append(Else(name))
        self.known = list(outside)
        self.inside(self.rng.randint(0, 4), depth)
        other = [self.like(t) if self.rng.random() < 0.9 else self.one() for t in then]
        ends: tuple[list[Step], list[Step]] = ([], [])
        results = []
        for a, b in zip(then, other, strict=True):
            if a == b:
                results.append(a)
            elif self.tensors[a].nbytes == self.tensors[b].nbytes:
                results.append(self.new(self.tensors[a].nbytes))
                for end, source in zip(ends, (a, b), strict=True):
                    end.append(Copy(results[-1], source, name=name))
        self.calls += ends[1]
        self.calls[first_end:first_end] = ends[0]
        self.calls.append(End(name))
        self.known = outside + results

    def loop(self, depth: int) -> None:
        outside, name = list(self.known), f"loop{len(self.calls)}"
        counter, trips = self.new(1, "i64"), self.rng.randint(1, 3)
        self.calls.append(Copy(counter, self.zero, name=name))
        outputs = []
        states = []
        for initial in [self.one() for _ in range(self.rng.randint(1, 3))]:
            states.append(self.new(self.tensors[initial].nbytes))
            self.calls.append(Copy(states[-1], initial, name=name))
        joined = self.rng.random() < 0.3
        if joined:  # the last state is the first one and something else
            initial = self.call(PLAIN, [self.one()], [self.tensors[states[0]].nbytes + self.unit])
            states.append(self.new(self.tensors[initial[0]].nbytes))
            self.calls.append(Copy(states[-1], initial[0], name=name))
        wholes, rows = [], []
        if self.rng.random() < 0.4:
            wholes.append(self.rows(trips))
            rows.append(self.new(self.unit))
        self.calls.append(Loop(counter, None, None, name))
        for row, whole in zip(rows, wholes, strict=True):
            self.calls.append(Copy(row, whole, counter, into=False, name=name))
        self.inside(self.rng.randint(1, 6), depth, *states, *rows)
        if self.rng.random() < 0.5:
            made = [t for t in self.known if self.tensors[t].nbytes == self.unit]
            if made:
                outputs.append(self.rows(trips, fresh=True))
                backwards = self.rng.random() < 0.3
                source = self.rng.choice(made)
                self.calls.append(
                    Copy(outputs[-1], source, counter, backwards=backwards, name=name)
                )
        news = [self.like(s) for s in states]
        if joined:
            part = self.call(PLAIN, [self.one()], [self.unit])[0]
            sizes = (self.tensors[states[0]].nbytes, self.unit)
            whole = [self.tensors[states[-1]].nbytes]
            news[-1] = self.call(CONCAT, [states[0], part], whole, attrs=(2, 1, *sizes))[0]
        homes = {self.tensors[s].location.index for s in states}
        apart = []
        for state, new in zip(states, news, strict=True):
            at = self.tensors[new].location
            if new != state and at.space == "arena" and at.index in homes:
                source, new = new, self.new(self.tensors[new].nbytes)
                self.calls.append(Copy(new, source, name=name))
            apart.append(new)
        for state, new in zip(states, apart, strict=True):
            if new != state:
                self.calls.append(Copy(state, new, name=name))
        self.calls.append(End(name))
        self.known = outside + states + outputs

    def rows(self, count: int, fresh: bool = False) -> int:
        """A tensor of so many rows of a unit; one that has values unless it is `fresh`."""
        tensor = self.new(1)
        t = self.tensors[tensor]
        self.tensors[tensor] = Tensor(t.name, t.dtype, (count, self.unit), t.location)
        if not fresh:
            self.calls.append(Call(PLAIN, (self.inputs[0], tensor), 1, name="rows"))
        return tensor

    def step(self, depth: int = 0) -> None:
        simple: list[Callable[[], None]] = [
            self.plain, self.plain, self.inplace, self.inplace, self.window, self.window,
            self.concat, self.view, self.view, self.check, self.draw,
        ]  # fmt: skip
        if depth < 3 and self.rng.random() < 0.2:
            self.rng.choice([self.branch, self.loop])(depth)
        else:
            self.rng.choice(simple)()

    def program(self) -> Program:
        results = [self.one() for _ in range(self.rng.randint(1, 3))]
        return Program(
            "m", "portable", tuple(Port(f"x{k}", t) for k, t in enumerate(self.inputs)),
            tuple(Port(f"y{k}", t) for k, t in enumerate(results)), tuple(self.tensors), KERNELS,
            tuple(self.calls), tuple(self.weights), symbols=() if self.unit == 64 else (N,),
        )  # fmt: skip


def program(seed: int) -> Program:
    """The program of a seed."""
    sketch = _Sketch(seed)
    for _ in range(sketch.rng.choice([2, 4, 6, 9, 14])):
        sketch.step()
    return sketch.program()
