"""Bands of rows, step by step: no row is computed twice, and what is read is where it is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import onnx
import pytest

from tvm_megcc import frontend
from tvm_megcc.core.program import (
    Call,
    End,
    Feed,
    Images,
    Loop,
    Path,
    Program,
    Slide,
    Step,
    Store,
    sized,
)
from tvm_megcc.core.program.sizes import accepts
from tvm_megcc.dims import fixed
from tvm_megcc.memory_options import MemoryOptions
from tvm_megcc.pipeline import compile_module

from .images import chains, network, open_network

SEEDS, FEWER = range(40), range(8)

fed_network = partial(network, channels_last=True)


def program(
    seed: int,
    arch: str,
    stream: str | int,
    model: Callable[[int], onnx.ModelProto] = network,
    io: str = "caller",
) -> Program:
    imported = frontend.from_onnx(model(seed))
    found = compile_module(
        imported.mod,
        arch,
        name="image",
        input_names=["x"],
        output_names=["y"],
        io=io,
        memory_options=MemoryOptions(stream=stream),
    )
    assert isinstance(found, Program)
    return found


@dataclass
class Rows:
    """What runs leave in line buffers and whole images: number of row -> where it lies."""

    program: Program
    lies: dict[object, dict[int, int]] = field(default_factory=dict)
    computed: dict[object, list[int]] = field(default_factory=dict)
    #: Bytes of the arena that the loop has written so far, first and last + 1.
    written: list[tuple[int, int]] = field(default_factory=list)

    def place(self, tensor: int, rows: range, row_bytes: int) -> tuple[int, int]:
        """Bytes of the arena where rows of a whole tensor lie."""
        at = self.program.tensors[tensor].location
        assert at.space == "arena"
        return at.offset + rows.start * row_bytes, at.offset + rows.stop * row_bytes

    def is_intact(self, tensor: int, rows: range, row_bytes: int) -> bool:
        """Whether the loop has written over no row of an image that was there before it."""
        if self.program.tensors[tensor].location.space != "arena":
            return True
        lo, hi = self.place(tensor, rows, row_bytes)
        return all(last <= lo or hi <= first for first, last in self.written)

    def key(self, tensor: int) -> object:
        return self.program.tensors[tensor].name

    def slide(self, step: Slide, t: int) -> None:
        moved = step.base.at(t) - step.base.at(t - 1) if t else 0
        lies = self.lies.get(self.key(step.tensor), {})
        kept = range(step.base.at(t), step.made.at(t))
        self.lies[self.key(step.tensor)] = {row: lies[row] - moved for row in kept}

    def feed(self, step: Feed, t: int) -> None:
        lo, hi, base = step.made.at(t), step.made.at(t + 1), step.base.at(t)
        tensor = self.program.tensors[step.tensor]
        assert lo == hi or hi - base <= tensor.nbytes // (step.planes * step.row_bytes)
        self.computed.setdefault(self.key(step.tensor), []).extend(range(lo, hi))
        if not any(s.tensor == step.tensor for s in self.program.calls if isinstance(s, Slide)):
            self.lies[self.key(step.tensor)] = {} if step.base.step else self.of(step.tensor)
        rows = {row: row - base for row in range(lo, hi)}
        self.lies.setdefault(self.key(step.tensor), {}).update(rows)

    def call(self, call: Call, t: int) -> None:
        rows = call.rows
        assert rows is not None
        lo, hi = rows.output.at(t), rows.output.at(t + 1)
        if lo == hi:
            return
        window = rows.window
        first = lo * window.stride // window.up - window.pad
        last = (hi - 1) * window.stride // window.up - window.pad + window.reach
        if len(call.writes) > 1:  # the result is of all rows
            assert call.reads[-1] == call.writes[0] and lo <= hi <= window.height
            self.computed.setdefault((call.name, "sums"), []).extend(range(lo, hi))
        for band in rows.operands:
            tensor = call.operands[band.operand]
            # An image without columns has room for any number of rows.
            room = self.program.tensors[tensor].nbytes // band.row_bytes if band.row_bytes else hi
            base = band.base.at(t)
            if band.operand == len(call.reads):
                made = self.computed.setdefault(self.key(tensor), [])
                made += range(lo, hi)
                if not any(s.tensor == tensor for s in self.program.calls if isinstance(s, Slide)):
                    self.lies[self.key(tensor)] = {} if band.base.step else self.of(tensor)
                assert hi - base <= room, call.name
                self.lies.setdefault(self.key(tensor), {}).update(
                    {row: row - base for row in range(lo, hi)}
                )
                if self.program.tensors[tensor].location.space == "arena":
                    self.written.append(
                        self.place(tensor, range(lo - base, hi - base), band.row_bytes)
                    )
            else:
                wanted = range(max(first, 0), min(last, window.height))
                wanted = wanted if band.is_input else range(lo, hi)
                if self.key(tensor) not in self.computed:
                    assert self.is_intact(tensor, wanted, band.row_bytes), (call.name, t)
                    continue
                for row in wanted:
                    assert self.of(tensor)[row] == row - base, (call.name, t, row)

    def check_whole(self, call: Call) -> None:
        """Every image has its rows in tensors that are no line buffers."""
        assert call.rows is not None
        for band in call.rows.operands:
            image = call.rows.window if band.is_input else call.rows.output
            size = self.program.tensors[call.operands[band.operand]].nbytes
            whole = call.rows.images.count * image.height * band.row_bytes
            assert size == whole if band.has_all_images else size <= whole

    def of(self, tensor: int) -> dict[int, int]:
        return self.lies.get(self.key(tensor), {})


def loops(found: Program) -> list[tuple[int, int, int]]:
    """First and last step of each loop, and how often it runs."""
    rows = []
    for number, step in enumerate(found.calls):
        if isinstance(step, Loop):
            end = next(
                k for k in range(number, len(found.calls)) if isinstance(found.calls[k], End)
            )
            assert step.limit is not None
            at = found.tensors[step.limit].location
            stores = [s for s in found.calls if isinstance(s, Store) and s.target == step.limit]
            count = (
                fixed(stores[0].size)
                if stores
                else int.from_bytes(found.weights[at.index].data, "little")
            )
            rows.append((number, end, count))
    return rows


def check(found: Program) -> int:
    """Run a program's loops, step by step; return how many there are."""
    runs = loops(found)
    for first, last, count in runs:
        steps = found.calls[first + 1 : last]
        (images,) = {s.images if isinstance(s, Feed | Slide) else images_of(s) for s in steps}
        assert images.period == 0 if images.count == 1 else images.count * images.period == count
        rows = Rows(found)
        for u in range(count):
            t = u % (images.period or count)
            if t == 0:  # an image begins
                rows = Rows(found)
            for step in steps:
                if isinstance(step, Slide):
                    rows.slide(step, t)
                elif isinstance(step, Feed):
                    rows.feed(step, t)
                elif isinstance(step, Call):
                    rows.call(step, t)
            if t == (images.period or count) - 1:
                for name, made in rows.computed.items():
                    assert made == list(range(len(made))), name
                for call in steps:
                    if isinstance(call, Call):
                        rows.check_whole(call)
    return len(runs)


def images_of(step: Step) -> Images:
    assert isinstance(step, Call) and step.rows is not None
    return step.rows.images


@pytest.mark.parametrize("arch", ["portable", "arm64", "cortexm+dsp"])
def test_every_row_is_computed_once_and_read_where_it_lies(arch: str) -> None:
    streamed = sum(check(program(seed, arch, 1 + seed % 4)) for seed in SEEDS)
    assert streamed > len(SEEDS) // 2


@pytest.mark.parametrize(("images", "io"), [(2, "caller"), (3, "stream")])
def test_batches_are_done_image_by_image(images: int, io: str) -> None:
    made = partial(network, images=images)
    found = [program(seed, "arm64", 1 + seed % 4, made, io) for seed in FEWER]
    assert sum(map(check, found)) > len(FEWER) // 2


@pytest.mark.parametrize("arch", ["portable", "arm64", "cortexm+dsp"])
def test_every_row_of_an_image_comes_in_once(arch: str) -> None:
    for seed in SEEDS:
        found = program(seed, arch, 1 + seed % 4, fed_network, "stream")
        assert sum(isinstance(step, Feed) for step in found.calls) == 1
        assert check(found) > 0


def test_every_row_of_planes_comes_in_once() -> None:
    planes = set()
    for seed in FEWER:
        found = program(seed, "arm64", 1 + seed % 4, io="stream")
        (feed,) = (step for step in found.calls if isinstance(step, Feed))
        assert feed.planes == found.tensors[feed.source].shape[1]
        assert check(found) > 0
        planes.add(feed.planes)
    assert planes == {1, 3, 4}


def test_every_row_of_an_image_of_any_size() -> None:
    """Small ones, in which a window is larger than the image or a band than its rows, too."""
    sides = (("h", "w"), ("h", 40), (48, "w"))
    streamed = 0
    for seed in range(12):
        model = partial(open_network, sides=sides[seed % 3])
        found = program(seed, ("portable", "arm64")[seed % 2], 1 + seed % 4, model)
        for h, w in ((1, 1), (2, 5), (3, 2), (7, 9), (16, 4), (33, 40), (70, 8)):
            values = {s.name: {"h": h, "w": w}[s.name] for s in found.symbols}
            if accepts(found, values):
                streamed += check(sized(found, values))
    assert streamed > 30


def test_generated_kernels_run_in_bands() -> None:
    found = [program(seed, "arm64", 1 + seed % 4, chains) for seed in range(12)]
    assert sum(map(check, found)) > len(found) // 2
    banded = [
        kernel
        for one in found
        for call in one.calls
        if isinstance(call, Call) and call.rows is not None
        for kernel in [one.kernels[call.kernel]]
        if not kernel.template
    ]
    assert len(banded) > len(found) // 3


@pytest.mark.parametrize("seed", range(10))
def test_an_arena_is_never_larger(seed: int) -> None:
    off, auto = (program(seed, "arm64", how).arena_bytes for how in ("off", "auto"))
    assert auto is not None and off is not None and auto <= off


def test_a_path_stays_in_the_image() -> None:
    path = Path(3, -4, 10)
    assert [path.at(t) for t in range(7)] == [0, 0, 2, 5, 8, 10, 10]
