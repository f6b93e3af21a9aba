"""A planar image that comes in by rows: its line buffer has the lines of a row together.

A row of a planar image ``[n, c, h, w]`` is `c` lines, each in another plane. In the line buffer it
is in one piece, ``[n, h, c, w]``. So what reads the image is told: a transpose gets other dims, a
convolution of planes an attribute, and element by element the order does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import cast

from tvm_megcc.codegen_c.sources import kernel_operator
from tvm_megcc.core.program import Call, Program, Step, Tensor, operands_of
from tvm_megcc.kernels.contract import contract

#: Operators whose results have an element for each of the first input's, in the same order.
_ELEMENTWISE = frozenset(("binary", "cast", "dequantize", "lut", "qbinary", "quantize", "unary"))


def by_lines(program: Program, storage: int, shape: Sequence[int]) -> Program | None:
    """`program` for an image in `storage` whose lines of a row are together, None where it is not.

    `shape` is that of the planar image. Transposes and convolutions that read it, or what is
    computed of it element by element, give the same results as before.
    """
    writer = _Lines(program, storage, shape)
    calls = []
    for step in program.calls:
        found = writer.changed(step)
        if found is None:
            return None
        calls.append(found)
    ports = {program.tensors[p.tensor].location for p in program.outputs}
    if any(at.space == "arena" and at.index in writer.storages for at in ports):
        return None
    tensors = [writer.tensor(tensor) for tensor in program.tensors]
    if any(tensor is None for tensor in tensors):
        return None
    return replace(program, calls=tuple(calls), tensors=tuple(cast(Sequence[Tensor], tensors)))


class _Lines:
    """Storages in which the lines of a row are together, found call by call."""

    def __init__(self, program: Program, storage: int, shape: Sequence[int]) -> None:
        self.program, self.shape = program, tuple(shape)
        self.storages = {storage}

    def _is_in(self, tensor: int) -> bool:
        at = self.program.tensors[tensor].location
        return at.space == "arena" and at.index in self.storages

    def tensor(self, tensor: Tensor) -> Tensor | None:
        """The tensor with the dims that it has, None where it is another view of the image."""
        at = tensor.location
        if at.space != "arena" or at.index not in self.storages:
            return tensor
        if tensor.shape != self.shape:
            return None
        n, c, h, w = self.shape
        return replace(tensor, shape=(n, h, c, w))

    def changed(self, step: Step) -> Step | None:
        """The step as it reads such storages, None where it cannot."""
        if not any(self._is_in(tensor) for tensor in operands_of(step)):
            return step
        if not isinstance(step, Call) or any(self._is_in(tensor) for tensor in step.writes):
            return None
        template = self.program.kernels[step.kernel].template
        op = kernel_operator(template) if template else ""
        if op == "transpose":
            return self._transpose(step)
        if op == "conv2d_planes":
            attrs = _attributes(op, step)
            is_image = tuple(attrs[name] for name in ("n", "ic", "h", "w")) == self.shape
            return _with(op, step, {"lines": 1}) if is_image else None
        return self._elementwise(step) if op in _ELEMENTWISE else None

    def _elementwise(self, call: Call) -> Call | None:
        size = prod(self.shape)
        sizes = [prod(cast(Sequence[int], self.program.tensors[t].shape)) for t in call.operands]
        for tensor, elements in zip(call.reads, sizes, strict=False):
            if elements != 1 and not (self._is_in(tensor) and elements == size):
                return None
        made = self.program.tensors[call.operands[-1]].location
        if call.n_outputs != 1 or sizes[-1] != size or made.space != "arena":
            return None
        self.storages.add(made.index)
        return call

    def _transpose(self, call: Call) -> Call | None:
        """The call with the dims of lines, where its result has the image's rows."""
        attrs = _attributes("transpose", call)
        dims, axes = ([attrs[f"{name}{k}"] for k in range(8)] for name in "dp")
        if dims != [1] * 4 + list(self.shape):
            return None
        n, c, h, w = self.shape
        turned = [{5: 6, 6: 5}.get(axis, axis) for axis in axes]
        new = [1] * 4 + [n, h, c, w]
        if next((axis for axis in turned if new[axis] != 1 and axis != 4), None) != 5:
            return None  # rows would not stay rows
        changes = {f"d{k}": size for k, size in enumerate(new)}
        changes |= {f"p{k}": axis for k, axis in enumerate(turned)}
        return _with("transpose", call, changes)


def _with(op: str, call: Call, changes: Mapping[str, int]) -> Call:
    """The call with other attributes."""
    return replace(call, attrs=tuple((_attributes(op, call) | dict(changes)).values()))


def _attributes(op: str, call: Call) -> dict[str, int]:
    return dict(zip(contract(op).attributes, cast(Sequence[int], call.attrs), strict=True))
