"""Instructions that bands of rows take beyond those of whole images, as an estimate.

Every band of a call has a share of the interpreter and of its kernel's beginning; line buffers are
moved; and rows that fill no tile of a kernel take more instructions than others. The figures were
counted under qemu: docs/memory-models.md compares what was estimated with what is executed.

Example
-------
>>> whole_cost(program)                                               # doctest: +SKIP
16300000
>>> extra_cost(streamed)                                              # doctest: +SKIP
90000
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from tvm_megcc.codegen_c.sources import kernel_operator
from tvm_megcc.core.program import Call, Program, Slide, Step, StreamedGroup, streamed_groups
from tvm_megcc.dims import fixed
from tvm_megcc.kernels.contract import contract

#: Machine -> executed instructions for one operation of ``Call.cost``; the longest name that a
#: machine's begins with counts.
_PER_OPERATION = {
    "": 2.0,
    "arm64": 0.2,
    "armv7": 0.3,
    "x86": 0.12,
    "cortexm": 4.0,
    "cortexm+dsp": 1.6,
    "cortexm+mve": 0.4,
}

#: Instructions of a band of a call, in the interpreter and before a kernel's first row.
_BAND = 650

#: The same of each byte of the table of columns that resizing makes anew for each band.
_TABLE = 1.9

#: Instructions of moving a line buffer, and of each byte.
_SLIDE, _BYTE = 60, 0.15

#: The same of each byte on a microcontroller, which moves a word at a time.
_BYTE_OF_WORDS = 0.7

#: Rows of pixels in a kernel's tile, and how much more a row takes that is in no full tile.
_TILE, _LEFT_OVER = 4, 0.5
_TILE_OF_WORDS, _LEFT_OVER_OF_WORDS = 2, 0.35

#: How much more a row of a depthwise convolution takes that is not beside others.
_ALONE = 0.15


def whole_cost(program: Program) -> float:
    """Instructions of a program's calls, each over its whole image."""
    return sum(_cost(program, call) for call in program.calls if isinstance(call, Call))


def extra_cost(program: Program) -> float:
    """Instructions that a program's bands take beyond those of whole images."""
    return sum(_extra(program, group) for group in streamed_groups(program))


def _cost(program: Program, call: Call) -> float:
    return cast(int, call.work) * call.cost * _per_operation(program.arch)


def _per_operation(arch: str) -> float:
    names = (name for name in _PER_OPERATION if arch.startswith(name))
    return _PER_OPERATION[max(names, key=len)]


def _extra(program: Program, group: StreamedGroup) -> float:
    steps = program.calls[group.first_step : group.last_step]
    slides = sum(isinstance(step, Slide) for step in steps)
    iterations, moved_bytes = fixed(group.iterations), fixed(group.moved_bytes)
    byte = _BYTE_OF_WORDS if program.arch.startswith("cortexm") else _BYTE
    moved = slides * iterations * _SLIDE + moved_bytes * byte
    calls = zip(_calls(steps), group.bands, strict=True)
    return moved + sum(
        fixed(bands) * _begun(program, call) + _left_over(program, call) for call, bands in calls
    )


def _begun(program: Program, call: Call) -> float:
    """Instructions of a band of a call before its first row."""
    template = program.kernels[call.kernel].template
    if call.workspace is None or not template or kernel_operator(template) != "resize2d":
        return _BAND
    return _BAND + _TABLE * cast(int, program.tensors[call.workspace].nbytes)


def _calls(steps: tuple[Step, ...]) -> Iterator[Call]:
    return (step for step in steps if isinstance(step, Call))


def _left_over(program: Program, call: Call) -> float:
    """More instructions of rows of a band that fill no tile of the call's kernel."""
    rows, template = call.rows, program.kernels[call.kernel].template
    if rows is None or not template:
        return 0
    words = program.arch.startswith("cortexm")
    step = min(rows.output.step, fixed(rows.output.height))
    if template.startswith("dw"):
        is_alone = step < _TILE and not words
        return _ALONE * _cost(program, call) if is_alone else 0
    op = kernel_operator(template)
    if op not in ("conv2d", "qconv2d", "matmul", "qmatmul"):
        return 0
    tile, more = (_TILE_OF_WORDS, _LEFT_OVER_OF_WORDS) if words else (_TILE, _LEFT_OVER)
    units = fixed(rows.units)
    pixels = step * _pixels(op, call) if rows.block == 0 else -(-step // rows.tile) * units
    return pixels % tile / pixels * more * _cost(program, call)


def _pixels(op: str, call: Call) -> int:
    """Pixels of a row of a convolution's result; of a product each row is one."""
    names = contract(op).attributes
    return cast(int, call.attrs[names.index("ow")]) if "ow" in names else 1
