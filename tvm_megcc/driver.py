"""The user's request -> files on disk. The only room, with the command line, that touches the disk.

Enters: a model, architectures, an output. Leaves: a package directory, a tar of it, a TVM library
(``.so``) or a Model Library Format tar, each written whole or not at all.

Example
-------
>>> compile_model("model.onnx", "model_pkg", archs=["host", "arm64"])  # doctest: +SKIP
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tvm_megcc import memory_options
from tvm_megcc.advice import advice
from tvm_megcc.core import model_file
from tvm_megcc.core.contents import to_bytes
from tvm_megcc.core.machine import by_architecture
from tvm_megcc.core.preference import DEFAULT as BALANCED
from tvm_megcc.core.preference import Preference
from tvm_megcc.core.program import Bundle, Program
from tvm_megcc.dims import GivenDim
from tvm_megcc.dynamic_options import STATIC, DynamicOptions, check_arena
from tvm_megcc.errors import InputError
from tvm_megcc.host import extern_sources, files, toolchain
from tvm_megcc.host.package import is_package
from tvm_megcc.memory_options import DEFAULT, IO_PLACES, MemoryOptions
from tvm_megcc.target import resolve
from tvm_megcc.tuning import records

if TYPE_CHECKING:
    import onnx

Shapes = Mapping[str, Sequence[GivenDim]]
Params = Mapping[str, Any]
Progress = Callable[[str], None]


def _silent(line: str) -> None:
    """Nobody wants to know."""


#: Output formats: a package, a TVM library, a Model Library Format tar, an Arduino library.
FORMATS = ("c", "so", "mlf", "arduino")


def compile_model(
    model: str | os.PathLike[str] | onnx.ModelProto,
    out: str | os.PathLike[str],
    *,
    archs: Sequence[str] = ("host",),
    input_shapes: Shapes | None = None,
    params: Params | None = None,
    fmt: str | None = None,
    weights: str = "incbin",
    stepping: bool = False,
    name: str | None = None,
    io: str = "caller",
    memory: MemoryOptions = DEFAULT,
    preference: Preference = BALANCED,
    dynamic: DynamicOptions = STATIC,
    externs: Sequence[str | os.PathLike[str]] = (),
    tuning_records: Sequence[str | os.PathLike[str]] = (),
    dump_ir: str | os.PathLike[str] | None = None,
    compiler: str | None = None,
    progress: Progress | None = None,
    advise: Progress = _silent,
    summarise: Progress = _silent,
) -> dict[str, Program | Bundle]:
    """Compile a model and write the result.

    Parameters
    ----------
    model : path or onnx.ModelProto
        The end of the path says the format; see `tvm_megcc.importers.import_model`.
    out : path
        A directory, a ``.tar`` or a ``.so``. An earlier output of ours is replaced, in one step and
        only by a complete one; a directory with anything else in it is refused.
    archs : sequence of str
        Machines of `tvm_megcc.core.machine`: ``host``, ``arm64+dotprod``, ``x86+avx2``, ...; those
        of a ``.so`` are of one architecture.
    input_shapes : mapping of input name to dims, optional
        See `tvm_megcc.frontend.from_onnx`.
    params : mapping of str to array, optional
        Values of a Relax module's inputs, which become constants.
    fmt : {"c", "so", "mlf", "arduino"}, optional
        By default a name that ends in ``.so`` is a TVM library, anything else a package.
    weights : {"incbin", "c", "bin"}
        Weights in files that the C compiler takes into the objects, or as C source; or all of the
        model as one file to map.
    stepping : bool
        Whether the package can do a run in pieces (``megcc_step.h``).
    name : str, optional
        The model's name in the package: an identifier, with which its symbols, header and library
        begin; by default the file's name.
    io : {"caller", "arena"}
        Whether inputs and outputs live in buffers of the caller or in the arena.
    memory : MemoryOptions
        How the arena is planned, and how large it may be.
    preference : Preference
        What decides between kernels that differ in speed and size.
    dynamic : DynamicOptions
        Listed shapes or buckets, each served by a program of its own; dims to tell apart.
    externs : sequence of path
        C files with the functions that the model calls and that its package does not have.
    tuning_records : sequence of path
        What `tvmc tune` measured: each call gets the best kernel that is known for it.
    dump_ir : path, optional
        A directory for the module before and after each pass.
    compiler : str, optional
        The C compiler of a library, instead of `tvm_megcc.host.toolchain.find_compiler`'s.
    progress : callable, optional
        Called with the name of each stage as it begins, and with how far a long one is.
    advise : callable
        Called with a line for each dim of which more knowledge would help, and for records that are
        of no use.
    summarise : callable
        Called with a line on what was written.

    Returns
    -------
    dict of str to Program or Bundle
        What was compiled, by architecture.

    Raises
    ------
    tvm_megcc.errors.MegccError
        For anything wrong with the model, the options, the output's place or the C compiler.
    """
    begin = time.monotonic()
    out = Path(out)
    fmt = output_format(out, fmt)
    if fmt == "so" and weights == "bin":
        raise InputError(f"'{out}': a library has its weights inside; leave out --weights bin")
    if fmt == "arduino" and weights == "bin":
        raise InputError(f"'{out}': a sketch has no file to map; leave out --weights bin")
    if fmt == "so" and stepping:
        raise InputError(f"'{out}': a library runs a model as a whole; leave out --stepping")
    if fmt != "so" and compiler is not None:
        raise InputError(
            f"'{out}': a package is C source, which its own make compiles (make CC={compiler});"
            " leave out --cc"
        )
    names = resolve(archs)
    if fmt == "so" and len(by_architecture(names)) > 1:
        raise InputError(f"'{out}': a library is for one architecture, not {', '.join(names)}")
    check_output(out, fmt)
    check_request(model, params=params, name=name, io=io, memory=memory)
    if fmt == "so":
        toolchain.check_compiler(compiler, names[0])
    extern_sources.sources(externs)
    dump = None if dump_ir is None else IrDump(dump_ir)
    with records.applied_from(tuning_records, advise):
        programs = compile_programs(
            model,
            names,
            input_shapes=input_shapes,
            params=params,
            name=name,
            io=io,
            memory=memory,
            preference=preference,
            dynamic=dynamic,
            dump_ir=dump,
            progress=progress,
            advise=advise,
        )
    manifest = write_output(
        programs,
        out,
        fmt=fmt,
        weights=weights,
        stepping=stepping,
        externs=externs,
        compiler=compiler,
        progress=progress,
    )
    summarise(summary(out, manifest, time.monotonic() - begin))
    return programs


def summary(out: Path, manifest: Mapping[str, Any], seconds: float) -> str:
    """One line on an output: architectures with weights, arena and kernels; the time it took."""
    rows = []
    for arch in manifest["archs"]:
        facts = manifest["per_arch"][arch]
        arena = facts["arena_bytes"]
        limits = [f.get("arena_limit", f["arena_bytes"]) for f in facts.get("functions", ())]
        said = "by shape" if arena is None else f"{arena:,} bytes"
        if limits and None not in limits:
            said += f", at most {max(limits):,} bytes"
        rows.append(
            f"{arch} (weights {facts['weight_bytes']:,} bytes, arena {said},"
            f" {len(facts['kernels'])} kernels)"
        )
    return f"'{out}': {', '.join(rows)}; {seconds:.1f} s"


def compile_programs(
    model: str | os.PathLike[str] | onnx.ModelProto,
    archs: Sequence[str],
    *,
    input_shapes: Shapes | None = None,
    params: Params | None = None,
    name: str | None = None,
    io: str = "caller",
    memory: MemoryOptions = DEFAULT,
    preference: Preference = BALANCED,
    dynamic: DynamicOptions = STATIC,
    dump_ir: Callable[[str, str], None] | None = None,
    progress: Progress | None = None,
    advise: Progress = _silent,
) -> dict[str, Program | Bundle]:
    """Compile a model for each architecture, without writing anything.

    See `compile_model`; `dump_ir` is called with ``<stage>`` (``<arch>/<stage>`` when there are
    several architectures) and the text of the module after it.
    """
    check_request(model, params=params, name=name, io=io, memory=memory)
    tell = progress or (lambda stage: None)
    tell("import")
    from tvm_megcc import importers, pipeline
    from tvm_megcc.relax_tools.exprs import unaligned_constants

    with unaligned_constants():
        imported = importers.import_model(
            model, dynamic.import_shapes(input_shapes), params, dynamic.distinct_dims
        )
    dynamic.apply(imported)
    programs: dict[str, Program | Bundle] = {}
    for arch in archs:
        tell(f"compile for {arch}")
        dump = dump_ir
        if dump_ir is not None and len(archs) > 1:
            dump = partial(_dump_for, dump_ir, arch)
        programs[arch] = pipeline.compile_module(
            imported.mod,
            arch,
            name=name or imported.name,
            input_names=[port.name for port in imported.inputs],
            output_names=[port.name for port in imported.outputs],
            input_dtypes=[port.dtype for port in imported.inputs],
            output_dtypes=[port.dtype for port in imported.outputs],
            io=io,
            memory_options=memory,
            dump_ir=dump,
            preference=preference,
        )
    check_arena(dynamic, programs.values())
    for line in advice(imported, dynamic, programs[archs[0]]):
        advise(line)
    return programs


def check_request(
    model: str | os.PathLike[str] | onnx.ModelProto,
    *,
    params: Params | None = None,
    name: str | None = None,
    io: str = "caller",
    memory: MemoryOptions = DEFAULT,
) -> None:
    """Refuse what no model is needed to refuse, before TVM is loaded; see `compile_model`.

    Raises
    ------
    InputError
        The file is no model, or an option has no such value.
    """
    if io not in IO_PLACES:
        raise InputError(f"io {io!r} is not known; choose from {', '.join(IO_PLACES)}")
    if name is not None:
        from tvm_megcc.codegen_c import emit

        emit.module_name(name)
    memory_options.check(memory)
    if isinstance(model, str | os.PathLike):
        model_file.check(model, has_params=bool(params))


def _dump_for(dump: Callable[[str, str], None], arch: str, stage: str, text: str) -> None:
    dump(f"{arch}/{stage}", text)


class IrDump:
    """Writes what leaves each stage to numbered files: a stage's "before" is the file before it."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        files.check_folder(self.directory, "--dump-ir")
        self.counts: dict[str, int] = {}

    def __call__(self, stage: str, text: str) -> None:
        arch, _, stage = stage.rpartition("/")
        number = self.counts.setdefault(arch, 0)
        path = self.directory / arch / f"{number:02d}_{stage}.txt"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
        except OSError as error:
            raise InputError(f"--dump-ir: '{path}' cannot be written ({error.strerror})") from error
        self.counts[arch] += 1


def output_format(out: Path, fmt: str | None = None) -> str:
    """The format meant by a name and an option, either of which may say nothing."""
    if fmt is None:
        return "so" if out.suffix == ".so" else "c"
    if fmt == "tar":
        if out.suffix != ".tar":
            raise InputError(f"'{out}': the output of -f tar must end in .tar; rename it")
        return "c"
    if fmt not in FORMATS:
        raise InputError(f"format {fmt!r} is not known; choose from tar, {', '.join(FORMATS)}")
    if (fmt == "so") != (out.suffix == ".so"):
        wanted = "must end in .so" if fmt == "so" else "must not end in .so"
        raise InputError(f"'{out}': the output of -f {fmt} {wanted}; rename it")
    if fmt == "mlf" and out.suffix != ".tar":
        raise InputError(f"'{out}': the output of -f mlf must end in .tar; rename it")
    return fmt


def check_output(out: Path, fmt: str) -> None:
    """Refuse, before any work, an output that cannot be written.

    Raises
    ------
    InputError
        When the place does not exist or holds something that is not ours.
    """
    if fmt in ("c", "arduino") and out.suffix != ".tar":
        files.check_directory(out, is_package)
    else:
        files.check_file(out)


def package_files(
    programs: Mapping[str, Program | Bundle], weights: str = "incbin", stepping: bool = False
) -> dict[str, Any]:
    """The package of some programs as ``{path: text or bytes}``."""
    from tvm_megcc.codegen_c import emit

    name = next(iter(programs.values())).name
    return dict(emit.package(dict(programs), name=name, weights=weights, stepping=stepping))


def write_output(
    programs: Mapping[str, Program | Bundle],
    out: Path,
    *,
    fmt: str,
    weights: str = "incbin",
    stepping: bool = False,
    externs: Sequence[str | os.PathLike[str]] = (),
    compiler: str | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Write compiled programs in one of `FORMATS`; the package's manifest."""
    from tvm_megcc.codegen_c import emit

    tell = progress or (lambda stage: None)
    tell("emit C")
    if fmt == "arduino":
        weights = "c"  # what builds it copies what it compiles, and no other files
    emitted = package_files(programs, weights, stepping)
    package = extern_sources.with_sources(emitted, externs)
    if fmt == "arduino":
        package = emit.arduino.layout(package)
    name = next(iter(programs.values())).name
    manifest: dict[str, Any] = json.loads(to_bytes(package["manifest.json"]))
    if fmt == "so":
        from tvm_megcc.host import shared_library

        extern_sources.check_supplied(package, externs)
        tell("build the library")
        with files.replacing(out) as fresh:
            arch = next(iter(programs))
            shared_library.build(package, arch, fresh, compiler=compiler, progress=progress)
        return manifest
    tell("write")
    if fmt == "mlf":
        from tvm_megcc.host import mlf

        files.write_tar(mlf.layout(programs, package), out)
    elif out.suffix == ".tar":
        files.write_tar(package, out, prefix=f"{emit.c_name(name)}/")
    else:
        files.write_directory(package, out, is_ours=is_package)
    return manifest
