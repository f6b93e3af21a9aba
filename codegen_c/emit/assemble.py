"""``{arch: Program or Bundle}`` -> the files of a C package.

What enters is one planned `Program` per architecture, or a `Bundle` of several for different
shapes; what leaves is ``{path: text or bytes}``. Pure and deterministic: equal input gives equal
bytes.

Example
-------
>>> from ...core.program import Program
>>> empty = Program("net", "portable", (), (), (), (), (), (), arena_bytes=0)
>>> "include/megcc.h" in package({"portable": empty}, name="net")
True
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace

from tvm_megcc.codegen_c.emit import bytecode, cortexm
from tvm_megcc.codegen_c.emit.build_files import (
    cmake,
    cmsis_pack,
    makefile,
    pkg_config,
    platformio,
    zephyr,
)
from tvm_megcc.codegen_c.emit.compiled import (
    Compiled,
    can_draw,
    can_fail,
    opcodes_of,
    runtime_parts,
)
from tvm_megcc.codegen_c.emit.kernel_files import add_headers, kernel_files
from tvm_megcc.codegen_c.emit.manifest import input_ports, manifest, output_ports, readme
from tvm_megcc.codegen_c.emit.manifest_text import manifest_text
from tvm_megcc.codegen_c.emit.model_header import header
from tvm_megcc.codegen_c.emit.model_source import (
    binary,
    has_builds,
    model_c,
    runner_features_h,
    runner_h,
    tokenizer_c,
    weights_c,
)
from tvm_megcc.codegen_c.emit.weight_segments import Layout, lay_out
from tvm_megcc.codegen_c.sources import package_text, runtime_text
from tvm_megcc.core.contents import Content, Parts, update
from tvm_megcc.core.machine import ARCHITECTURES, machine
from tvm_megcc.core.program import Bundle, Program, bundle_of
from tvm_megcc.errors import InputError

RUNTIME = (
    "megcc_context.c", "megcc_model.c", "megcc_model_info.c", "megcc_opcodes.def", "megcc_poison.c",
    "megcc_port.h", "megcc_ports.c", "megcc_run.c", "megcc_status.c", "megcc_vm.h",
)  # fmt: skip

#: The program around the model: `main` and what it is made of.
RUNNER = (
    "main.c", "runner/context.c", "runner/counters.c", "runner/errors.c", "runner/files.c",
    "runner/inputs.c", "runner/loading.c", "runner/memory.c", "runner/options.c",
    "runner/outputs.c", "runner/profile.c", "runner/runner.h", "runner/times.c",
)  # fmt: skip

#: What a package of a language model has for its text, by the place in it.
GENERATE = {
    "include": ("megcc_cache.h", "megcc_generate.h", "megcc_sampler.h", "megcc_tokenizer.h"),
    "src": (
        "megcc_cache.c", "megcc_cache_parts.h", "megcc_decode.c", "megcc_encode.c",
        "megcc_generate.c", "megcc_sampler.c", "megcc_tokenizer.c", "megcc_tokenizer_image.h",
        "megcc_unicode.c",
    ),
}  # fmt: skip

#: How weights come into a program, and what of the runtime each way takes.
WEIGHT_HEADERS: Mapping[str, tuple[str, ...]] = {
    "incbin": ("megcc_align.h", "megcc_incbin.h"),
    "c": ("megcc_align.h",),
    "bin": (),
}


#: Names whose ``include/<name>.h`` would stand before a header of the system or of ours.
_HEADERS = frozenset(
    "assert complex ctype errno fenv float inttypes iso646 limits locale main malloc math megcc "
    "memory pthread sched setjmp signal stdalign stdarg stdatomic stdbool stddef stdint stdio "
    "stdlib stdnoreturn string strings tgmath threads time uchar unistd wchar wctype".split()
)


def c_name(name: str) -> str:
    """``name`` as a C identifier: the prefix of everything the package exports.

    >>> c_name("mobile-net v2"), c_name("3d"), c_name("time")
    ('mobile_net_v2', 'm_3d', 'm_time')
    """
    ident = re.sub(r"\W", "_", name, flags=re.ASCII) or "model"
    taken = ident.lower() in _HEADERS or ident.lower().startswith("megcc_")
    return f"m_{ident}" if ident[0].isdigit() or taken else ident


def module_name(name: str) -> str:
    """The name that a user gives a package: the prefix of what it exports, unchanged.

    Raises
    ------
    InputError
        It is no identifier of C, or is taken.
    """
    usable = c_name(name)
    if usable != name:
        raise InputError(
            f"module name {name!r} cannot begin the names of a C library; take {usable!r}"
        )
    return name


def package(
    programs: Mapping[str, Program | Bundle],
    *,
    name: str,
    weights: str = "incbin",
    stepping: bool = False,
    tokenizer: bytes | None = None,
) -> dict[str, Content]:
    """Emit the package of a model.

    Parameters
    ----------
    programs : mapping of architecture to Program or Bundle
        Planned programs of one model, with equal inputs and outputs.
    name : str
        Model name; its C form (`c_name`) is the prefix of the exported symbols.
    weights : {"incbin", "c", "bin"}
        Weights in files that the compiler takes into the objects, or as literals in C, the program
        as a const array beside them; or both as one ``model/model_<arch>.bin`` per architecture.
    stepping : bool
        Whether it has the functions of ``megcc_step.h``, by which a run is done in pieces.

    tokenizer : bytes, optional
        Image of a language model's tokenizer: the package then has the functions of
        ``megcc_generate.h``.

    Returns
    -------
    dict
        Sorted paths inside the package -> contents.

    Raises
    ------
    InputError
        No or an unknown architecture, programs whose inputs or outputs differ, too many memory
        pools or pools whose names are one in C.
    UnsupportedError
        A size or a number does not fit in 32 bits.
    """
    bundles = {a: bundle_of(p) for a, p in programs.items()}
    _check(bundles)
    ident = c_name(name)
    archs = tuple(sorted(bundles))
    codes = {a: Compiled.of(replace(bundles[a], name=name)) for a in archs}
    layout = lay_out({a: [c.program for c in codes[a].codes] for a in archs})
    kernels = kernel_files({a: codes[a].kernels for a in archs})
    blobs = {
        a: bytecode.encode(
            codes[a].bundle,
            codes[a].functions(layout.local(a)),
            symbols=kernels.symbols[a],
            segments=[layout.segments[k].data for k in layout.of(a)],
        )
        for a in archs
    }

    out: dict[str, Content] = {"include/megcc.h": runtime_text("include/megcc.h")}
    for path in (*RUNTIME, *WEIGHT_HEADERS[weights]):
        out[f"src/{path}"] = runtime_text(f"src/{path}")
    for path in (*runtime_parts(codes), *(("megcc_machine",) if has_builds(codes) else ())):
        out[f"src/{path}.c"] = runtime_text(f"src/{path}.c")
    used = opcodes_of(codes)
    if {"BAND", "BAND_SIZED"} & {*used}:
        out["src/megcc_bands.h"] = runtime_text("src/megcc_bands.h")
    if "FEED" in used:
        for path in ("src/megcc_rows.c", "src/megcc_rows.h"):
            out[path] = runtime_text(path)
    if stepping or "FEED" in used:
        for path in ("include/megcc_step.h", "src/megcc_step.c"):
            out[path] = runtime_text(path)
    for file in kernels.files:
        out[file.path] = file.text(archs)
    if any(file.extern for file in kernels.files):
        out["include/megcc_extern.h"] = runtime_text("include/megcc_extern.h")
    add_headers(out, [file.body for file in kernels.files])

    mark = content_mark(blobs, layout)
    out[f"include/{ident}.h"] = header(ident, mark, codes, weights, generates=tokenizer is not None)
    out["model/model.c"] = model_c(ident, mark, codes, layout, kernels.symbols, blobs, weights)
    if weights != "bin":
        embedded = weights == "incbin"
        for k, segment in enumerate(layout.segments):
            out[f"model/weights{k}.c"] = weights_c(ident, k, layout, archs, embedded=embedded)
            if embedded:
                out[f"model/weights{k}.c.bin"] = segment.data
    else:
        for a in archs:
            out[f"model/model_{a}.bin"] = binary(blobs[a], a, layout)
    if tokenizer is not None:
        embedded = weights != "c"
        for folder, names in GENERATE.items():
            for path in names:
                out[f"{folder}/{path}"] = runtime_text(f"generate/{path}")
        for path in ("megcc_align.h", *(("megcc_incbin.h",) if embedded else ())):
            out[f"src/{path}"] = runtime_text(f"src/{path}")
        out["model/tokenizer.c"] = tokenizer_c(ident, tokenizer, embedded=embedded)
        if embedded:
            out["model/tokenizer.c.bin"] = tokenizer
        out["runner/generate.c"] = package_text("runner/generate.c")
    shaped = any(code.is_shaped for code in codes.values())
    fails, draws = can_fail(used), can_draw(used)
    out["runner/model.h"] = runner_h(ident, archs, weights, generates=tokenizer is not None)
    out["runner/features.h"] = runner_features_h(
        shaped=shaped, fails=fails, draws=draws, generates=tokenizer is not None
    )
    for path in RUNNER:
        out[path] = package_text(path)
    out["include/megcc_pool.h"] = runtime_text("include/megcc_pool.h")
    out["megcc_pool.c"] = runtime_text("src/megcc_pool.c")
    machines = kernels.machines
    small = any(code.is_small for code in codes.values())
    out["Makefile"] = makefile(ident, machines, small=small)
    out["CMakeLists.txt"] = cmake(ident, machines, small=small)
    version = f"{bytecode.VERSION}.{bytecode.ABI}"
    out[f"megcc_{ident}.pc.in"] = pkg_config(ident, version)
    out |= zephyr(ident, archs) | platformio(ident, f"{version}.0", archs)
    out |= cmsis_pack(ident, f"{version}.0", archs, out)
    facts = manifest(name, ident, codes, layout, kernels.files, kernels.symbols, blobs, weights)
    if tokenizer is not None:
        facts["generates"] = True
    out["manifest.json"] = manifest_text(facts)
    out["README.md"] = readme(name, ident, facts)
    out |= cortexm.example(ident, codes, facts, weights)
    return dict(sorted(out.items()))


def content_mark(blobs: Mapping[str, bytes], layout: Layout) -> str:
    """A hash of programs and weights, by which packages of one name differ."""
    digest = hashlib.sha256()
    parts: list[bytes | Parts] = [blobs[a] for a in sorted(blobs)]
    for part in (*parts, *(s.data for s in layout.segments)):
        digest.update(len(part).to_bytes(8, "little"))
        update(digest, part)
    return digest.hexdigest()[:8]


def _check(bundles: Mapping[str, Bundle]) -> None:
    if not bundles:
        known = ", ".join(ARCHITECTURES)
        raise InputError(f"package without an architecture; name one of {known}")
    for arch in sorted(bundles):
        if machine(arch).name != arch:
            raise InputError(f"architecture {arch!r} is called {machine(arch).name!r}; use that")
    first = bundles[min(bundles)]
    for arch in sorted(bundles):
        for side, ports in (("inputs", input_ports), ("outputs", output_ports)):
            mine, other = ports(bundles[arch]), ports(first)
            if mine != other:
                raise InputError(
                    f"the {side} for {arch} are {mine}, for {min(bundles)} {other}; "
                    "compile all architectures from one model"
                )
