"""Builds and runs packages with the machine's compilers, cross compilers and qemu.

What enters is a package directory and an architecture; what leaves is a built runner, or the
outputs and times of a run. Nothing is written outside ``build_dir`` and temporary folders.

Example
-------
>>> find_compiler(host_arch()) == find_compiler("portable")
True
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tvm_megcc.core import dtypes
from tvm_megcc.core.machine import ROWS, machine
from tvm_megcc.core.this_machine import host_arch as host_arch  # asked of this module, too
from tvm_megcc.core.this_machine import is_native as is_native
from tvm_megcc.core.this_machine import is_own_family
from tvm_megcc.errors import InputError, ToolError
from tvm_megcc.host import object_cache, vector_headers
from tvm_megcc.host.extern_sources import unsupplied
from tvm_megcc.host.package import fits

Array = npt.NDArray[Any]
Progress = Callable[[str], None]

#: What of a package takes part in its build.
PARTS = ("include", "src", "model", "main.c", "runner", "megcc_pool.c", "Makefile")

#: What make's lines that compile a file have in them.
_COMPILES = " -c -o "

#: A line of a compiler's, linker's or make's that says what is wrong.
_TELLING = re.compile(r"\berror\b|undefined (reference|symbol)|multiple definition|not found", re.I)

_MAKE_VARIABLES = frozenset(
    ("CFLAGS", "CPPFLAGS", "LDFLAGS", "EXTRA_CFLAGS", "OPT", "THREADS", "MAKEFLAGS", "MFLAGS",
     "MAKELEVEL", "GNUMAKEFLAGS")
)  # fmt: skip

#: At -O1 both see what they see at -O3. What the checks left out find, AddressSanitizer finds as
#: well; they are a quarter of the compile time.
_SANITIZE = (
    "-O1 -fsanitize=address,undefined -fno-sanitize=null,object-size,pointer-overflow"
    " -fno-sanitize-recover=all -fno-omit-frame-pointer -g1"
)


@dataclass(frozen=True, slots=True)
class RunResult:
    """Result of a run: outputs by name, ms of each timed run, printed text."""

    outputs: dict[str, Array]
    times_ms: tuple[float, ...]
    stdout: str = ""


def find_compiler(arch: str) -> str:
    """The C compiler for ``arch``.

    Raises InputError if ``arch`` is no machine, ToolError if there is no compiler; the message
    names the apt packages that bring it.
    """
    row = machine(arch).arch
    if is_own_family(arch):
        for name in (os.environ.get("CC", ""), "gcc", "clang", "cc"):
            if name and shutil.which(name.split()[0]):
                return name
        raise ToolError("no C compiler found; install one: apt install gcc libc6-dev make")
    if shutil.which(row.compiler) is None:
        raise ToolError(f"no C compiler for {arch} ({row.compiler}); apt install {row.packages}")
    return row.compiler


def check_compiler(cc: str | None, arch: str) -> None:
    """Raise ToolError for a C compiler that is not installed; None stands for `find_compiler`'s."""
    if cc is None:
        find_compiler(arch)
    elif not cc.split() or shutil.which(cc.split()[0]) is None:
        name = cc.split()[0] if cc.split() else cc
        raise ToolError(f"there is no C compiler {name!r}; name one that is installed")


def _launcher(arch: str) -> list[str]:
    if is_native(arch):
        return []
    qemu = machine(arch).arch.qemu
    for name in (qemu, f"{qemu}-static"):
        if shutil.which(name):
            return [name, *(["-cpu", "max"] if machine(arch).features else [])]
    raise ToolError(f"{arch} programs do not run on this machine and there is no {qemu}; "
                    "apt install qemu-user")  # fmt: skip


def build(
    pkg_dir: str | Path,
    arch: str,
    *,
    build_dir: str | Path | None = None,
    sanitize: bool = False,
    cc: str | None = None,
    threads: bool = False,
    extra_cflags: Sequence[str] = (),
    extra_sources: Sequence[Path] = (),
    runner: bool = True,
    progress: Progress | None = None,
) -> Path:
    """Build a package and return its runner.

    Parameters
    ----------
    pkg_dir : path
        A package; it is only read.
    arch : str
        One that the package is for; "portable" is built for this machine.
    build_dir : path, optional
        Where objects, ``libmodel.a`` and ``run`` go; ``<pkg_dir>/build/<arch>`` if not given.
        Built again, only what changed is compiled.
    sanitize : bool
        With AddressSanitizer and UndefinedBehaviorSanitizer, at -O1; any finding ends the program.
    cc : str, optional
        Compiler instead of `find_compiler`'s.
    threads : bool
        With the pool of ``megcc_pool.h``, so that the runner takes ``--threads``.
    extra_cflags : sequence of str
        Appended to the package's own flags.
    extra_sources : sequence of path
        C files that are compiled as if they were among the package's.
    runner : bool
        Whether there is to be one: without, ``libmodel.a`` is all that is built, and returned.
    progress : callable, optional
        Called with how far the build is.

    Raises
    ------
    ToolError
        Compiler or make is missing, or the build fails (`ToolError.words` is what they said).
    InputError
        ``pkg_dir`` is not a package.
    """
    package = Path(pkg_dir).resolve()
    if not (package / "Makefile").is_file() or not (package / "manifest.json").is_file():
        raise InputError(f"{pkg_dir} is not a package: it has no Makefile and manifest.json")
    if runner and not (is_own_family(arch) or machine(arch).arch.qemu):
        raise ToolError(
            f"{arch} has no operating system, so there is no runner for it; "
            + _without_runner(package)
        )
    check_compiler(cc, arch)
    compiler = cc or find_compiler(arch)
    if shutil.which("make") is None:
        raise ToolError("make is missing; apt install make")
    where = Path(build_dir) if build_dir is not None else package / "build" / arch
    where = where.resolve()
    where.mkdir(parents=True, exist_ok=True)
    # Links keep every path in the Makefile relative, so any character may be in a folder's name.
    parts = {part: package / part for part in PARTS}
    if extra_sources:  # beside links to all that there is
        del parts["src"]
        parts.update((f"src/{path.name}", path) for path in (package / "src").iterdir())
        parts.update((f"src/{path.name}", path) for path in extra_sources)
        (where / "src").mkdir(exist_ok=True)
    for part, target in parts.items():
        link = where / part
        if link.is_symlink() or link.exists():
            if link.is_symlink() and os.readlink(link) == str(target):
                continue
            raise InputError(f"{where} holds another build; give an empty folder")
        link.symlink_to(target)
    flags = " ".join([*extra_cflags, *([_SANITIZE] if sanitize else [])])
    goal = "run" if runner else "libmodel.a"
    command = ["make", f"-j{os.cpu_count() or 1}", f"CC={compiler}"]
    if threads:
        command.append("THREADS=1")
    if flags:
        command += [f"EXTRA_CFLAGS={flags}"]
    try:
        _make(command, goal, where, arch, progress)
    except ToolError as error:
        raise _explained(error, package) from None
    return where / goal


def _without_runner(package: Path) -> str:
    """Advice on how to run a package for machines without an operating system."""
    example = "examples/cortexm"
    if (package / example / "Makefile").is_file():
        return f"run the package's example on qemu's board: make -C {example} run CPU=cortex-m4"
    compiler = ROWS["cortexm"].compiler
    return f"build the library with make lib CC={compiler} and link it with a program of the device"


def _explained(error: ToolError, package: Path) -> ToolError:
    """The error, or a clearer one if the model calls functions that nobody defines."""
    externs = json.loads((package / "manifest.json").read_text(encoding="utf-8")).get("externs", ())
    missing = [name for name in externs if re.search(rf"ndefined .*\b_?{name}\b", error.words)]
    return ToolError(unsupplied(missing), error.words) if missing else error


def _make(command: list[str], goal: str, where: Path, arch: str, tell: Progress | None) -> None:
    compiler = next(word for word in command if word.startswith("CC=")).removeprefix("CC=")
    # Objects are older than what says with which flags they were built: make that first.
    _words_of([*command, "obj/flags"], where)
    lines = _words_of([*command, goal, "-n"], where)
    wanted = object_cache.compilations(lines)
    known, missing = object_cache.restore(where, wanted, compiler)
    new = [one for one in wanted if where / one.object in missing]
    rules = vector_headers.rules(where, new, compiler)
    if new:  # ccache need not keep what is kept here: it would preprocess each source first
        rules.append(f"--eval={' '.join(one.object for one in new)}: export CCACHE_DISABLE := 1")
    total = sum(_COMPILES in line for line in lines) - known
    count, found = 0, []
    with subprocess.Popen(
        [*command, *rules, goal], cwd=where, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", env=make_environment(),
    ) as making:  # fmt: skip
        assert making.stdout is not None
        try:
            for line in making.stdout:
                found.append(line)
                if tell and _COMPILES in line:
                    count += 1
                    tell(f"build for {arch}: {count} of {total} files")
        except BaseException:
            making.kill()
            raise
    if making.returncode != 0:
        what = f"building the package for {arch} ({' '.join([*command, goal])})"
        raise failure(what, "".join(found))
    object_cache.keep(missing)


def _words_of(command: list[str], where: Path) -> list[str]:
    """Lines that make prints; errors are left to the build itself."""
    done = subprocess.run(
        command, cwd=where, capture_output=True, text=True, errors="replace", env=make_environment()
    )
    return done.stdout.splitlines()


def make_environment() -> dict[str, str]:
    """This process's variables without those that a package's Makefile reads, and make's own.

    What a shell has in CFLAGS would change what is built and timed, and nothing would say so.
    """
    return {name: value for name, value in os.environ.items() if name not in _MAKE_VARIABLES}


def failure(what: str, words: str) -> ToolError:
    """The error of a failed tool: `what` failed, and the line of its `words` with the reason."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    why = next((line for line in lines if _TELLING.search(line)), lines[-1] if lines else "")
    if "No space left on device" in words:
        folder = tempfile.gettempdir()
        return ToolError(f"{what} failed: no space left on device; make room in {folder}, or set"
                         " TMPDIR", words)  # fmt: skip
    return ToolError(f"{what} failed: {why}; --verbose shows all it said", words)


def hooks(name: str) -> tuple[list[str], list[Path]]:
    """Flags and sources that build ``runtime/debug/<name>.c`` around the calls of a package."""
    from tvm_megcc import runtime

    debug = Path(str(runtime.__file__)).resolve().parent / "debug"
    return ["-include", str(debug / f"{name}.h"), f"-I{debug}"], [debug / f"{name}.c"]


def run_package(
    exe: str | Path,
    arch: str,
    inputs: Mapping[str, Array],
    manifest: Mapping[str, Any],
    *,
    repeat: int = 1,
    warmup: int = 0,
    seed: int = 0,
    args: Sequence[str] = (),
    timeout: float | None = None,
    launcher: Sequence[str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> RunResult:
    """Run a built package, under qemu where its architecture is not this machine's.

    Parameters
    ----------
    exe : path
        What `build` returned.
    arch : str
        What it was built for.
    inputs : mapping of name to array
        Dtype and shape must be the model's; inputs left out are random from ``seed``, as
        is what the model draws.
    manifest : mapping
        The package's parsed ``manifest.json``.
    repeat, warmup : int
        Timed runs, and untimed runs before them.
    args : sequence of str
        More arguments for the runner.
    timeout : float, optional
        Seconds after which the run is given up.
    launcher : sequence of str, optional
        What the program is started with, instead of qemu or nothing.
    environment : mapping, optional
        Variables for the program, beside those of this process.

    Raises
    ------
    InputError
        An input that the model does not have, or of another dtype or shape.
    ToolError
        qemu is missing, or the program failed (the message has its words).
    """
    with tempfile.TemporaryDirectory(prefix="megcc-run-") as folder:
        source, sink = Path(folder, "in"), Path(folder, "out")
        source.mkdir()
        sizes = _write_inputs(source, inputs, manifest)
        start = _launcher(arch) if launcher is None else launcher
        command = [*start, str(exe), "--inputs", str(source), "--outputs", str(sink)]
        command += ["--repeat", str(repeat), "--warmup", str(warmup), "--seed", str(seed)]
        command += [*_machine(arch, manifest), *sizes, *args]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=timeout,
                env={**os.environ, **(environment or {})},
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise ToolError(f"{exe} did not finish within {timeout} seconds") from None
        if done.returncode != 0:
            words = done.stderr.strip() or f"ended with status {done.returncode}"
            raise ToolError(words)
        outputs = _read_outputs(sink, manifest)
        lines = (sink / "times.txt").read_text(encoding="utf-8").split()
        times = tuple(float(line) for line in lines)
    return RunResult(outputs, times, done.stdout)


def generate_command(
    exe: str | Path, arch: str, manifest: Mapping[str, Any], args: Sequence[str]
) -> list[str]:
    """The command that goes from text to text with a built package of a language model."""
    start = [*_launcher(arch), str(exe), "generate"]
    return [*start, *_machine(arch, manifest), *args]


def _machine(arch: str, manifest: Mapping[str, Any]) -> list[str]:
    """The runner's argument that chooses among a package's machines."""
    same = sum(machine(a).arch == machine(arch).arch for a in manifest["archs"])
    return ["--machine", arch] if same > 1 else []


def check_shapes(
    exe: str | Path, arch: str, shapes: Mapping[str, Sequence[int]], manifest: Mapping[str, Any]
) -> None:
    """Ask a built package whether it takes these shapes of all inputs, before inputs are made.

    `exe`, `arch` and `manifest` are those of `run_package`. Raises ToolError, with the program's
    words, if it does not take them, or there is no memory for them.
    """
    sizes = [word for port in manifest["inputs"] for word in _shape_words(port, shapes)]
    if not sizes:
        return
    command = [*_launcher(arch), str(exe), "--check-shapes", *_machine(arch, manifest), *sizes]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    words = done.stderr.strip()
    # The runner of a package of an earlier version has no such option.
    if done.returncode != 0 and "--check-shapes: unknown option" not in words:
        raise ToolError(words or f"ended with status {done.returncode}")


def _shape_words(port: Mapping[str, Any], shapes: Mapping[str, Sequence[int]]) -> list[str]:
    """The runner's arguments that give the dynamic dims of an input their sizes."""
    if not any(isinstance(dim, str) for dim in port["shape"]):
        return []
    name = port["name"]
    return ["--shape", f"{name}={','.join(map(str, shapes[name]))}"]


def _write_inputs(
    folder: Path, inputs: Mapping[str, Array], manifest: Mapping[str, Any]
) -> list[str]:
    """Write the inputs' bytes; the runner's arguments that give symbolic dims their sizes."""
    sizes: list[str] = []
    ports = {p["name"]: (k, p) for k, p in enumerate(manifest["inputs"])}
    for name in inputs:
        if name not in ports:
            known = ", ".join(map(repr, ports)) or "none"
            raise InputError(f"the model has no input {name!r}; its inputs are {known}")
        number, port = ports[name]
        array = np.asarray(inputs[name])
        wanted = dtypes.numpy_dtype(port["dtype"])
        if array.dtype != wanted:
            raise InputError(f"input {name!r} is {array.dtype}, the model takes {port['dtype']}")
        if not fits(array.shape, port["shape"]):
            raise InputError(
                f"input {name!r} has shape {list(array.shape)}, the model takes {port['shape']}"
            )
        (folder / f"{number}.bin").write_bytes(dtypes.packed(array, port["dtype"]))
        sizes += _shape_words(port, {name: array.shape})
    return sizes


def _read_outputs(folder: Path, manifest: Mapping[str, Any]) -> dict[str, Array]:
    outputs: dict[str, Array] = {}
    lines = (folder / "index.txt").read_text(encoding="utf-8").split("\n")
    names = [p["name"] for p in manifest["outputs"]]
    for k, name in enumerate(names):  # names are the manifest's: one may contain a line break
        row = next(fields for line in lines if (fields := line.split(" "))[0] == str(k))
        shape = tuple(int(d) for d in row[3 : 3 + int(row[2])])
        data = (folder / f"{k}.bin").read_bytes()
        outputs[name] = dtypes.unpacked(data, row[1], prod(shape)).reshape(shape)
    return outputs


def text_bytes(path: str | Path, arch: str) -> int:
    """Bytes of machine code in a program, object or library (its ``.text`` sections).

    A runner contains libc; the ``libmodel.a`` beside it is runtime and kernels alone.
    """
    prefix = "" if is_own_family(arch) else find_compiler(arch).removesuffix("gcc")
    tool = f"{prefix}size"
    if shutil.which(tool) is None:
        raise ToolError(f"{tool} is missing; apt install binutils")
    done = subprocess.run([tool, "-A", str(path)], capture_output=True, text=True)
    if done.returncode != 0:
        raise ToolError(f"{tool} cannot read {path}: {done.stderr.strip()}")
    rows = (line.split() for line in done.stdout.splitlines() if line.startswith(".text"))
    return sum(int(row[1]) for row in rows)
