"""``{arch: Program}`` -> the files of a C package.

What enters is one planned `Program` per architecture; what leaves is ``{path: text or bytes}``.
Pure and deterministic: equal input gives equal bytes.

Example
-------
>>> from ..program import Program
>>> empty = Program("net", "portable", (), (), (), (), (), (), arena_bytes=0)
>>> "include/megcc.h" in package({"portable": empty}, name="net")
True
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Literal

from ..errors import InputError
from ..program import ALIGNMENT, Program
from . import bytecode, guards
from .kernel_files import KernelFile, add_headers, kernel_files
from .prune import prune
from .sources import package_text, runtime_text
from .weights import Layout, c_literal, lay_out

FORMAT = 1  #: of manifest.json and the package layout

RUNTIME = ("megcc_context.c", "megcc_model.c", "megcc_status.c", "megcc_opcodes.def", "megcc_vm.h")
#: Sets of architectures that include a given one: most segments of one image (MEGCC_MAX_SEGMENTS).
MAX_SEGMENTS = 8
MAX_POOLS = 8  #: MEGCC_MAX_POOLS
ARCHS = ("arm64", "armv7", "portable", "x86")


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
    return f"m_{ident}" if ident[0].isdigit() or ident.lower() in _HEADERS else ident


def package(
    programs: Mapping[str, Program], *, name: str, weights: Literal["c", "bin"] = "c"
) -> dict[str, str | bytes]:
    """Emit the package of a model.

    Parameters
    ----------
    programs : mapping of architecture to Program
        Planned programs (``arena_bytes`` set) of one model, with equal inputs and outputs.
    name : str
        Model name; its C form (`c_name`) is the prefix of the exported symbols.
    weights : {"c", "bin"}
        Weights and program as const arrays in C, or as one ``model/model_<arch>.bin`` each.

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
    _check(programs)
    ident = c_name(name)
    archs = tuple(sorted(programs))
    codes = {a: bytecode.own_outputs(prune(programs[a])) for a in archs}
    layout = lay_out({a: codes[a].program for a in archs})
    kernels = kernel_files({a: codes[a].program.kernels for a in archs})
    blobs = {
        a: bytecode.encode(
            replace(codes[a], program=replace(codes[a].program, name=name)),
            symbols=kernels.symbols[a],
            placed=layout.local(a),
            segments=[layout.segments[k].data for k in layout.of(a)],
        )
        for a in archs
    }

    out: dict[str, str | bytes] = {"include/megcc.h": runtime_text("include/megcc.h")}
    for path in (*RUNTIME, *(("megcc_align.h",) if weights == "c" else ())):
        out[f"src/{path}"] = runtime_text(f"src/{path}")
    for opcode in _opcodes(codes):
        if (c_file := bytecode.handler(opcode)) is not None:
            out[f"src/{c_file}.c"] = runtime_text(f"src/{c_file}.c")
    for file in kernels.files:
        out[f"src/kernels/{file.stem}.c"] = file.text(archs)
    add_headers(out, [file.body for file in kernels.files])

    out[f"include/{ident}.h"] = _header(ident, name, codes, weights)
    out["model/model.c"] = _model_c(ident, codes, layout, kernels.symbols, blobs, weights)
    if weights == "c":
        for k in range(len(layout.segments)):
            out[f"model/weights{k}.c"] = _weights_c(ident, k, layout, archs)
    else:
        for a in archs:
            out[f"model/model_{a}.bin"] = _bin(blobs[a], a, layout)
    out["main.c"] = _main_c(ident, archs, weights)
    for path in ("Makefile", "CMakeLists.txt"):
        out[path] = package_text(path)
    manifest = _manifest(name, ident, codes, layout, kernels.files, kernels.symbols, blobs, weights)
    out["manifest.json"] = json.dumps(manifest, indent=1, sort_keys=True) + "\n"
    out["README.md"] = _readme(name, ident, manifest)
    return dict(sorted(out.items()))


def _check(programs: Mapping[str, Program]) -> None:
    if not programs:
        raise InputError(f"package without an architecture; name one of {', '.join(ARCHS)}")
    for arch in sorted(programs):
        if arch not in ARCHS:
            raise InputError(f"unknown architecture {arch!r}; name one of {', '.join(ARCHS)}")
    first = programs[min(programs)]
    for arch in sorted(programs):
        for side in ("inputs", "outputs"):
            mine, other = _ports(programs[arch], side), _ports(first, side)
            if mine != other:
                raise InputError(
                    f"the {side} for {arch} are {mine}, for {min(programs)} {other}; "
                    "compile all architectures from one model"
                )


def _ports(program: Program, side: str) -> list[dict[str, object]]:
    ports = program.inputs if side == "inputs" else program.outputs
    tensors = [program.tensors[p.tensor] for p in ports]
    return [
        {"name": p.name, "dtype": t.dtype, "shape": list(t.shape), "bytes": t.nbytes}
        for p, t in zip(ports, tensors, strict=True)
    ]


def _opcodes(codes: Mapping[str, bytecode.Code]) -> list[str]:
    used = {name for code in codes.values() for name in code.opcodes}
    return sorted(used, key=lambda name: bytecode.opcodes()[name])


def _generated(what: str, ident: str) -> str:
    return f"// {what} of the model package `{ident}`. Generated by tvm_megcc; do not edit.\n"


def _header(ident: str, name: str, codes: Mapping[str, bytecode.Code], weights: str) -> str:
    upper = ident.upper()
    sizes = {
        arch: f"#define {upper}_ARENA_BYTES {code.program.arena_bytes}\n"
        + _pool_macros(upper, code.program)
        + f"#define {upper}_CONTEXT_BYTES ({_context_words(code)} * sizeof(void *))\n"
        for arch, code in codes.items()
    }
    image = (
        f"extern const megcc_image_t {ident}_image;\n"
        if weights == "c"
        else "// The image is a file, model/model_<arch>.bin: see megcc_image_from_bytes.\n"
    )
    return (
        _generated("What C code needs to know", ident)
        + f"#ifndef MEGCC_MODEL_{upper}_H\n#define MEGCC_MODEL_{upper}_H\n\n"
        + '#include "megcc.h"\n\n'
        + "// For static allocation; at run time ask megcc_arena_bytes, megcc_context_bytes.\n"
        + guards.chain(sizes, '#error "this package was not compiled for this architecture"\n')
        + '\n#ifdef __cplusplus\nextern "C" {\n#endif\n\n'
        + image
        + f"extern const megcc_kernels_t {ident}_kernels;\n"
        + f"\n#ifdef __cplusplus\n}}\n#endif\n\n#endif  // MEGCC_MODEL_{upper}_H\n"
    )


def _pool_macros(upper: str, program: Program) -> str:
    """Number and bytes of each pool; the usual one has ``<NAME>_ARENA_BYTES`` and no more."""
    pools = bytecode.pools(program)
    if [pool.name for pool in pools] == ["arena"]:
        return ""
    if len(pools) > MAX_POOLS:
        raise InputError(f"{len(pools)} memory pools; give at most {MAX_POOLS}")
    rows: dict[str, int] = {}
    for number, pool in enumerate(pools):
        ident = re.sub(r"\W", "_", pool.name, flags=re.ASCII)
        macro = f"{upper}_POOL_{ident.upper()}"
        for key, value in ((macro, number), (f"{macro}_BYTES", pool.bytes)):
            if key in rows:
                raise InputError(f"memory pool {pool.name!r}: {key} is taken; rename the pool")
            rows[key] = value
    return "".join(f"#define {key} {value}\n" for key, value in rows.items())


def _context_words(code: bytecode.Code) -> int:
    """Pointers that a context fits in: see megcc_context_bytes (a test compares them)."""
    program = code.program
    ports = len(program.inputs) + len(program.outputs)
    operands = max((len(c.operands) for c in program.calls), default=0)
    return 16 + 2 * ports + len(bytecode.pools(program)) + MAX_SEGMENTS + ports + operands


def _model_c(
    ident: str,
    codes: Mapping[str, bytecode.Code],
    layout: Layout,
    symbols: Mapping[str, tuple[str, ...]],
    blobs: Mapping[str, bytes],
    weights: str,
) -> str:
    parts: dict[str, str] = {}
    for arch in codes:
        text = ""
        table = "".join(f"    {s},\n" for s in symbols[arch])
        for s in symbols[arch]:
            text += f"void {s}(void *const *, const int32_t *, void *, int32_t, int32_t);\n"
        # An empty initialiser is not C99; the count says that this entry is none.
        text += (
            f"\nstatic const megcc_kernel_fn kKernels[] = {{\n{table or '    0,' + chr(10)}}};\n"
        )
        mark = bytecode.fingerprint(symbols[arch])
        text += f"#define KERNEL_COUNT {len(symbols[arch])}\n"
        text += f"#define FINGERPRINT {{{mark & 0xFFFFFFFF:#010x}u, {mark >> 32:#010x}u}}\n"
        if weights == "c":
            text += _program_c(ident, arch, layout, blobs[arch])
        text += _plan_c(codes[arch].program, blobs[arch])
        parts[arch] = text
    names = _opcodes(codes)
    numbers = {bytecode.opcodes()[n]: n for n in names}
    rows = "".join(
        f"    {'&' + h if n in numbers and (h := bytecode.handler(numbers[n])) else '0'},"
        f"  // {numbers.get(n, 'not used')}\n"
        for n in range(max(numbers) + 1)
    )
    image = (
        f"\nconst megcc_image_t {ident}_image = {{\n    {{kProgram, sizeof kProgram}},\n"
        "    {SEGMENTS},\n};\n"
        if weights == "c"
        else ""
    )
    return (
        _generated("Program, kernel table and instruction table", ident)
        + f'#include "{ident}.h"\n#include "megcc_vm.h"\n\n'
        + guards.chain(parts, '#error "this package was not compiled for this architecture"\n')
        + f"\nstatic const megcc_op_t *const kOps[] = {{\n{rows}}};\n"
        + f"\nconst megcc_kernels_t {ident}_kernels = {{\n"
        + "    MEGCC_BUILD_ABI, KERNEL_COUNT, FINGERPRINT, kKernels, kOps,\n"
        + "    sizeof kOps / sizeof *kOps,\n#if defined(MEGCC_DEBUG)\n    &kPlan,\n#endif\n};\n"
        + image
    )


def _plan_c(program: Program, blob: bytes) -> str:
    """For a debug build: the blocks of the arena that die before the last call has returned.

    What lives longer may be an output, which is read after the run.
    """
    planned = program.plan.blocks if program.plan is not None else ()
    blocks = [b for b in planned if b.last < len(program.calls)]
    rows = "".join(
        f"    {{{b.first}, {b.last}, {b.pool}, {b.offset}, {b.bytes}}},\n" for b in blocks
    )
    # An empty initialiser is not C99; the count says that this entry is none.
    rows = rows or "    {0, 0, 0, 0, 0},\n"
    plan = f"{{{bytecode.checksum(blob):#x}, {len(blocks)}, kBlocks}}"
    return (
        "\n#if defined(MEGCC_DEBUG)\n"
        "// Live during calls [first, last), in this pool, at this offset, so many bytes.\n"
        f"static const megcc_block_t kBlocks[] = {{\n{rows}}};\n"
        f"static const megcc_plan_t kPlan = {plan};\n#endif\n"
    )


def _program_c(ident: str, arch: str, layout: Layout, blob: bytes) -> str:
    words = [int.from_bytes(blob[i : i + 4], "little") for i in range(0, len(blob), 4)]
    rows = (words[i : i + 8] for i in range(0, len(words), 8))
    text = "\n".join("    " + " ".join(f"{w:#x}," for w in row) for row in rows)
    used = layout.of(arch)
    externs = "".join(f"extern const unsigned char {ident}_weights{k}[];\n" for k in used)
    table = ", ".join(f"{{{ident}_weights{k}, {len(layout.segments[k].data)}}}" for k in used)
    return (
        f"\n{externs}#define SEGMENTS {table or '{0, 0}'}\n"
        f"\nstatic const uint32_t kProgram[] = {{\n{text}\n}};\n"
    )


def _weights_c(ident: str, k: int, layout: Layout, archs: tuple[str, ...]) -> str:
    segment = layout.segments[k]
    size = len(segment.data)
    # One byte more than the data: the literal's terminating 0 has a place of its own.
    body = (
        '#include "megcc_align.h"\n\n'
        f"extern const unsigned char {ident}_weights{k}[];\n"
        f"MEGCC_ALIGNED({ALIGNMENT}) const unsigned char {ident}_weights{k}[{size} + 1] =\n"
        f"{c_literal(segment.data)};\n"
    )
    return _generated(f"Weights for {', '.join(segment.archs)}", ident) + guards.wrap(
        body, segment.archs, archs
    )


def _bin(blob: bytes, arch: str, layout: Layout) -> bytes:
    data = bytearray(blob)
    for k in layout.of(arch):
        data += bytes(-len(data) % ALIGNMENT) + layout.segments[k].data
    return bytes(data)


def _main_c(ident: str, archs: tuple[str, ...], weights: str) -> str:
    text = _generated("Runner", ident) + f'#define MODEL_HEADER "{ident}.h"\n'
    text += f"#define MODEL_KERNELS {ident}_kernels\n"
    if weights == "c":
        text += f"#define MODEL_IMAGE {ident}_image\n"
    else:
        files = {a: f'#define MODEL_FILE "model/model_{a}.bin"\n' for a in archs}
        text += guards.chain(files, '#error "no model for this architecture"\n')
    return text + "\n" + package_text("main.c")


def _manifest(
    name: str,
    ident: str,
    codes: Mapping[str, bytecode.Code],
    layout: Layout,
    files: tuple[KernelFile, ...],
    symbols: Mapping[str, tuple[str, ...]],
    blobs: Mapping[str, bytes],
    weights: str,
) -> dict[str, object]:
    any_program = next(iter(codes.values())).program
    return {
        "format": FORMAT,
        "program_version": bytecode.VERSION,
        "abi": bytecode.ABI,
        "name": name,
        "c_name": ident,
        "weights": weights,
        "archs": sorted(codes),
        "inputs": _ports(any_program, "inputs"),
        "outputs": _ports(any_program, "outputs"),
        "opcodes": _opcodes(codes),
        "kernels": {f.symbol: {"template": f.template, "archs": list(f.archs)} for f in files},
        "per_arch": {
            a: {
                "arena_bytes": codes[a].program.arena_bytes,
                **_memory(codes[a].program),
                "weight_bytes": sum(len(layout.segments[k].data) for k in layout.of(a)),
                "program_bytes": len(blobs[a]),
                "calls": len(codes[a].program.calls),
                "kernels": list(symbols[a]),
                "fingerprint": f"{bytecode.fingerprint(symbols[a]):016x}",
            }
            for a in sorted(codes)
        },
    }


def _memory(program: Program) -> dict[str, dict[str, object]]:
    """How the addresses came about, for `tvmc inspect`: one entry, none without a plan."""
    plan = program.plan
    if plan is None:
        return {}
    peak = program.calls[plan.peak_step].name if plan.peak_step < len(program.calls) else ""
    memory: dict[str, object] = {
        "planner": plan.planner,
        "lower_bound": plan.lower_bound,
        "naive_bytes": plan.naive_bytes,
        "optimal": program.arena_bytes == plan.lower_bound,
        "peak_step": plan.peak_step,
        "peak_call": peak,
        "pools": [asdict(pool) for pool in plan.pools],
        "blocks": [asdict(block) for block in plan.blocks],
    }
    return {"memory": memory}


def _readme(name: str, ident: str, manifest: dict[str, object]) -> str:
    def rows(side: str) -> str:
        ports = manifest[side]
        assert isinstance(ports, list)
        return "\n".join(f"| `{p['name']}` | {p['dtype']} | {p['shape']} |" for p in ports)

    archs = manifest["archs"]
    assert isinstance(archs, list)
    text = package_text("README.md")
    for key, value in {
        "NAME": name,
        "IDENT": ident,
        "UPPER": ident.upper(),
        "ARCHS": ", ".join(archs),
        "INPUTS": rows("inputs"),
        "OUTPUTS": rows("outputs"),
    }.items():
        text = text.replace(f"@{key}@", value)
    return text
