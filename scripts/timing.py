"""Packages and ONNX Runtime side by side on this machine: for scripts that print latencies."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tvm_megcc import driver
from tvm_megcc.cli import options
from tvm_megcc.errors import InputError
from tvm_megcc.host import package, toolchain

Arrays = dict[str, np.ndarray]

CPU_CLOCK = Path(__file__).resolve().with_name("cpu_clock.h")


class Ours:
    """A package for this machine, compiled with `options` of ``compile_model``, and its runner.

    `threads` is the number of threads of a run; None builds the runner without a pool. With
    `cpu_clock` times are those of the CPU, which other processes hardly disturb.
    """

    def __init__(
        self,
        model: Path,
        out: Path,
        threads: int | None = None,
        *,
        cpu_clock: bool = False,
        **options: Any,
    ) -> None:
        self.arch = toolchain.host_arch()
        start = time.perf_counter()
        driver.compile_model(model, out, archs=[self.arch], **options)
        self.compile_s = time.perf_counter() - start
        found = package.load(out)
        self.manifest, self.inputs = found.manifest, found.inputs
        self.arena_bytes = self.manifest["per_arch"][self.arch]["arena_bytes"]
        start = time.perf_counter()
        flags = ["-include", str(CPU_CLOCK)] if cpu_clock else []
        self.runner = toolchain.build(
            out, self.arch, threads=threads is not None, extra_cflags=flags
        )
        self.build_s = time.perf_counter() - start
        self._args = [] if threads is None else ["--threads", str(threads)]

    def run(self, inputs: Arrays, repeat: int) -> tuple[Arrays, tuple[float, ...]]:
        """Outputs, and the times of `repeat` runs in ms."""
        done = toolchain.run_package(
            self.runner, self.arch, inputs, self.manifest, repeat=repeat, warmup=3, args=self._args
        )
        return done.outputs, done.times_ms


class OnnxRuntime:
    """ONNX Runtime on some threads.

    `exact`: without the products of bytes that saturate, as they do by default on x86 without VNNI.
    """

    def __init__(self, model: Path, threads: int = 1, *, exact: bool = False) -> None:
        import onnxruntime

        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads, settings.inter_op_num_threads = threads, 1
        settings.log_severity_level = 3
        # Between runs its threads would go on looking for work and take ours the cores.
        settings.add_session_config_entry("session.force_spinning_stop", "1")
        if exact:
            settings.add_session_config_entry("session.x64quantprecision", "1")
        self.session = onnxruntime.InferenceSession(
            str(model), settings, providers=["CPUExecutionProvider"]
        )
        self.names = [output.name for output in self.session.get_outputs()]

    def run(self, inputs: Arrays, repeat: int) -> tuple[Arrays, tuple[float, ...]]:
        """Outputs, and the times of `repeat` runs in ms."""
        times = []
        for _ in range(repeat + 3):
            start = time.perf_counter()
            outputs = self.session.run(None, inputs)
            times.append((time.perf_counter() - start) * 1e3)
        return dict(zip(self.names, outputs, strict=True)), tuple(times[3:])


@contextmanager
def pinned(core: int | None) -> Iterator[None]:
    """Keep this process and what it starts on one core, the last where none is named."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    core = max(before) if core is None else core
    if core not in before:
        raise InputError(f"core {core} is not one of {', '.join(map(str, sorted(before)))}")
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def largest_relative(got: Arrays, want: Arrays) -> float:
    """The largest difference of an output over its largest magnitude."""
    worst = 0.0
    for name, value in want.items():
        a, b = got[name].astype(np.float64), value.astype(np.float64)
        scale = np.abs(b).max(initial=0.0) or 1.0
        worst = max(worst, float(np.abs(a - b).max(initial=0.0) / scale))
    return worst


def add_options(parser: argparse.ArgumentParser, repeat: int) -> None:
    """The options of a script that draws inputs and measures in turns."""
    parser.add_argument("--seed", type=int, default=0, help="of weights and inputs")
    parser.add_argument("--repeat", type=options.count, default=repeat, help="runs per turn")
    parser.add_argument("--rounds", type=options.count, default=5, help="turns of both")
    parser.add_argument("--core", type=int, help="the core to be pinned to; default: the last")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there, too")
