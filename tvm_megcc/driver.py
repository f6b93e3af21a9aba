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
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tvm_megcc.advice import advice
from tvm_megcc.core import board_table, model_file
from tvm_megcc.core.contents import to_bytes
from tvm_megcc.core.machine import by_architecture
from tvm_megcc.core.program import Bundle, Program
from tvm_megcc.dynamic_options import check_arena
from tvm_megcc.errors import InputError
from tvm_megcc.host import decoder, extern_sources, files, toolchain
from tvm_megcc.host.package import is_package
from tvm_megcc.options import DEFAULT, WRITING, AnyPath, CompileOptions, given
from tvm_megcc.target import resolve_for
from tvm_megcc.tokenizer import read_tokenizer
from tvm_megcc.tuning import records

if TYPE_CHECKING:
    import onnx

Progress = Callable[[str], None]


def _silent(line: str) -> None:
    """Nobody wants to know."""


#: Output formats: a package, a TVM library, a Model Library Format tar, an Arduino library.
FORMATS = ("c", "so", "mlf", "arduino")


def compile_model(
    model: AnyPath | onnx.ModelProto,
    out: AnyPath,
    options: CompileOptions = DEFAULT,
    *,
    progress: Progress | None = None,
    advise: Progress = _silent,
    summarise: Progress = _silent,
    **fields: Any,
) -> dict[str, Program | Bundle]:
    """Compile a model and write the result.

    Parameters
    ----------
    model : path or onnx.ModelProto
        The end of the path says the format; see `tvm_megcc.importers.import_model`.
    out : path
        A directory, a ``.tar`` or a ``.so``. An earlier output of ours is replaced, in one step and
        only by a complete one; a directory with anything else in it is refused.
    options : CompileOptions
    progress : callable, optional
        Called with the name of each stage as it begins, and with how far a long one is.
    advise : callable
        Called with a line for each dim of which more knowledge would help, and for records that are
        of no use.
    summarise : callable
        Called with a line on what was written.
    **fields
        Fields of `tvm_megcc.options.CompileOptions`, instead of those of `options`.

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
    options = given("compile_model", options, fields)
    fmt = output_format(out, options.fmt)
    options = replace(options, fmt=fmt)
    check_writing(out, options)
    names = resolve_for(options.board, options.archs)
    if fmt == "so" and len(by_architecture(names)) > 1:
        raise InputError(f"'{out}': a library is for one architecture, not {', '.join(names)}")
    check_output(out, fmt)
    options.check(model)
    if fmt == "so":
        toolchain.check_compiler(options.compiler, names[0])
    extern_sources.sources(options.externs)
    if options.generate is not None:
        read_tokenizer(Path(options.generate))
        options = replace(options, states=_states(options, model))
    dump = None if options.dump_ir is None else IrDump(options.dump_ir)
    with records.applied_from(options.tuning_records, advise):
        programs = compile_programs(
            model, names, options, dump_ir=dump, progress=progress, advise=advise
        )
    manifest = write_output(programs, out, options, progress, advise)
    summarise(summary(out, manifest, time.monotonic() - begin, options.board))
    return programs


def _states(options: CompileOptions, model: AnyPath | onnx.ModelProto) -> Sequence[str]:
    """States of a language model: those of the options, else its caches that can be some."""
    if options.states or model_file.kind(model) in model_file.NAMES:
        return options.states
    from tvm_megcc.frontend.cache_states import cache_states

    return cache_states(model)


def check_writing(out: Path, options: CompileOptions) -> None:
    """Refuse options that the output's format has no use for."""
    fmt, weights = options.fmt, options.weights
    if fmt == "so" and weights == "bin":
        raise InputError(f"'{out}': a library has its weights inside; leave out --weights bin")
    if fmt == "arduino" and weights == "bin":
        raise InputError(f"'{out}': a sketch has no file to map; leave out --weights bin")
    if fmt == "so" and options.stepping:
        raise InputError(f"'{out}': a library runs a model as a whole; leave out --stepping")
    if fmt == "so" and options.generate is not None:
        raise InputError(f"'{out}': a library runs a model as a whole; leave out --generate")
    if fmt != "so" and options.compiler is not None:
        raise InputError(
            f"'{out}': a package is C source, which its own make compiles"
            f" (make CC={options.compiler}); leave out --cc"
        )


def summary(
    out: Path, manifest: Mapping[str, Any], seconds: float, board: str | None = None
) -> str:
    """A line on an output: architectures with weights, arena and kernels; seconds it took."""
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
    room = ""
    if board is not None:
        found = board_table.board(board)
        room = f"; {found.name} has {found.flash:,} bytes of flash, {found.ram:,} of RAM"
    return f"'{out}': {', '.join(rows)}{room}; {seconds:.1f} s"


def compile_programs(
    model: AnyPath | onnx.ModelProto,
    archs: Sequence[str],
    options: CompileOptions = DEFAULT,
    *,
    dump_ir: Callable[[str, str], None] | None = None,
    progress: Progress | None = None,
    advise: Progress = _silent,
    **fields: Any,
) -> dict[str, Program | Bundle]:
    """Compile a model for each architecture, without writing anything.

    See `compile_model`; `dump_ir` is called with ``<stage>`` (``<arch>/<stage>`` when there are
    several architectures) and the text of the module after it.
    """
    options = given("compile_programs", options, fields, WRITING)
    options.check(model)
    if options.cache_dtype is not None:
        options = replace(options, states=_states(options, model))
    tell = progress or (lambda stage: None)
    tell("import")
    from tvm_megcc import pipeline
    from tvm_megcc.relax_tools.exprs import unaligned_constants

    with unaligned_constants():
        imported = options.dynamic.imported(
            model, options.input_shapes, options.params, options.states
        )
    programs: dict[str, Program | Bundle] = {}
    entry = pipeline.Entry.of(imported, options.name)
    compiled = pipeline.compile_for_each(imported.mod, archs, entry, options)
    for arch in archs:
        tell(f"compile for {arch}")
        dump = dump_ir
        if dump_ir is not None and len(archs) > 1:
            dump = partial(_dump_for, dump_ir, arch)
        programs[arch] = compiled(arch, dump)
    check_arena(options.dynamic, programs.values())
    for line in advice(imported, options.dynamic, programs[archs[0]]):
        advise(line)
    return programs


def _dump_for(dump: Callable[[str, str], None], arch: str, stage: str, text: str) -> None:
    dump(f"{arch}/{stage}", text)


class IrDump:
    """Writes the module after each stage to numbered files; the file before is a stage's input."""

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
    """The output's format by an option, else by the end of its name."""
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
    """Raise InputError, before any work, for an output that cannot be written.

    Its place does not exist, or holds something that we have not written.
    """
    if fmt in ("c", "arduino") and out.suffix != ".tar":
        files.check_directory(out, is_package)
    else:
        files.check_file(out)


def package_files(
    programs: Mapping[str, Program | Bundle],
    options: CompileOptions = DEFAULT,
    advise: Progress = _silent,
) -> dict[str, Any]:
    """The package of some programs as ``{path: text or bytes}``."""
    from tvm_megcc.codegen_c import emit

    name = next(iter(programs.values())).name
    weights, stepping = options.weights, options.stepping
    texts = None
    if options.generate is not None:
        texts = decoder.texts(Path(options.generate), programs)
        if texts.remark:
            advise(texts.remark)
    found = emit.package(
        dict(programs),
        name=name,
        weights=weights,
        stepping=stepping,
        tokenizer=None if texts is None else texts.tokenizer,
    )
    if texts is not None and texts.template is not None:
        found[decoder.TEMPLATE] = texts.template
    return dict(sorted(found.items()))


def write_output(
    programs: Mapping[str, Program | Bundle],
    out: Path,
    options: CompileOptions,
    progress: Progress | None = None,
    advise: Progress = _silent,
) -> dict[str, Any]:
    """Write compiled programs in the format of `options`, one of `FORMATS`; return the manifest."""
    from tvm_megcc.codegen_c import emit

    tell = progress or (lambda stage: None)
    tell("emit C")
    fmt = options.fmt
    if fmt == "arduino":
        # what builds it copies what it compiles, and no other files
        options = replace(options, weights="c")
    package = extern_sources.with_sources(package_files(programs, options, advise), options.externs)
    if fmt == "arduino":
        package = emit.arduino.layout(package)
    name = next(iter(programs.values())).name
    manifest: dict[str, Any] = json.loads(to_bytes(package["manifest.json"]))
    if fmt == "so":
        from tvm_megcc.host import shared_library

        extern_sources.check_supplied(package, options.externs)
        tell("build the library")
        with files.replacing(out) as fresh:
            arch = next(iter(programs))
            shared_library.build(package, arch, fresh, compiler=options.compiler, progress=progress)
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
