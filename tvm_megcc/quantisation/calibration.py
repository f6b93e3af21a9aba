"""Samples of a model's inputs, read one at a time and checked.

Enters: a ``.npz`` with a leading axis over the samples, or a directory of one ``.npz`` per sample.
Leaves: `Samples`, that can be gone through as often as need be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from tvm_megcc.errors import InputError
from tvm_megcc.host.arrays import Arrays, names_of_npz, read_npz


@dataclass(frozen=True, slots=True)
class Port:
    """An input of the model; a dynamic dim is its name, or ""."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int | str, ...]

    def takes(self, shape: Sequence[int]) -> bool:
        """Whether an array of this shape can be the input."""
        return len(shape) == len(self.shape) and all(
            isinstance(want, str) or want == size
            for want, size in zip(self.shape, shape, strict=True)
        )


def ports(model: onnx.ModelProto) -> tuple[Port, ...]:
    """The inputs that a caller gives."""
    constants = {tensor.name for tensor in model.graph.initializer}
    found = []
    for value in model.graph.input:
        if value.name in constants:
            continue
        kind = value.type.tensor_type
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type))
        dims = (d.dim_value if d.HasField("dim_value") else d.dim_param for d in kind.shape.dim)
        found.append(Port(value.name, dtype, tuple(dims)))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Samples:
    """The number of samples, and a function that reads the inputs of each."""

    count: int
    read: Callable[[int], Arrays]

    def __iter__(self) -> Iterator[Arrays]:
        return map(self.read, range(self.count))


def check(source: Path) -> None:
    """Raise InputError for a file or directory without samples, before a model is read."""
    if not source.is_dir():
        names_of_npz(source)
    elif not any(source.glob("*.npz")):
        raise InputError(f"'{source}' has no .npz file; give it one per sample")


def read(source: Path, inputs: Sequence[Port]) -> Samples:
    """The samples of a file or a directory.

    Raises InputError if there is none, or one does not fit an input by its name, shape or type; for
    a file of a directory, when it is read.
    """
    if source.is_dir():
        check(source)
        found = sorted(source.glob("*.npz"))
        return Samples(len(found), lambda k: _fitting(found[k], read_npz(found[k]), inputs))
    arrays = read_npz(source)
    _check_names(source, arrays, inputs)
    stacks = {port.name: _stacked(source, arrays[port.name], port) for port in inputs}
    counts = {name: len(stack) for name, stack in stacks.items()}
    if len(set(counts.values())) != 1:
        listed = ", ".join(f"'{name}' {count}" for name, count in counts.items())
        raise InputError(f"'{source}': the inputs have different numbers of samples ({listed})")
    (count,) = set(counts.values())
    if not count:
        raise InputError(f"'{source}' has no samples; calibration needs one at least")
    return Samples(
        count,
        lambda k: {n: _check_finite(source, k, n, stack[k]) for n, stack in stacks.items()},
    )


def _check_names(source: Path, arrays: Arrays, inputs: Sequence[Port]) -> None:
    listed = ", ".join(f"'{port.name}'" for port in inputs) or "none"
    for port in inputs:
        if port.name not in arrays:
            raise InputError(f"'{source}': no array '{port.name}'; the inputs are {listed}")
    for name in arrays:
        if name not in [port.name for port in inputs]:
            raise InputError(f"'{source}': '{name}' is no input; they are {listed}")
    if not inputs:
        raise InputError(f"'{source}': the model has no inputs, so there is nothing to calibrate")


def _check_type(source: Path, array: np.ndarray, port: Port) -> None:
    if array.dtype != port.dtype:
        raise InputError(
            f"'{source}': '{port.name}' has dtype {array.dtype}, the model takes {port.dtype};"
            f" convert it with astype('{port.dtype}')"
        )


def _check_finite(source: Path, sample: int, name: str, array: np.ndarray) -> np.ndarray:
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError(
            f"'{source}': sample {sample} of '{name}' has numbers that are not finite, which have"
            " no range; leave it out"
        )
    return array


def _stacked(source: Path, array: np.ndarray, port: Port) -> np.ndarray:
    """The samples of an input along the first axis, each as the model takes it."""
    _check_type(source, array, port)
    if array.ndim and port.takes(array.shape[1:]):
        return array
    # A batch of images is what people have: each is a batch of one.
    if array.ndim and port.takes((1, *array.shape[1:])):
        return array[:, None]
    raise InputError(
        f"'{source}': '{port.name}' has shape {list(array.shape)}, the model takes"
        f" {_said(port.shape)}; put the samples along an axis before these"
    )


def _fitting(source: Path, arrays: Arrays, inputs: Sequence[Port]) -> Arrays:
    """The arrays of one sample's file, checked against the inputs."""
    _check_names(source, arrays, inputs)
    for port in inputs:
        array = arrays[port.name]
        _check_type(source, array, port)
        if not port.takes(array.shape):
            raise InputError(
                f"'{source}': '{port.name}' has shape {list(array.shape)}, the model takes"
                f" {_said(port.shape)}; a file of a directory is one sample"
            )
        _check_finite(source, 0, port.name, array)
    return arrays


def _said(shape: Sequence[int | str]) -> str:
    return f"[{', '.join(str(dim) or '?' for dim in shape)}]"
