"""Run what was compiled: a package (built first, and kept built) or a TVM library.

Enters: a path and an architecture. Leaves: a `Runnable`, that turns inputs into outputs and times.

Example
-------
>>> with opened("model_pkg") as runnable:                        # doctest: +SKIP
...     runnable.run({"x": x}).outputs["y"]
"""

from __future__ import annotations

import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tvm_megcc.core import dtypes
from tvm_megcc.core.machine import machine
from tvm_megcc.core.this_machine import host_arch
from tvm_megcc.errors import InputError
from tvm_megcc.host import build_cache, elf, toolchain
from tvm_megcc.host.package import Package, Port, shapes_of
from tvm_megcc.host.package import check as check_package
from tvm_megcc.host.package import opened as opened_package
from tvm_megcc.host.trace import read_trace
from tvm_megcc.target import resolve

Arrays = dict[str, np.ndarray]
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Result:
    """Outputs by name, in the model's order; ms of each timed run; the runner's trace of them."""

    outputs: Arrays
    times_ms: tuple[float, ...]
    trace: Mapping[str, Any] | None = None


class Runnable(ABC):
    """A compiled model that is ready to run.

    Attributes
    ----------
    arch : str
    emulated : bool
        Whether it runs under qemu: then its times say nothing.
    inputs, outputs : tuple of Port
    """

    arch: str
    emulated: bool
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]

    @abstractmethod
    def check_shapes(self, ports: Sequence[Port]) -> None:
        """Refuse inputs of these fixed shapes that the model does not take, without making any."""

    def run(
        self,
        inputs: Arrays,
        *,
        repeat: int = 1,
        warmup: int | None = None,
        profile: bool = False,
        seed: int = 0,
    ) -> Result:
        """Run `repeat` times, after `warmup` untimed runs: one if `repeat` is more than 1.

        ``seed`` is that of random numbers that the model draws.
        """
        warmup = int(repeat > 1) if warmup is None else warmup
        return self._run(inputs, repeat, warmup, profile, seed)

    @abstractmethod
    def _run(self, inputs: Arrays, repeat: int, warmup: int, profile: bool, seed: int) -> Result:
        """`run` with all its arguments."""


@contextmanager
def opened(
    path: str | Path,
    arch: str | None = None,
    progress: Progress | None = None,
    *,
    threads: int = 1,
    cc: str | None = None,
) -> Iterator[Runnable]:
    """Open a package directory, a tar of one, or a library.

    Parameters
    ----------
    path : path
    arch : str, optional
        Of a package for several; by default this machine's, if it is among them.
    progress : callable, optional
        Called with what is being done.
    threads : int
        How many threads compute.
    cc : str, optional
        The C compiler; by default `tvm_megcc.host.toolchain.find_compiler`'s.

    Raises
    ------
    tvm_megcc.errors.MegccError
        When there is nothing of ours, it has no code for `arch`, or a tool is missing.
    """
    tell = progress or (lambda stage: None)
    path = Path(path)
    check(path, arch, threads=threads)
    if _is_library(path):
        tell("load")
        yield _Library(path)
        return
    with opened_package(path) as package:
        chosen = package.choose(arch)
        tell("build")
        with build_cache.built(
            package, chosen, threads=threads > 1, cc=cc, progress=progress
        ) as program:
            tell("run")
            yield _Built(package, chosen, program, threads)


def check(path: str | Path, arch: str | None = None, *, threads: int = 1) -> None:
    """Raise InputError, before anything is built or loaded, for what `opened` cannot open.

    Of a tar only its existence is checked.
    """
    path = Path(path)
    if not _is_library(path):
        check_package(path, arch)
        return
    if threads > 1:
        raise InputError(
            "--threads: a library computes in one thread; run the package (-f c) instead"
        )
    own = machine(host_arch()).arch.name
    if arch is not None and machine(resolve([arch])[0]).arch.name not in (own, "portable"):
        raise InputError(f"'{path}': a library runs on this machine only; leave out --arch")
    if not path.is_file():
        raise InputError(f"'{path}': no such file; make it with tvmc compile -f so")
    built_for = elf.architecture(path)
    if built_for != own:
        raise InputError(
            f"'{path}' is for {built_for}, this machine is {own}; run the package (-f c),"
            " for which there is qemu"
        )


def check_profiled(path: str | Path) -> None:
    """Refuse a profile of a library."""
    if _is_library(Path(path)):
        raise InputError("--profile: a library has no profile; run the package (-f c) instead")


def _is_library(path: Path) -> bool:
    return path.suffix == ".so" and not path.is_dir()


class _Built(Runnable):
    """A package's own runner."""

    def __init__(self, package: Package, arch: str, program: Path, threads: int) -> None:
        self.package, self.arch, self.program = package, arch, program
        self.threads = threads
        self.emulated = not toolchain.is_native(arch)
        self.inputs, self.outputs = package.inputs, package.outputs

    def check_shapes(self, ports: Sequence[Port]) -> None:
        toolchain.check_shapes(self.program, self.arch, shapes_of(ports), self.package.manifest)

    def _run(self, inputs: Arrays, repeat: int, warmup: int, profile: bool, seed: int) -> Result:
        args = ["--threads", str(self.threads)] if self.threads > 1 else []
        with tempfile.TemporaryDirectory(prefix="tvm_megcc.") as folder:
            trace = Path(folder, "trace.json")
            result = toolchain.run_package(
                self.program,
                self.arch,
                inputs,
                self.package.manifest,
                repeat=repeat,
                warmup=warmup,
                seed=seed,
                args=[*args, *(["--trace", str(trace)] if profile else [])],
            )
            found = read_trace(trace) if profile else None
        outputs = {p.name: result.outputs[p.name] for p in self.outputs}
        if found is not None:
            found["otherData"]["emulated"] = self.emulated
        return Result(outputs, result.times_ms, found)


class _Library(Runnable):
    """A TVM library, loaded into this process."""

    emulated = False

    def __init__(self, path: Path) -> None:
        import tvm

        from tvm_megcc.relay.graph_module import GraphModule

        self.arch = machine(host_arch()).arch.name
        try:
            module = tvm.runtime.load_module(str(path.resolve()))
            self.module = GraphModule(module["default"](tvm.cpu()))
        except Exception as error:
            reason = " ".join(str(error).split())[:200]
            raise InputError(f"'{path}' cannot be loaded on this machine ({reason})") from error
        names = self.module.get_input_names()
        arrays = [self.module.get_input(i).numpy() for i in range(len(names))]
        shapes = [self.module.get_input_shape(i) for i in range(len(names))]
        self.inputs = tuple(map(_port, names, arrays, shapes))
        self.outputs: tuple[Port, ...] = ()  # known after a run

    def check_shapes(self, ports: Sequence[Port]) -> None:
        opened = [own.name for own in self.inputs if own.is_symbolic]
        shapes = {name: dims for name, dims in shapes_of(ports).items() if name in opened}
        with _refusals():
            try:
                self.module.check_shapes(shapes)
            except AttributeError:  # a library of an earlier version
                pass

    def _run(self, inputs: Arrays, repeat: int, warmup: int, profile: bool, seed: int) -> Result:
        assert not profile, "`check_profiled` refuses it"
        with _refusals():
            for name, value in inputs.items():
                self.module.set_input(name, value)
            self.module.set_seed(seed)
            for _ in range(warmup):
                self.module.run()
            times = []
            for _ in range(repeat):
                begin = time.perf_counter()
                self.module.run()
                times.append((time.perf_counter() - begin) * 1e3)
        names = self.module.get_output_names()
        outputs = {n: self.module.get_output(i).numpy() for i, n in enumerate(names)}
        self.outputs = tuple(_port(n, array, array.shape) for n, array in outputs.items())
        return Result(outputs, tuple(times))


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn a library's complaint about its inputs into an InputError with its words."""
    try:
        yield
    except ValueError as error:
        raise InputError(f"{' '.join(str(error).split())}; give the inputs other sizes") from error


def _port(name: str, array: np.ndarray[Any, Any], shape: Sequence[int | None]) -> Port:
    """A port of a library, which does not know the names of its dynamic dims."""
    dims = tuple(f"{name}_dim{k}" if d is None else d for k, d in enumerate(shape))
    row = dtypes.of_numpy(array.dtype.name)
    assert row is not None, array.dtype
    return Port(name, row.name, dims)
