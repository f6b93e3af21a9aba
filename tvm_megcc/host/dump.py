"""Outputs of every call of a package, for looking into a model.

Enters: a package, an architecture, inputs. Leaves: `Record`s in the order in which the calls ran,
each read right after its call, as a later one may reuse the memory. Of a call in bands of rows they
are put together. The package itself knows nothing of it: its runner is built once more with a file
that listens to the profile hook.

A record has the name of the ONNX value that its call computes, as far as the compiler kept it:
what is computed within a fused call is in no memory, and an operator that becomes several calls
names the last. Images are as the calls leave them, often with their channels last.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from tvm_megcc.core import dtypes
from tvm_megcc.dims import json_at
from tvm_megcc.errors import InputError
from tvm_megcc.host import build_cache, serving, toolchain
from tvm_megcc.host.package import Package, Port, shapes_of

#: The list of a dump's calls, and its first line.
CALLS = "calls.txt"
HEAD = "calls of a package of tvm_megcc: number, array, name, kernel"


@dataclass(frozen=True, slots=True)
class Record:
    """One output of one run of a call."""

    call: int  # as profiles count the calls
    name: str  # of the model's value, or what the compiler calls it
    kernel: str  # link name
    array: np.ndarray


def check_package(path: str, option: str) -> None:
    """Refuse a library, whose calls nobody can look at."""
    if Path(path).suffix == ".so" and not Path(path).is_dir():
        raise InputError(f"{option}: the calls of a library are hidden; give a package (-f c)")


@dataclass(frozen=True, slots=True)
class Recorder:
    """A package that is built to record the outputs of its calls."""

    package: Package
    arch: str
    program: Path

    def check_shapes(self, ports: Sequence[Port]) -> None:
        """Refuse inputs of these fixed shapes that the model does not take, without making any."""
        toolchain.check_shapes(self.program, self.arch, shapes_of(ports), self.package.manifest)

    def records(
        self, inputs: Mapping[str, np.ndarray], seed: int = 0
    ) -> tuple[list[Record], dict[str, np.ndarray]]:
        """Run once; what the calls have written, and the outputs.

        ``seed`` is that of random numbers that the model draws.
        """
        with tempfile.TemporaryDirectory(prefix="tvm_megcc.") as folder:
            path = Path(folder, "dump")
            done = toolchain.run_package(
                self.program,
                self.arch,
                inputs,
                self.package.manifest,
                seed=seed,
                environment={"MEGCC_DUMP": str(path)},
            )
            entry = self.package.manifest["per_arch"][self.arch]
            programs = entry.get("functions", [entry])
            found = list(_whole(_read(path.read_bytes()), programs, self._sizes(inputs)))
            return found, done.outputs

    def _sizes(self, inputs: Mapping[str, np.ndarray]) -> dict[str, int]:
        """Sizes of the dynamic dims."""
        ports = [p for p in self.package.inputs if any(isinstance(dim, str) for dim in p.shape)]
        return serving.dims_of(ports, {port.name: inputs[port.name].shape for port in ports})


@contextmanager
def recorder(package: Package, arch: str) -> Iterator[Recorder]:
    """Build a package so that it records its calls.

    Raises MegccError if a tool is missing or fails.
    """
    flags, sources = toolchain.hooks("megcc_dump")
    with build_cache.built(package, arch, flags=flags, sources=sources) as program:
        yield Recorder(package, arch, program)


@dataclass(frozen=True, slots=True)
class _Written:
    """What a call has written, or a band of it."""

    function: int  # of the package's programs
    call: int
    name: str
    kernel: str
    dtype: str
    shape: tuple[int, ...]
    data: bytes

    def record(self, shape: Sequence[int], data: bytes) -> Record:
        array = dtypes.unpacked(data, self.dtype, prod(shape)).reshape(shape)
        return Record(self.call, self.name, self.kernel, array)


def _read(data: bytes) -> Iterator[_Written]:
    at = 0
    while at < len(data):
        end = data.index(b"\n", at)
        function, call, _, dtype, rank, *rest = data[at:end].decode().split(" ")
        shape = tuple(int(dim) for dim in rest[: int(rank)])
        name_end = data.index(b"\0", end)
        kernel_end = data.index(b"\0", name_end + 1)
        name, kernel = data[end + 1 : name_end], data[name_end + 1 : kernel_end]
        at = kernel_end + 1 + int(rest[int(rank)])
        texts = name.decode(), kernel.decode(), dtype
        yield _Written(int(function), int(call), *texts, shape, data[kernel_end + 1 : at])


def _whole(
    found: Iterable[_Written], programs: Sequence[Mapping[str, Any]], sizes: Mapping[str, int]
) -> Iterator[Record]:
    """The records, with the bands of each call in one: its rows come one after the other.

    The calls of a loop over bands are in the order of their numbers, as if each ran once.
    """
    for is_band, some in groupby(found, lambda one: _dims(one, programs, sizes) is not None):
        if not is_band:
            yield from (one.record(one.shape, one.data) for one in some)
            continue
        done: list[Record] = []
        bands: dict[int, list[bytes]] = {}
        for one in some:
            shape = _dims(one, programs, sizes)
            assert shape is not None, "grouped by it"
            data = bands.setdefault(one.call, [])
            data.append(one.data)
            if sum(map(len, data)) == dtypes.nbytes(one.dtype, prod(shape)):
                done.append(one.record(shape, b"".join(bands.pop(one.call))))
        yield from sorted(done, key=lambda record: record.call)


def _dims(
    one: _Written, programs: Sequence[Mapping[str, Any]], sizes: Mapping[str, int]
) -> list[int] | None:
    """Dims of the whole result of a call in bands of rows; None of another call."""
    whole = programs[one.function]["graph"]["calls"][one.call].get("whole")
    return None if whole is None else [json_at(dim, sizes) for dim in whole]


def by_name(found: Iterable[Record]) -> dict[str, np.ndarray]:
    """The arrays by name; a name's further ones, as of a loop's iterations, end in ``#2``, ..."""
    arrays: dict[str, np.ndarray] = {}
    for record in found:
        name, count = record.name or f"call {record.call}", 1
        key = name
        while key in arrays:
            count += 1
            key = f"{name}#{count}"
        arrays[key] = record.array
    return arrays


def is_dump(folder: Path) -> bool:
    """Whether a folder holds a dump of ours, which may be replaced by a newer one."""
    try:
        return (folder / CALLS).read_text(encoding="utf-8").startswith(HEAD)
    except (OSError, ValueError):
        return False
