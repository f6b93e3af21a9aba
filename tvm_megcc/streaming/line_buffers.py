"""A run of calls becomes a loop over bands of rows: its tensors become line buffers.

Every call gets the path of its band from what reads its result: in iteration t the last call
computes rows t * band to (t + 1) * band, and each call before it so many that all its readers have
their windows. So no row is computed twice, and none before it is needed.

A line buffer holds the rows from the first that is still read to the last that has been computed.
Where nothing stays from one iteration to the next, it lives between its writer and its last reader
only, and the planner gives its memory to others.

Of a batch each image is done after the one before, in iterations of its own: line buffers begin
anew, tensors that are read or written outside of the group have all images.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import lcm
from typing import cast

import numpy as np

from tvm_megcc.core import dtypes
from tvm_megcc.core.contents import Bytes
from tvm_megcc.core.program import (
    BandOperand,
    Call,
    Copy,
    End,
    Feed,
    Images,
    Location,
    Loop,
    Path,
    Port,
    Program,
    Requirement,
    Rows,
    Slide,
    Step,
    Store,
    Tensor,
    Weight,
    operands_of,
    with_operands,
)
from tvm_megcc.dims import Size, bounds, ceildiv, fixed, is_static, maximum, minimum, quotient
from tvm_megcc.streaming.global_bands import Sums
from tvm_megcc.streaming.over_input import Pair, Reader, Result, Source, best_pair
from tvm_megcc.streaming.row_rules import Extent, RowRule, Rules

#: Rows of an image whose height follows from the shapes, at most: the VM counts no further.
MOST_ROWS = 1 << 20


@dataclass(frozen=True, slots=True)
class Fed:
    """An input whose rows come in one after the other, and the storage of its line buffer.

    The planes of a planar image come in beside each other, each by rows.
    """

    port: Port
    storage: int
    planes: int = 1


def with_line_buffer(program: Program, port: Port, planes: int = 1) -> tuple[Program, Fed]:
    """The program with a storage of its own for what calls read of an input."""
    own = program.tensors[port.tensor].location
    storage = 1 + max(t.location.index for t in program.tensors if t.location.space == "arena")
    at = Location("arena", storage)
    tensors = [
        replace(t, location=replace(at, offset=t.location.offset))
        if k != port.tensor and (t.location.space, t.location.index) == (own.space, own.index)
        else t
        for k, t in enumerate(program.tensors)
    ]
    twin = len(tensors)
    tensors.append(replace(tensors[port.tensor], location=at))
    calls = tuple(
        with_operands(step, lambda t: twin if t == port.tensor else t) for step in program.calls
    )
    found = replace(program, tensors=tuple(tensors), calls=calls)
    return found, Fed(port, storage, planes)


@dataclass(frozen=True, slots=True)
class Group:
    """A run of calls ``[first, last)`` that can be done by bands, with their rules."""

    program: Program
    first: int
    last: int
    rules: tuple[RowRule, ...]
    single: frozenset[int]  # storages whose tensors are all views of all of it
    fed: Fed | None = None
    any_size: bool = False  # the loop has to be one for other sizes, too

    @property
    def images(self) -> int:
        """Images of the batch."""
        return self.rules[0].images

    def calls(self) -> list[tuple[Call, RowRule]]:
        steps = self.program.calls[self.first : self.last]
        return list(zip(cast(Sequence[Call], steps), self.rules, strict=True))


@dataclass(slots=True)
class _Image:
    """A storage of the group: its rows, who reads them, and their path."""

    tensor: int
    height: Size
    row_bytes: Size
    is_whole: bool  # read outside of the group
    writer: int | None
    step: int = 0
    iterations: Size = 0  # of the loop, for an image
    made: int = 0  # the first row that is not there when iteration 0 begins
    base: int = 0
    readers: list[tuple[int, bool]] = field(default_factory=list)  # call, whether by its window

    @property
    def rows(self) -> Size:
        """Rows that the tensor has room for."""
        most = self.height if self.is_whole else self.made + self.step - self.base
        return minimum(self.height, most)

    @property
    def bytes(self) -> int:
        """Bytes of the whole image."""
        return fixed(self.height * self.row_bytes)

    @property
    def is_handed_on(self) -> bool:
        """Whether the next iteration finds rows of this one in the line buffer."""
        return not self.is_whole and (self.made > self.base or self._has_room_for_all)

    @property
    def _has_room_for_all(self) -> bool:
        return self.rows == self.height and bounds(self.iterations)[1] > 1

    @property
    def moves(self) -> bool:
        """Whether rows that are handed on are not where the next iteration wants them."""
        return self.is_handed_on and self.rows != self.height

    def base_path(self) -> Path:
        """The row at the tensor's first byte."""
        whole = self.is_whole or self._has_room_for_all
        return Path(0, 0, self.height) if whole else Path(self.step, self.base, self.height)

    def made_path(self) -> Path:
        return Path(self.step, self.made, self.height)


def group_of(
    program: Program, first: int, last: int, rules: Rules, fed: Fed | None = None
) -> Group | None:
    """The run of calls as a group, None where one of them cannot be done by bands."""
    steps = program.calls[first:last]
    if not all(isinstance(step, Call) and step.rows is None for step in steps):
        return None
    calls = cast(Sequence[Call], steps)
    extents: dict[int, Extent] = {}
    for call in calls:  # images whose rows an operator says itself
        rule = rules.of(program, call, None)
        if rule is not None and not _agree(rules.images(program, call, rule), extents):
            return None
    found: list[RowRule] = []
    for call in calls:
        rule = rules.of(program, call, rules.extent(program, call, extents))
        if rule is None or not _agree(rules.images(program, call, rule), extents):
            return None
        found.append(rule)
    if len({rule.images for rule in found}) > 1:
        return None
    if any(rule.sums is not None for rule in found[:-1]):
        return None  # what reads such a result needs it complete
    return Group(program, first, last, tuple(found), rules.single(program), fed, rules.any_size)


def _agree(images: tuple[tuple[int, Extent], ...] | None, extents: dict[int, Extent]) -> bool:
    """Whether these extents are those that other calls said of the storages; notes them."""
    return images is not None and all(extents.setdefault(s, e) == e for s, e in images)


def looped(group: Group, band: int) -> Program | None:
    """The program with the group as a loop of `band` rows of its last result an iteration.

    A band is enlarged to a multiple of what tiles of kernels and factors of resizing ask for. None
    where the calls do not move on alike, or the loop would have one iteration.
    """
    found = _by_bands(group, band)
    return None if found is None else _Writer(group, *found).program()


def has_bands(group: Group, band: int) -> bool:
    """Whether `looped` gives a program."""
    return _by_bands(group, band) is not None


def live_bytes(group: Group, band: int, uses: Mapping[int, tuple[int, int, int]]) -> int | None:
    """Bytes that are live in the loop of `looped`, before others of its storages are shared.

    For a program without symbols. `uses` are the first and last step, and the bytes, of each
    storage that counts. None where there is no such loop.
    """
    found = _by_bands(group, band)
    if found is None:
        return None
    images, count = found
    inner = {s: image for s, image in images.items() if not image.is_whole}
    held = sum(
        size
        for storage, (first, last, size) in uses.items()
        if storage not in inner and first < group.last and last >= group.first
    )
    held += sum(_bytes(image) for image in inner.values() if image.is_handed_on)
    most = 0
    for call, _ in group.calls():
        places = (group.program.tensors[t].location for t in call.operands)
        storages = {at.index for at in places if at.space == "arena"} & inner.keys()
        passing = (inner[s] for s in storages if not inner[s].is_handed_on)
        most = max(most, sum(map(_bytes, passing)))
    over = _over(group, images, count)
    if over is not None:
        ends = (group.program.tensors[t].location.index for t in (over.source, over.result))
        held -= over.saved if all(storage in uses for storage in ends) else 0
    return held + most


def _bytes(image: _Image) -> int:
    return fixed(image.rows * image.row_bytes)


def _by_bands(group: Group, band: int) -> tuple[dict[int, _Image], Size] | None:
    """The group's images with their paths, and the iterations of one; None where there is no loop.

    A loop has at least two iterations, and no more, with no more rows, than the VM counts.
    """
    images = _images(group)
    if images is None:
        return None
    pace = _pace(group, images)
    inner = {s for s, image in images.items() if not image.is_whole}
    if pace is None or not inner <= group.single:
        return None
    _set_paths(group, images, -(-band // pace) * pace)
    count = _begun(group, images)
    for image in images.values():
        image.iterations = count
    least = max(bounds(count)[0], *(bounds(image.height)[0] for image in images.values()))
    if least * group.images > MOST_ROWS or bounds(count * group.images)[1] < 2:
        return None
    return images, count


def _images(group: Group) -> dict[int, _Image] | None:
    """The storages whose rows the group's calls read and write."""
    program = group.program
    outside = _used(group)
    fed = None if group.fed is None else group.fed.storage
    if fed in outside:
        return None
    images: dict[int, _Image] = {}
    for number, (call, rule) in enumerate(group.calls()):
        for k, tensor in enumerate(call.operands):
            held = program.tensors[tensor]
            at = held.location
            if at.space != "arena":
                continue
            is_output = k == len(call.reads)
            if is_output:
                if at.index in images:
                    return None  # written twice, or over what was read
                height, writer = rule.height, number
            elif k in rule.windowed or k in rule.alike:
                height, writer = rule.window.height if k in rule.windowed else rule.height, None
            else:
                if at.index == fed or at.index in images and images[at.index].writer is not None:
                    return None  # read whole, and computed by the group or coming in by rows
                continue
            if at.index not in images:
                whole = at.index != fed and (writer is None or at.index in outside)
                whole = whole or is_output and rule.sums is not None
                row = 0 if is_output and rule.sums else _row_bytes(held, height * group.images)
                images[at.index] = _Image(tensor, height, row, whole, writer)
            if not is_output:
                images[at.index].readers.append((number, k in rule.windowed))
    return None if fed is not None and fed not in images else images


def _row_bytes(tensor: Tensor, height: Size) -> Size:
    row = quotient(tensor.nbytes, height)
    assert row is not None, "Rules.images has seen that rows are whole bytes"
    return row


def _fed(group: Group, images: Mapping[int, _Image]) -> list[_Image]:
    """The image whose rows come in, if there is one."""
    return [] if group.fed is None else [images[group.fed.storage]]


def _used(group: Group, before: bool = True) -> set[int]:
    """Storages that steps behind the group use, those before it with `before`, and ports."""
    program = group.program
    steps = (*program.calls[: group.first if before else 0], *program.calls[group.last :])
    used = {t for step in steps for t in operands_of(step)}
    used |= {p.tensor for p in (*program.inputs, *program.outputs)}
    places = (program.tensors[t].location for t in used)
    return {at.index for at in places if at.space == "arena"}


def _output(group: Group, images: Mapping[int, _Image], number: int) -> _Image:
    call = group.calls()[number][0]
    return images[group.program.tensors[call.operands[-1]].location.index]


def _pace(group: Group, images: Mapping[int, _Image]) -> int | None:
    """Rows of the last result of which a band is a multiple; None where paces do not meet."""
    calls = group.calls()
    ratios: dict[int, Fraction] = {}
    pace = 1
    for number in reversed(range(len(calls))):
        image = _output(group, images, number)
        if not image.readers and number != len(calls) - 1:
            return None
        ratio = _pace_of(group, image, ratios)
        if ratio is None:
            return None
        ratios[number] = ratio
        pace = lcm(pace, (ratio / group.rules[number].tile).denominator)
    for image in _fed(group, images):
        ratio = _pace_of(group, image, ratios)
        if ratio is None:
            return None
        pace = lcm(pace, ratio.denominator)
    return pace


def _pace_of(group: Group, image: _Image, ratios: Mapping[int, Fraction]) -> Fraction | None:
    """Rows of an image for a row of the last result; None where its readers do not agree."""
    steps = {ratios[n] * _ratio(group.rules[n], windowed) for n, windowed in image.readers}
    ratio = steps.pop() if steps else Fraction(1)
    return None if steps else ratio


def _ratio(rule: RowRule, windowed: bool) -> Fraction:
    """Rows of an operand for a row of the result."""
    return Fraction(rule.window.stride, rule.window.up) if windowed else Fraction(1)


def _set_paths(group: Group, images: dict[int, _Image], band: int) -> None:
    """Give each image its step and paths, from the last call back to the first."""
    for number in reversed(range(len(group.rules))):
        image, tile = _output(group, images, number), group.rules[number].tile
        if image.readers:
            _follow_readers(group, images, image)
        else:
            image.step = band
        image.made = -(-image.made // tile) * tile
    for image in _fed(group, images):
        _follow_readers(group, images, image)


def _follow_readers(group: Group, images: dict[int, _Image], image: _Image) -> None:
    """Path of an image: as far as each of its readers looks, from where the first one begins."""
    ends: list[int] = []
    begins: list[int] = []
    for number, windowed in image.readers:
        rule, out = group.rules[number], _output(group, images, number)
        if not windowed:
            image.step = out.step
            ends.append(out.made)
            begins.append(out.made)
            continue
        window = rule.window
        image.step = out.step * window.stride // window.up
        last = out.made + out.step - 1
        end = last * window.stride // window.up - window.pad + window.reach
        ends.append(end - image.step)
        begins.append(out.made * window.stride // window.up - window.pad)
    image.base = min(begins)
    image.made = max(*ends, image.base)


def _begun(group: Group, images: dict[int, _Image]) -> Size:
    """Number the iterations from the first that computes a row; return how many there are."""
    outputs = [_output(group, images, number) for number in range(len(group.rules))]
    # In iteration t rows up to step * (t + 1) + made are there.
    computed = [*_fed(group, images), *outputs]
    first = min(-((i.made + i.step - 1) // i.step) for i in computed)
    for image in computed:
        image.made += image.step * first
        image.base += image.step * first
    needed = [i for i in outputs if i.is_whole]
    return maximum(*(ceildiv(i.height - i.made, i.step) for i in needed))


def _over(group: Group, images: Mapping[int, _Image], count: Size) -> Pair | None:
    """The result of the group that may lie over an image that nothing reads behind it.

    There is one where sizes are numbers, and of one image only.
    """
    sizes = (count, *(size for i in images.values() for size in (i.height, i.row_bytes)))
    if group.any_size or group.images > 1 or not is_static(sizes):
        return None
    used = _used(group, before=False)
    whole = {s: image for s, image in images.items() if image.is_whole}
    sources = [
        Source(image.tensor, image.bytes, fixed(image.row_bytes), _readers(group, images, image))
        for storage, image in whole.items()
        if image.writer is None and storage not in used
    ]
    results = [
        Result(i.tensor, i.bytes, fixed(i.row_bytes), i.writer, i.made_path())
        for i in whole.values()
        if i.writer is not None and group.rules[i.writer].sums is None
    ]
    return best_pair(results, sources, fixed(count)) if sources else None


def _readers(group: Group, images: Mapping[int, _Image], image: _Image) -> tuple[Reader, ...]:
    return tuple(
        Reader(
            number,
            _output(group, images, number).made_path(),
            group.rules[number].window if windowed else None,
        )
        for number, windowed in image.readers
    )


class _Writer:
    """Writes the program with the loop in place of the group."""

    def __init__(self, group: Group, images: Mapping[int, _Image], count: Size) -> None:
        self.group, self.images, self.count = group, images, count
        several = group.images > 1  # then all sizes are numbers
        self.batch = Images(group.images, fixed(count)) if several else Images()
        self.tensors = list(group.program.tensors)
        self.weights = list(group.program.weights)
        self.kernels = list(group.program.kernels)
        self.storages = 1 + max(
            (t.location.index for t in self.tensors if t.location.space == "arena"), default=-1
        )
        self._shrink()

    def program(self) -> Program:
        program, group = self.group.program, self.group
        name = program.calls[group.last - 1].name
        counter = self._tensor("rows.counter", "i64", (), Location("arena", self._storage()))
        steps: list[Step] = [Copy(counter, self._number(0), name=name)]
        if isinstance(self.count, int):
            limit = self._number(self.count * group.images)
        else:
            limit = self._tensor("rows.count", "i64", (), Location("arena", self._storage()))
            steps.append(Store(limit, self.count, name))
        steps.append(replace(self._over(), counter=counter, limit=limit, name=name))
        if group.fed is not None:
            port, (image,) = group.fed.port, _fed(group, self.images)
            steps += self._slide(image, port.name)
            paths, planes = (image.base_path(), image.made_path()), group.fed.planes
            row_bytes = fixed(image.row_bytes) // planes
            feed = Feed(image.tensor, port.tensor, row_bytes, *paths, port.name, planes, self.batch)
            steps.append(feed)
        for number, (call, rule) in enumerate(group.calls()):
            image = _output(group, self.images, number)
            steps += self._slide(image, call.name)
            steps.append(self._banded(call, rule, image))
        steps.append(End(name))
        calls = (*program.calls[: group.first], *steps, *program.calls[group.last :])
        return replace(
            program,
            calls=calls,
            tensors=tuple(self.tensors),
            weights=tuple(self.weights),
            kernels=tuple(self.kernels),
            requirements=(*program.requirements, *self._requirements()),
        )

    def _requirements(self) -> list[Requirement]:
        """Heights that the VM can count: a condition only where nothing bounds them."""
        heights = {image.height: image.tensor for image in self.images.values()}
        return [
            Requirement(height, minimum(height, MOST_ROWS), self.tensors[tensor].name)
            for height, tensor in heights.items()
            if bounds(height)[1] > MOST_ROWS
        ]

    def _over(self) -> Loop:
        """A loop that says which of its results may lie over which image that it reads."""
        found = _over(self.group, self.images, self.count)
        if found is None:
            return Loop(-1)
        return Loop(-1, over=(found.source, found.result), overlap=found.lead)

    def _slide(self, image: _Image, name: str) -> list[Step]:
        """The step that moves rows of an image which stay from one iteration to the next."""
        if not image.moves:
            return []
        paths = image.base_path(), image.made_path()
        return [Slide(image.tensor, image.row_bytes, *paths, name, self.batch)]

    def _banded(self, call: Call, rule: RowRule, image: _Image) -> Call:
        at = {k: self.tensors[t].location for k, t in enumerate(call.operands)}
        operands = tuple(
            BandOperand(
                k,
                self._row_bytes(call.operands[k], k in rule.windowed, rule),
                self._base(at[k]),
                k in rule.windowed,
                self._is_whole(at[k]),
            )
            for k in (*rule.windowed, *rule.alike, *rule.outputs(call))
        )
        rows = Rows(
            image.made_path(),
            rule.window,
            rule.units,
            rule.tile,
            rule.block,
            rule.columns,
            operands,
            rule.patches,
            self.batch,
            self.group.program.tensors[call.operands[-1]].shape,
        )
        self._shrink_workspace(call, rule, image)
        constants = dict(rule.constants)
        attrs = tuple(constants.get(k, size) for k, size in enumerate(call.attrs))
        call = replace(call, attrs=attrs) if rule.sums is None else self._summed(call, rule.sums)
        return replace(call, rows=rows, overlap=None)

    def _summed(self, call: Call, sums: Sums) -> Call:
        """The call that adds a band to the result of all rows."""
        if sums.kernel not in self.kernels:
            self.kernels.append(sums.kernel)
        name = f"{self.tensors[call.operands[-1]].name}.sums"
        so_far = self._tensor(name, sums.dtype, sums.shape, Location("arena", self._storage()))
        return replace(
            call,
            kernel=self.kernels.index(sums.kernel),
            operands=(*call.reads, so_far, so_far, *call.writes),
            n_outputs=2,
            attrs=sums.attrs,
        )

    def _storage(self) -> int:
        """The number of a storage that no tensor has."""
        self.storages += 1
        return self.storages - 1

    def _shrink_workspace(self, call: Call, rule: RowRule, image: _Image) -> None:
        """Give the call's workspace the bytes that a band needs."""
        if call.workspace is None or rule.workspace is None:
            return
        most = image.step
        if isinstance(image.height, int):
            most = min(most, image.height)
        window = rule.window
        read = (most - 1) * window.stride // window.up + window.reach
        if isinstance(window.height, int):
            read = min(read, window.height)
        tensor = self.tensors[call.workspace]
        size = maximum(*(rule.workspace(rows, read) for rows in range(1, most + 1)))
        if not is_static((size, tensor.nbytes)) or size < tensor.nbytes:
            self.tensors[call.workspace] = replace(tensor, shape=(size,))

    def _row_bytes(self, tensor: int, windowed: bool, rule: RowRule) -> Size:
        height = rule.window.height if windowed else rule.height
        return _row_bytes(self.group.program.tensors[tensor], height * rule.images)

    def _base(self, at: Location) -> Path:
        image = self.images.get(at.index) if at.space == "arena" else None
        return Path(0, 0, 0) if image is None else image.base_path()

    def _is_whole(self, at: Location) -> bool:
        image = self.images.get(at.index) if at.space == "arena" else None
        return image is None or image.is_whole

    def _shrink(self) -> None:
        """Give every tensor of a line buffer the buffer's rows."""
        buffers = {s: i for s, i in self.images.items() if not i.is_whole}
        for number, tensor in enumerate(self.tensors):
            if tensor.location.space == "arena" and tensor.location.index in buffers:
                image = buffers[tensor.location.index]
                elements = quotient(image.row_bytes, dtypes.nbytes(tensor.dtype, 1))
                assert elements is not None, "elements of less than a byte have no rows"
                shape = (image.rows, elements)
                self.tensors[number] = replace(tensor, shape=shape)

    def _tensor(self, name: str, dtype: str, shape: tuple[int, ...], at: Location) -> int:
        self.tensors.append(Tensor(name, dtype, shape, at))
        return len(self.tensors) - 1

    def _number(self, value: int) -> int:
        """A constant tensor with this number."""
        data: Bytes = np.array(value, np.int64).tobytes()
        same = (k for k, w in enumerate(self.weights) if w.data == data)
        index = next(same, len(self.weights))
        if index == len(self.weights):
            self.weights.append(Weight(f"rows.{value}", data))
        return self._tensor(f"rows.{value}", "i64", (), Location("weight", index))
