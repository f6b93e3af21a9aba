"""Many packages -> one program, and its answers.

The runtime is compiled once per mode. Kernels are stored by what they are compiled from, so that a
kernel that many models call is compiled once, too, in this run and in the next.
"""

from __future__ import annotations

import hashlib
import os
import struct
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from tests.fuzz.compiling import Package
from tests.fuzz.data import BF16
from tests.fuzz.evaluate import MOST_BYTES
from tvm_megcc.host import toolchain
from tvm_megcc.target import resolve

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent

_BASE = (
    "-std=c99",
    "-O1",
    "-w",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-DMEGCC_DEBUG",
)
_SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g1")
_ARM32 = ("-march=armv7-a", "-mfpu=neon", "-mfloat-abi=hard")

#: dtype numbers of megcc.h.
DTYPES = tuple(
    map(np.dtype, ("f4", "f8", "f2", BF16, bool, "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"))
)
_MARK, _BEGUN = 0x46555A5A, 99
STAGES = ("", "open", "create", "shape", "arena", "input", "output", "run", "read", "again", "end")


@dataclass(frozen=True)
class Mode:
    """One way to build and run: an architecture of ours, flags, perhaps an emulator."""

    name: str
    arch: str
    flags: tuple[str, ...] = ()
    link: tuple[str, ...] = ()

    @cached_property
    def compiler(self) -> list[str]:
        return toolchain.find_compiler(resolve([self.arch])[0]).split()

    @cached_property
    def launcher(self) -> list[str]:
        return toolchain._launcher(resolve([self.arch])[0])


MODES = {
    mode.name: mode
    for mode in (
        Mode("host", "host", ("-march=native",)),
        Mode("portable", "portable", ("-march=native",)),
        Mode("sanitized", "host", ("-march=native", *_SANITIZE), _SANITIZE),
        Mode("arm64", "arm64", (), ("-static",)),
        Mode("armv7", "armv7", _ARM32, ("-static",)),
    )
}


@dataclass(frozen=True)
class Job:
    """A package, and the inputs of each of its runs, which happen in one context.

    Attributes
    ----------
    goes_on : sequence of bool
        Whether the states of a run are as the run before left them, and not those of the feed.
    """

    package: Package
    feeds: Sequence[dict[str, np.ndarray]]
    goes_on: Sequence[bool]


@dataclass
class Answer:
    """What one run gave: outputs, a status other than 0 and where, or a crash.

    Attributes
    ----------
    apart : dict or None
        The outputs of the same run in pieces, where they differ.
    """

    outputs: dict[str, np.ndarray] = field(default_factory=dict)
    status: int = 0
    stage: str = ""
    crash: str = ""
    apart: dict[str, np.ndarray] | None = None


class BuildError(Exception):
    """The C of some models does not compile: names and the compiler's words."""

    def __init__(self, failed: dict[str, str]) -> None:
        super().__init__("; ".join(failed))
        self.failed = failed


class Builder:
    """Builds and runs programs in one mode.

    Parameters
    ----------
    mode : Mode
    store : path
        Objects are kept here.
    threads : int
    """

    def __init__(self, mode: Mode, store: Path, threads: int = 2) -> None:
        self.mode, self.store, self.threads = mode, store / mode.name, threads
        self.store.mkdir(parents=True, exist_ok=True)

    # ---- C -> objects ------------------------------------------------------------------------

    @cached_property
    def _flags(self) -> list[str]:
        folders = (ROOT / "runtime/include", ROOT / "runtime/src", ROOT / "codegen_c/include")
        return [*_BASE, *self.mode.flags, *(f"-I{folder}" for folder in folders)]

    @cached_property
    def _headers(self) -> bytes:
        """Everything that sources may include, and how they are compiled."""
        flags = [flag for flag in self._flags if not flag.startswith("-I")]
        digest = hashlib.sha256(" ".join([*self.mode.compiler, *flags]).encode())
        for folder in ("runtime/include", "runtime/src", "codegen_c/include"):
            for path in sorted((ROOT / folder).rglob("*.[hd]*")):
                digest.update(path.name.encode() + path.read_bytes())
        return digest.digest()

    def _object(self, text: str) -> Path:
        """A source, compiled.

        Raises
        ------
        BuildError
        """
        key = hashlib.sha256(self._headers + text.encode()).hexdigest()[:40]
        found = self.store / f"{key}.o"
        if found.exists():
            return found
        source, part = found.with_suffix(f".{os.getpid()}.c"), found.with_suffix(f".{os.getpid()}")
        source.write_text(text)
        command = [*self.mode.compiler, *self._flags, "-c", "-o", str(part), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        source.unlink()
        if done.returncode != 0:
            raise BuildError({text: done.stderr.strip()[-1500:]})
        part.rename(found)
        return found

    def _objects(self, texts: Sequence[str]) -> tuple[dict[str, Path], dict[str, str]]:
        """Objects of sources, and why others have none."""
        good: dict[str, Path] = {}
        bad: dict[str, str] = {}

        def one(text: str) -> None:
            try:
                good[text] = self._object(text)
            except BuildError as error:
                bad.update(error.failed)

        with ThreadPoolExecutor(self.threads) as pool:
            list(pool.map(one, dict.fromkeys(texts)))
        return good, bad

    @cached_property
    def _runtime(self) -> list[Path]:
        texts = [path.read_text() for path in sorted((ROOT / "runtime/src").glob("*.c"))]
        good, bad = self._objects(texts)
        if bad:
            raise RuntimeError(f"the runtime does not compile: {next(iter(bad.values()))}")
        return list(good.values())

    # ---- objects -> program ------------------------------------------------------------------

    def build(self, packages: Sequence[Package], folder: Path) -> Path:
        """One program of all these packages.

        Raises
        ------
        BuildError
            By package name, for those whose C does not compile.
        """
        folder.mkdir(parents=True, exist_ok=True)
        texts: dict[str, list[str]] = {}
        for package in packages:
            model = package.sources["model/model.c"]
            include = f'#include "{package.name}.h"\n'
            # One unit for all that is the model's own; shared kernels are units of their own.
            own = [t for p, t in sorted(package.sources.items()) if "megcc_tir_" in p]
            unit = "".join([*own, model.replace(include, package.header)])
            shared = [t for p, t in package.sources.items() if p.startswith("src/kernels/")]
            texts[package.name] = [unit, *(t for t in shared if t not in own)]
        good, bad = self._objects([t for row in texts.values() for t in row])
        if bad:
            raise BuildError({name: bad[t] for name, row in texts.items() for t in row if t in bad})
        names = [f"{package.name}_kernels" for package in packages]
        table = "".join(f"extern const megcc_kernels_t {n};\n" for n in names)
        rows = "".join(f"&{n}," for n in names)
        table += f"static const megcc_kernels_t *const kModels[] = {{{rows}}};\n"
        runner = (HERE / "runner.c").read_text().replace('#include "models.h"', table)
        objects = dict.fromkeys([*good.values(), *self._runtime, self._object(runner)])
        program, listed = folder / "program", folder / "objects"
        listed.write_text("\n".join(map(str, objects)))
        # The same kernel may be in several units; its name says that it is the same.
        command = [*self.mode.compiler, f"@{listed}", "-Wl,-z,muldefs", *self.mode.link]
        done = subprocess.run([*command, "-o", str(program)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"the program does not link: {done.stderr[-1500:]}")
        return program

    # ---- program -> answers ------------------------------------------------------------------

    def run(self, jobs: Sequence[Job], folder: Path, seconds: float = 20) -> list[list[Answer]]:
        """Build all jobs' packages and run the jobs; the answers of each job's runs.

        A job whose C does not compile has one answer, whose crash begins with "C: ".
        """
        broken: dict[str, str] = {}
        while True:
            packages = {j.package.name: j.package for j in jobs if j.package.name not in broken}
            try:
                program = self.build(list(packages.values()), folder)
                break
            except BuildError as error:
                broken |= error.failed
        number = {name: k for k, name in enumerate(packages)}
        good = [k for k, job in enumerate(jobs) if job.package.name in number]
        found = self._run([jobs[k] for k in good], number, program, folder, seconds)
        answers = [[Answer(crash=f"C: {broken.get(job.package.name)}")] for job in jobs]
        for k, row in zip(good, found, strict=True):
            answers[k] = row
        return answers

    def _run(
        self,
        jobs: Sequence[Job],
        number: dict[str, int],
        program: Path,
        folder: Path,
        seconds: float,
    ) -> list[list[Answer]]:
        source, sink = folder / "jobs", folder / "results"
        source.write_bytes(_encode(jobs, number))
        sink.unlink(missing_ok=True)
        answers = [[Answer() for _ in job.feeds] for job in jobs]
        first = 0
        slower = 4 if self.mode.launcher else 1
        environment = os.environ | {
            "ASAN_OPTIONS": "detect_leaks=0",
            "UBSAN_OPTIONS": "print_stacktrace=1",
        }
        while first < len(jobs):
            command = [*self.mode.launcher, str(program), str(source), str(sink), str(first)]
            try:
                done = subprocess.run(
                    command, capture_output=True, text=True, errors="replace", env=environment,
                    timeout=(seconds + 0.5 * len(jobs)) * slower,
                )  # fmt: skip
                status, words = done.returncode, done.stderr
            except subprocess.TimeoutExpired:
                status, words = 1, "does not end"
            at, latest = None, None
            for job, run, answer in _decode(sink, jobs):
                latest = (job, run)
                if answer is None:
                    at = (job, run)
                elif run % 2 == 0:
                    answers[job][run // 2], at = answer, None
                elif answer.status or answer.crash:
                    kept = answers[job][run // 2]
                    kept.status, kept.stage, at = answer.status, answer.stage, None
                else:
                    answers[job][run // 2].apart, at = answer.outputs, None
            sink.unlink(missing_ok=True)
            if status == 0:
                break
            # Between runs it is the run before that left the heap unfit.
            if (at := at or latest) is None:
                raise RuntimeError(f"the program ended with {status}: {words[-2000:]}")
            job, run = at
            answers[job][run // 2].crash = f"status {status}: {_report(words)}"
            for later in range(run // 2 + 1, len(answers[job])):
                answers[job][later].stage = "not run"
            first = job + 1
        return answers


def _report(words: str) -> str:
    """The lines of a sanitizer's report that say what and where."""
    lines = [
        line.strip()
        for line in words.splitlines()
        if "ERROR" in line or "runtime error" in line or line.lstrip().startswith("#")
        or line.startswith(("READ", "WRITE"))
    ]  # fmt: skip
    return " | ".join(lines[:8]) or words.strip()[-500:]


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 8)


def _encode(jobs: Sequence[Job], number: dict[str, int]) -> bytes:
    out = [struct.pack("<II", len(jobs), 0)]
    for job in jobs:
        package = job.package
        out.append(struct.pack("<II", number[package.name], len(package.image)))
        out += [_padded(package.image), struct.pack("<II", len(job.feeds), 0)]
        for feed, goes_on in zip(job.feeds, job.goes_on, strict=True):
            out.append(struct.pack("<II", len(package.inputs), goes_on))
            for name in package.inputs:
                array = np.asarray(feed[name])
                # Nobody has the data of a tensor that is only there to be refused.
                data = array.tobytes() if array.nbytes < MOST_BYTES else b""
                head = struct.pack(f"<I{array.ndim}iI", array.ndim, *array.shape, len(data))
                out += [head + bytes(4 * (array.ndim % 2)), _padded(data)]
    return b"".join(out)


def _decode(sink: Path, jobs: Sequence[Job]) -> Iterator[tuple[int, int, Answer | None]]:
    """Job, number of the run (odd: the same in pieces), its answer; None where it has begun."""
    data, at = sink.read_bytes() if sink.exists() else b"", 0
    while at + 28 <= len(data):
        mark, job, run, stage, status, count, length = struct.unpack_from("<7I", data, at)
        assert mark == _MARK
        at += 28
        if stage == _BEGUN:
            yield job, run, None
            continue
        outputs = _outputs(data[at : at + length], count)
        at += length
        named = dict(zip(jobs[job].package.outputs, outputs, strict=False))
        yield job, run, Answer(named, status, STAGES[stage])


def _outputs(data: bytes, count: int) -> Iterator[np.ndarray]:
    at = 0
    for _ in range(count):
        dtype, rank = struct.unpack_from("<II", data, at)
        shape = struct.unpack_from(f"<{rank}i", data, at + 8)
        (size,) = struct.unpack_from("<I", data, at + 8 + 4 * rank)
        at += 12 + 4 * rank
        kind = DTYPES[dtype]
        yield np.frombuffer(data[at : at + size], kind).reshape(shape)
        at += size + -size % 8
