"""Builds the instances that the cases of one target need into one executable, and runs it.

Enters: a `Target` and kernel files. Leaves: per kernel file, complaints. Objects are kept by
content in the cache directory, so a second session compiles only what changed.
"""

from __future__ import annotations

import hashlib
import os
import struct
import subprocess
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from harness import HERE, Case, Target, applicable, spread

from tests.c_warnings import CONVERSIONS, strict
from tvm_megcc.codegen_c.sources import headers
from tvm_megcc.core.program import Kernel
from tvm_megcc.host.vector_headers import HEADERS
from tvm_megcc.kernels import packing
from tvm_megcc.kernels.contract import OP_DIR
from tvm_megcc.kernels.kernel_file import KernelFile

#: What stands in for a C library on a board.
BARE = HERE / "bare"
_MAGIC = 0x4B43474D
_WORKSPACE = 32  # the operand number by which driver.c calls the workspace
_VARIANTS = (
    "aligned", "ending at an unreadable page", "split, aligned to one element",
    "split from last to first", "over its first input", "over its first input, split",
)  # fmt: skip
_INTRINSICS = """
#if defined(__ARM_NEON)
#include <arm_neon.h>
#elif defined(__AVX2__)
#include <immintrin.h>
#elif defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#endif
"""
_ABORTS = 20  # sanitizer reports after which a target is given up

Job = tuple[KernelFile, Case]


def run_target(target: Target, kernels: list[KernelFile], cache_dir: Path) -> dict[str, list[str]]:
    """Run all `kernels` on all their cases.

    Returns
    -------
    dict
        Kernel stem -> complaints; an empty list when all is well.
    """
    jobs = [(k, c) for k in kernels for c in applicable(k, target)]
    instances = {i.symbol: i for i in (k.instance(c.facts) for k, c in jobs)}
    complaints: dict[str, list[str]] = {k.stem: [] for k in kernels}
    build = Build(
        target, cache_dir, {k.stem: k.sources() for k in kernels}, _quick(target, instances)
    )
    broken = build.compile(instances)
    for symbol, text in broken.items():
        complaints[instances[symbol].template].append(f"{symbol} does not compile:\n{text}")
    jobs = [(k, c) for k, c in jobs if k.instance(c.facts).symbol not in broken]
    good = {s: i for s, i in sorted(instances.items()) if s not in broken}
    if jobs:
        exe = build.link(good)
        try:
            for (kernel, case), text in run_jobs(target, exe, jobs, list(good)):
                complaints[kernel.stem].append(f"case {case.index} {dict(case.row)}: {text}")
        finally:
            exe.unlink()
    return complaints


@dataclass(frozen=True)
class Build:
    """Compiles and links for one target."""

    target: Target
    cache_dir: Path
    texts: Mapping[str, str]  # of kernels, by their names
    quick: Collection[str] = ()  # symbols of the instances with -Og

    @property
    def include(self) -> Path:
        return OP_DIR.parent

    def compile(self, instances: Mapping[str, Kernel]) -> dict[str, str]:
        """Symbol -> what the compiler said, for the instances that do not compile."""
        for flags in {self._flags(kernel) for kernel in instances.values()}:
            self._precompile(flags)
        with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
            texts = list(pool.map(self._compile_kernel, instances.values()))
        return {s: t for s, t in zip(instances, texts, strict=True) if t}

    def link(self, instances: Mapping[str, Kernel]) -> Path:
        """The driver with a table of the instances, in their order."""
        declare = "(void *const *, const int32_t *, void *, int32_t, int32_t);\n"
        source = (
            f'#include "{HERE / "driver.c"}"\n'
            + "".join(f"void {s}{declare}" for s in instances)
            + f"const megcc_kernel_fn kernel_table[] = {{{', '.join(instances)}}};\n"
        )
        options, libraries = [], []
        if self.target.board:
            source += f'#include "{BARE / "start.c"}"\n'
            options = [f"-I{BARE}"]
            libraries = ["-nostdlib", "-T", str(BARE / "board.ld"), "-lgcc"]
        support = [_text(path) for path in sorted(BARE.rglob("*.[ch]"))] if options else []
        main = self._object("driver", *support, source, _text(HERE / "driver.c"))
        text = self._compile(main, [*options, "-x", "c", "-"], source)
        objects = [main, *(self._kernel_object(k) for k in instances.values())]
        exe = self.cache_dir / f"{self.target.name}-{os.getpid()}"
        if not text:
            command = [self.target.cc, *self.target.flags_for(), *map(str, objects), "-o", str(exe)]
            command += libraries
            text = subprocess.run(command, capture_output=True, text=True).stderr
        if not exe.exists():
            raise RuntimeError(f"{self.target.name}: the driver does not build:\n{text[-4000:]}")
        return exe

    def _kernel_object(self, kernel: Kernel) -> Path:
        return self._object(kernel.symbol, *self._arguments(kernel), self.texts[kernel.template])

    def _arguments(self, kernel: Kernel) -> list[str]:
        return [*self._flags(kernel), *_defines(kernel)]

    def _flags(self, kernel: Kernel) -> tuple[str, ...]:
        """What the compiler is told of a kernel besides the target's flags."""
        flags = self.target.flags_for(kernel.features) if kernel.features else ()
        return (*flags, "-Og") if kernel.symbol in self.quick else flags

    def _compile_kernel(self, kernel: Kernel) -> str:
        arguments = self._arguments(kernel)
        header = self._intrinsics(self._flags(kernel))
        if _has_intrinsics(self.texts[kernel.template]) and header.with_suffix(".h.gch").exists():
            arguments += ["-include", str(header)]
        # The file itself is compiled, not included: only then do compilers see unused functions.
        return self._compile(self._kernel_object(kernel), [*arguments, str(self._file(kernel))])

    def _file(self, kernel: Kernel) -> Path:
        """The kernel's text as a file of its name, for messages and debuggers."""
        path = self.cache_dir / f"{kernel.template}.c"
        if not path.exists() or path.read_text() != self.texts[kernel.template]:
            partial = path.with_suffix(f".{kernel.symbol}.{os.getpid()}")
            partial.write_text(self.texts[kernel.template])
            partial.replace(path)
        return path

    def _object(self, name: str, *texts: str) -> Path:
        """Where the object made from `texts`, the last one of which is C, is kept."""
        parts = [
            _version(self.target.cc),
            *_warnings(self.target.cc),
            *self.target.flags_for(),
            *texts,
        ]
        parts += headers(texts[-1:]).values()
        key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
        return self.cache_dir / f"{self.target.name}-{name}-{key}.o"

    def _compile(self, obj: Path, arguments: list[str], source: str | None = None) -> str:
        if obj.exists():
            return ""
        partial = obj.with_suffix(f".{os.getpid()}.partial")
        command = [
            self.target.cc,
            *_warnings(self.target.cc),
            *self.target.flags_for(),
            f"-I{self.include}",
        ]
        command += [*arguments, "-c", "-o", str(partial)]
        # By their names objects are kept already: ccache would only preprocess each source as well.
        done = subprocess.run(
            command, input=source, capture_output=True, text=True,
            env={**os.environ, "CCACHE_DISABLE": "1"},
        )  # fmt: skip
        if done.returncode:
            return done.stderr[-4000:] or "the compiler failed without a word"
        for outdated in obj.parent.glob(obj.name[:-18] + "?" * 16 + ".o"):
            outdated.unlink(missing_ok=True)
        partial.replace(obj)
        return ""

    def _intrinsics(self, flags: tuple[str, ...]) -> Path:
        return self._object("intrinsics", *flags, _INTRINSICS).with_suffix(".h")

    def _precompile(self, flags: tuple[str, ...]) -> None:
        """Gcc needs most of its time for the headers of intrinsics: read them once."""
        header = self._intrinsics(flags)
        compiled = header.with_suffix(".h.gch")
        if "gcc" not in self.target.cc or compiled.exists():
            return
        header.write_text(_INTRINSICS)
        partial = compiled.with_suffix(f".{os.getpid()}.partial")
        command = [
            self.target.cc,
            *_warnings(self.target.cc),
            *self.target.flags_for(),
            *flags,
        ]
        done = subprocess.run([*command, "-x", "c-header", str(header), "-o", str(partial)])
        if done.returncode == 0:
            partial.replace(compiled)


def _quick(target: Target, instances: Mapping[str, Kernel]) -> set[str]:
    """Symbols of all instances but `Target.optimised` ones of each kernel file."""
    files: dict[str, list[str]] = {}
    for symbol, kernel in sorted(instances.items()):
        files.setdefault(kernel.template, []).append(symbol)
    return {s for symbols in files.values() for s in symbols} - {
        s for symbols in files.values() for s in spread(symbols, target.optimised)
    }


def _warnings(compiler: str) -> tuple[str, ...]:
    return ("-std=c99", *strict(compiler), *CONVERSIONS)


def _defines(kernel: Kernel) -> list[str]:
    return [f"-D{m}={v}" for m, v in (("MEGCC_SYMBOL", kernel.symbol), *kernel.defines)]


@cache
def _has_intrinsics(body: str) -> bool:
    texts = [body, *headers([body]).values()]
    return any(f"<{header}>" in text for text in texts for header in (*HEADERS, "arm_mve.h"))


@cache
def _version(cc: str) -> str:
    return subprocess.run([cc, "--version"], capture_output=True, text=True).stdout


@cache
def _text(path: Path) -> str:
    return path.read_text()


def run_jobs(
    target: Target, exe: Path, jobs: list[Job], table: list[str]
) -> Iterator[tuple[Job, str]]:
    """Run all jobs in one process, or in a few when sanitizers end one; give the complaints."""
    cases, results = exe.with_suffix(".cases"), exe.with_suffix(".results")
    try:
        with cases.open("wb") as f:
            f.write(struct.pack("<2I", _MAGIC, len(jobs)))
            for job in jobs:
                f.write(encode(*job, table))
        first = aborts = 0
        while first < len(jobs):
            results.unlink(missing_ok=True)
            stderr = _run(target, [str(exe), str(cases), str(results), str(first)])
            data = results.read_bytes() if results.exists() else b""
            for text in decode(data, jobs[first:]):
                if text:
                    yield jobs[first], text
                first += 1
            if first < len(jobs):
                aborts += 1
                yield jobs[first], f"ended the program: {_excerpt(stderr)}"
                first += 1
                if aborts == _ABORTS:
                    for job in jobs[first:]:
                        yield job, f"was not run: {_ABORTS} others ended the program"
                    return
    finally:
        cases.unlink(missing_ok=True)
        results.unlink(missing_ok=True)


def on_board(target: Target, program: str, *given: str) -> list[str]:
    """The command that runs a program with BARE's start on a target's board."""
    return [
        *target.runner, "-M", target.board, *"-display none -monitor none -serial none".split(),
        "-semihosting-config", "enable=on,target=native", "-kernel", program,
        "-append", " ".join(given),
    ]  # fmt: skip


def _run(target: Target, command: list[str]) -> str:
    env = dict(os.environ, ASAN_OPTIONS="handle_segv=0:detect_leaks=0")
    command = [*target.runner, *command]
    if target.board:
        command = on_board(target, *command[1:])
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=300)
    except subprocess.TimeoutExpired:
        return "no end after 300 s"
    return done.stderr


def _excerpt(stderr: str) -> str:
    lines = [s for s in stderr.splitlines() if "ERROR" in s or "runtime error" in s or "#" in s]
    return "\n".join(lines[:8]) or stderr[:1000] or "no message"


#: What weights that are packed are aligned to (megcc_kernel.h).
_PACKED_BYTES = 8


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 8)


def encode(kernel: KernelFile, case: Case, table: list[str]) -> bytes:
    """One case as driver.c reads it."""
    facts = case.facts
    names = [operand.name for operand in kernel.contract.inputs_of(facts)]
    call = packing.Call(facts, dict(zip(names, case.inputs, strict=True)))
    packings = kernel.packings(facts)
    given = packing.apply(packings, call)
    inputs, packed = list(given.values()), {name for name, _ in packings}
    # Packed weights lie in a package, whose reader asks for so much.
    aligned = [_PACKED_BYTES if name in packed else 1 for name in given]
    attrs = [a & 0xFFFFFFFF for a in kernel.attrs(facts)]
    arrays = [*inputs, *case.outputs]
    instance = kernel.instance(facts)
    number = table.index(instance.symbol)
    takes = (i for i in instance.inplace if i < len(inputs))
    inplace = sum(1 << i for i in takes if inputs[i].nbytes == case.outputs[0].nbytes)
    allowed = kernel.overlap(facts)
    overlap = 0 if allowed is None else allowed + 1
    parts = [
        struct.pack("<4I", number, len(arrays), len(case.outputs), len(attrs)),
        struct.pack("<i3I", kernel.work(facts), kernel.workspace(facts), inplace, overlap),
        _padded(struct.pack(f"<{len(attrs)}I", *attrs)),
    ]
    for i, array in enumerate(arrays):
        least = aligned[i] if i < len(inputs) else 1
        parts.append(struct.pack("<2Q", array.nbytes, max(array.itemsize, least)))
        if i < len(inputs):
            parts.append(_padded(np.ascontiguousarray(array).tobytes()))
    return b"".join(parts)


def decode(data: bytes, jobs: list[Job]) -> Iterator[str]:
    """A complaint ("" for none) per complete result in `data`."""
    at = 0
    for kernel, case in jobs:
        size = 16 + sum(a.nbytes + -a.nbytes % 8 for a in case.outputs)
        if at + size > len(data):
            return
        status, variant, operand, _ = struct.unpack_from("<4i", data, at)
        at += 16
        got = []
        for want in case.outputs:
            flat = np.frombuffer(data, want.dtype, want.size, at)
            got.append(flat.reshape(want.shape))
            at += want.nbytes + -want.nbytes % 8
        if status:
            places = [f"in place of input {i}" for i in range(32)]
            how = (*_VARIANTS, *places, *(f"{place}, split" for place in places))[variant]
            yield f"run {how}: {_fault(status, operand)}"
        else:
            yield case.complaint(got, kernel.tolerance(case.facts))


def _fault(status: int, operand: int) -> str:
    name = "the workspace" if operand == _WORKSPACE else f"operand {operand}"
    return {
        1: f"crashed with signal {operand}",
        2: f"wrote outside {name}",
        3: f"{name} has other bits than in the aligned, unsplit run",
        4: f"wrote to input {name}",
    }[status]
