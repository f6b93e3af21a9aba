"""Facts of the loops over bands of rows in a program: calls, line buffers, bytes that are moved.

Enters: a program, planned or not. Leaves: a `StreamedGroup` for each of these loops.

Example
-------
>>> streamed_groups(program)                                          # doctest: +SKIP
(StreamedGroup(first_call=0, last_call=7, ..., band_rows=1, iterations=14, ...),)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tvm_megcc.core.program.bands import Rows
from tvm_megcc.core.program.liveness import loops
from tvm_megcc.core.program.program import Program
from tvm_megcc.core.program.steps import Call, Feed, Loop, Slide, Step, Store, ends_of
from tvm_megcc.dims import Size, is_static, minimum


@dataclass(frozen=True, slots=True)
class LineBuffer:
    """A result or an incoming image: memory holds `rows` rows at a time, of `height`.

    The height of a batch is that of all its images.
    """

    name: str
    rows: Size
    height: Size
    bytes: Size  # of the rows that memory holds


@dataclass(frozen=True, slots=True)
class StreamedGroup:
    """A loop over bands of rows.

    Attributes
    ----------
    first_call, last_call : int
        Numbers of the first and last call in the loop, as profiles count calls.
    first_step, last_step : int
        The `Loop` and its `End`.
    band_rows : int
        Rows of the last call's result that an iteration computes.
    iterations : Size
    moved_bytes : Size
        Bytes that all `Slide` steps of a run move; where shapes can change, at most.
    bands : tuple of Size
        For each call, the iterations in which it computes a row.
    buffers : tuple of LineBuffer
        In the order of their writers. Results that other steps read are whole, and not here.
    """

    first_call: int
    last_call: int
    first_step: int
    last_step: int
    band_rows: int
    iterations: Size
    moved_bytes: Size
    bands: tuple[Size, ...]
    buffers: tuple[LineBuffer, ...]


def streamed_groups(program: Program) -> tuple[StreamedGroup, ...]:
    """The loops over bands of rows, in the order of the program."""
    return tuple(
        found
        for first, last in sorted(loops(program))
        if (found := _group(program, first, last)) is not None
    )


def kept_rows(program: Program) -> dict[int, tuple[Size, Size]]:
    """For each tensor in a line buffer, views too: rows that memory holds, rows of the image."""
    found: dict[int, tuple[Size, Size]] = {}
    for call in program.calls:
        if not isinstance(call, Call) or call.rows is None:
            continue
        for band in call.rows.operands:
            image = call.rows.window if band.is_input else call.rows.output
            number = call.operands[band.operand]
            tensor = program.tensors[number]
            height = image.height * call.rows.images.count
            if tensor.nbytes != height * band.row_bytes:
                found[number] = tensor.shape[0], height
    return found


def _group(program: Program, first: int, last: int) -> StreamedGroup | None:
    """The loop between two steps as a group; None where it is a loop of the model."""
    steps = program.calls[first + 1 : last]
    calls = [step for step in steps if isinstance(step, Call)]
    bands = [call.rows for call in calls if call.rows is not None]
    if not bands or len(bands) < len(calls):
        return None
    count = _iterations(program, first)
    before = sum(isinstance(step, Call) for step in program.calls[:first])
    slides = (step for step in steps if isinstance(step, Slide))
    return StreamedGroup(
        first_call=before,
        last_call=before + len(calls) - 1,
        first_step=first,
        last_step=last,
        band_rows=bands[-1].output.step,
        iterations=count,
        moved_bytes=sum(_moved(step, count) for step in slides),
        bands=tuple(_moving(rows, count) for rows in bands),
        buffers=tuple(_buffers(program, steps)),
    )


def _iterations(program: Program, first: int) -> Size:
    loop = program.calls[first]
    assert isinstance(loop, Loop) and loop.limit is not None
    stores = (step for step in program.calls[:first] if isinstance(step, Store))
    size = next((step.size for step in stores if step.target == loop.limit), None)
    if size is not None:
        return size
    at = program.tensors[loop.limit].location
    return int.from_bytes(bytes(program.weights[at.index].data), "little", signed=True)


def _moving(rows: Rows, count: Size) -> Size:
    """Iterations in which a call computes a row."""
    images = rows.images
    return images.count * rows.output.moves(images.period or count)


def _moved(slide: Slide, count: Size) -> Size:
    """Bytes that a step moves in a run, as runtime/src/megcc_op_slide.c does."""
    base, made, images = slide.base, slide.made, slide.images
    each = images.period or count
    if not isinstance(each, int) or not is_static((base.height, slide.row_bytes)):
        return minimum(made.first - base.first, base.height) * (count - 1) * slide.row_bytes
    rows: Size = 0
    for t in range(1, each):
        begin = base.at(t)
        if begin > base.at(t - 1):
            rows += max(0, made.at(t) - begin)
    return images.count * rows * slide.row_bytes


def _buffers(program: Program, steps: Sequence[Step]) -> Iterator[LineBuffer]:
    kept = kept_rows(program)
    for step in steps:
        if isinstance(step, Call | Feed) and (number := ends_of(step)[1][-1]) in kept:
            tensor = program.tensors[number]
            yield LineBuffer(tensor.name, *kept[number], tensor.nbytes)
