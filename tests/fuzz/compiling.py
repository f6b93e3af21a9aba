"""Compile models in a process of its own, with a limit on its memory and its time.

Enters: an ONNX file's bytes and architectures. Leaves: for each, the C sources that are the model's
own and its image; or what went wrong.
"""

from __future__ import annotations

import resource
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz import process
from tests.fuzz.process import ROOT, Died
from tests.fuzz.serving import AS_IT_IS, KINDS, Serving
from tvm_megcc.core.splitting import PIECE

#: What one compilation may take: seconds of processor time, and bytes.
SECONDS, BYTES = 60, 4 << 30
#: Nobody waits longer than this for a reply, on however slow a machine.
WALL_SECONDS = 300


@dataclass(frozen=True)
class Package:
    """One architecture's part of a package, as far as the fuzzer's program needs it.

    Attributes
    ----------
    sources : dict
        Kernel files by path, and ``model/model.c``.
    inputs, outputs : tuple of str
        The ports in the package's order.
    """

    name: str
    arch: str
    sources: dict[str, str]
    header: str
    image: bytes
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass
class Compiled:
    """The outcome of one compilation.

    Attributes
    ----------
    refusal : str
        The sentence, where it was refused.
    internal : str
        The traceback, where it failed otherwise.
    trouble : str
        What happened to the process: it died, or took too much.
    """

    packages: dict[str, Package] = field(default_factory=dict)
    refusal: str = ""
    kind: str = ""
    internal: str = ""
    trouble: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Places:
    """Where ports live and may be used again, for how many threads, and in which bands of rows.

    For several, a call is worth splitting however little it does.

    Attributes
    ----------
    serve : str
        How open dims are served: one of `serving.KINDS`.
    stream : str or int
        As `MemoryOptions.stream`.
    """

    io: str = "caller"
    clobber_inputs: bool = False
    threads: int = 1
    serve: str = "open"
    stream: str | int = "off"


#: What seeds rotate through; the first is what holds when nothing is said.
PLACES = (
    Places(),
    Places("arena", threads=2),
    Places("caller", threads=3),
    Places("arena", clobber_inputs=True, threads=7),
    *(Places(serve=kind) for kind in KINDS[1:]),
    Places(stream=1),
    Places("arena", threads=3, stream=3),
)


def _compile(
    path: str,
    name: str,
    archs: Sequence[str],
    optimize: str,
    places: Places,
    serving: Serving,
    states: Sequence[str],
) -> Compiled:
    from tvm_megcc import driver
    from tvm_megcc.codegen_c import emit
    from tvm_megcc.core import splitting
    from tvm_megcc.core.preference import Preference
    from tvm_megcc.dynamic_options import DynamicOptions
    from tvm_megcc.errors import MegccError
    from tvm_megcc.memory_options import MemoryOptions
    from tvm_megcc.target import resolve

    begin = time.process_time()
    found = Compiled()
    splitting.PIECE = 1 if places.threads > 1 else PIECE
    try:
        preference = Preference(optimize)
        memory = MemoryOptions(
            clobber_inputs=places.clobber_inputs, threads=places.threads, stream=places.stream
        )
        dynamic = DynamicOptions(serving.listed, serving.buckets)
        programs = driver.compile_programs(
            path, resolve(archs), name=name, preference=preference, io=places.io, memory=memory,
            input_shapes=serving.shapes, dynamic=dynamic, states=states,
        )  # fmt: skip
        for arch, program in zip(archs, programs.values(), strict=True):
            files = emit.package({resolve([arch])[0]: program}, name=name, weights="bin")
            found.packages[arch] = _package(name, arch, files)
    except MegccError as error:
        found.refusal, found.kind = str(error), type(error).__name__
    except MemoryError:
        found.trouble = f"needs more than {BYTES >> 30} GB"
    except BaseException:
        # Findings are files of the project: no path of this machine.
        found.internal = traceback.format_exc().replace(f"{ROOT}/", "")
    found.seconds = time.process_time() - begin
    return found


def _package(name: str, arch: str, files: dict[str, Any]) -> Package:
    import json

    facts = json.loads(files["manifest.json"])
    sources = {p: t for p, t in files.items() if p.startswith("src/kernels/")}
    sources["model/model.c"] = files["model/model.c"]
    (image,) = (
        bytes(data) for p, data in files.items() if p.startswith("model/") and p.endswith(".bin")
    )
    header = files[f"include/{name}.h"]
    ports = (tuple(p["name"] for p in facts[side]) for side in ("inputs", "outputs"))
    return Package(name, arch, sources, header, image, *ports)


class Compiler:
    """A process that compiles one model after another; it is started again when it dies."""

    def __init__(self, folder: Path, optimize: str) -> None:
        self.folder, self.optimize = folder, optimize
        entry = "from tests.fuzz.compiling import serve; serve()"
        self._process = process.Process(entry, folder / "compiler.log")

    def compile(
        self,
        model: bytes,
        name: str,
        archs: Sequence[str],
        places: Places = PLACES[0],
        serving: Serving = AS_IT_IS,
        states: Mapping[str, str] | None = None,
    ) -> Compiled:
        """Compile one model; never raises for what the model does."""
        pairs = tuple(f"{a}={b}" for a, b in (states or {}).items())
        path = self.folder / f"{name}.onnx"
        path.write_bytes(model)
        try:
            return self._request(
                str(path), name, tuple(archs), self.optimize, places, serving, pairs
            )
        finally:
            path.unlink(missing_ok=True)

    def _request(self, *request: object) -> Compiled:
        try:
            found: Compiled = self._process.ask(request, WALL_SECONDS)
        except Died as death:
            words = self._process.log.read_text(errors="replace")[-2000:]
            return Compiled(trouble=f"the compiler's process {death}: {words}")
        return found

    def close(self) -> None:
        """End the process."""
        self._process.close()


def serve() -> None:
    """Compile what is asked for, under the limit."""
    import tvm_megcc.driver  # noqa: F401  (before the limit: TVM maps much that it never touches)
    import tvm_megcc.frontend
    import tvm_megcc.pipeline  # noqa: F401

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + BYTES, used + BYTES))
    process.serve(_compile)
