"""``{arch: Program or Bundle}`` -> the files of a C package.

What enters is one planned `Program` per architecture, or a `Bundle` of several for different
shapes; what leaves is ``{path: text or bytes}``. Pure and deterministic: equal input gives equal
bytes.

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
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import prod
from typing import Literal

from ..dims import Dim, Size, Symbol, to_json
from ..errors import InputError
from ..program import ALIGNMENT, DTYPES, Bundle, Call, Kernel, Program, bundle_of
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
SHAPED_BYTES = 768  #: MEGCC_SHAPED_BYTES
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
    programs: Mapping[str, Program | Bundle], *, name: str, weights: Literal["c", "bin"] = "c"
) -> dict[str, str | bytes]:
    """Emit the package of a model.

    Parameters
    ----------
    programs : mapping of architecture to Program or Bundle
        Planned programs of one model, with equal inputs and outputs.
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
    bundles = {a: p if isinstance(p, Bundle) else bundle_of(p) for a, p in programs.items()}
    _check(bundles)
    ident = c_name(name)
    archs = tuple(sorted(bundles))
    codes = {a: _Compiled.of(replace(bundles[a], name=name)) for a in archs}
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

    out: dict[str, str | bytes] = {"include/megcc.h": runtime_text("include/megcc.h")}
    for path in (*RUNTIME, *(("megcc_align.h",) if weights == "c" else ())):
        out[f"src/{path}"] = runtime_text(f"src/{path}")
    for path in _parts(codes):
        out[f"src/{path}.c"] = runtime_text(f"src/{path}.c")
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
    shaped = any(code.is_shaped for code in codes.values())
    out["main.c"] = _main_c(ident, archs, weights, shaped)
    for path in ("Makefile", "CMakeLists.txt"):
        out[path] = package_text(path)
    manifest = _manifest(name, ident, codes, layout, kernels.files, kernels.symbols, blobs, weights)
    out["manifest.json"] = json.dumps(manifest, indent=1, sort_keys=True) + "\n"
    out["README.md"] = _readme(name, ident, manifest)
    return dict(sorted(out.items()))


@dataclass(frozen=True, slots=True)
class _Compiled:
    """One architecture's part of a package: its programs, and the kernels of all of them."""

    bundle: Bundle
    codes: tuple[bytecode.Code, ...]
    kernels: tuple[Kernel, ...]

    @classmethod
    def of(cls, bundle: Bundle) -> _Compiled:
        codes = tuple(bytecode.own_outputs(prune(v.program)) for v in bundle.variants)
        kernels = {kernel: None for code in codes for kernel in code.program.kernels}
        return cls(bundle, codes, tuple(kernels))

    @property
    def is_shaped(self) -> bool:
        """Whether shapes can change."""
        return len(self.codes) > 1 or bool(self.bundle.symbols or self.codes[0].program.symbols)

    @property
    def opcodes(self) -> set[str]:
        return {name for code in self.codes for name in code.opcodes}

    def functions(self, placed: Sequence[Sequence[tuple[int, int]]]) -> list[bytecode.Function]:
        """What `bytecode.encode` wants of each program."""
        number = {kernel: k for k, kernel in enumerate(self.kernels)}
        return [
            bytecode.Function(
                variant.guard, code, tuple(number[k] for k in code.program.kernels), where
            )
            for variant, code, where in zip(self.bundle.variants, self.codes, placed, strict=True)
        ]


def _check(bundles: Mapping[str, Bundle]) -> None:
    if not bundles:
        raise InputError(f"package without an architecture; name one of {', '.join(ARCHS)}")
    for arch in sorted(bundles):
        if arch not in ARCHS:
            raise InputError(f"unknown architecture {arch!r}; name one of {', '.join(ARCHS)}")
    first = bundles[min(bundles)]
    for arch in sorted(bundles):
        for side, ports in (("inputs", _inputs), ("outputs", _outputs)):
            mine, other = ports(bundles[arch]), ports(first)
            if mine != other:
                raise InputError(
                    f"the {side} for {arch} are {mine}, for {min(bundles)} {other}; "
                    "compile all architectures from one model"
                )


def _inputs(bundle: Bundle) -> list[dict[str, object]]:
    return [_port(p.name, p.dtype, p.dims) for p in bundle.inputs]


def _outputs(bundle: Bundle) -> list[dict[str, object]]:
    """The outputs: where the programs differ, the dims of the last, which takes the most."""
    programs = [variant.program for variant in bundle.variants]
    rows = []
    for k, port in enumerate(programs[-1].outputs):
        tensors = [p.tensors[p.outputs[k].tensor] for p in programs]
        dims = tuple(
            found[-1] if isinstance(found[-1], Dim) or len(set(found)) == 1 else "?"
            for found in zip(*(t.shape for t in tensors), strict=True)
        )
        rows.append(_port(port.name, tensors[-1].dtype, dims))
    return rows


def _port(name: str, dtype: str, dims: Sequence[Size | str]) -> dict[str, object]:
    """A port for the manifest; a dim that is not fixed is text, and then there is no ``bytes``."""
    shape = [d if isinstance(d, int) else str(d) for d in dims]
    row: dict[str, object] = {"name": name, "dtype": dtype, "shape": shape}
    if all(isinstance(d, int) for d in dims):
        row["bytes"] = prod(dims) * DTYPES[dtype]  # type: ignore[arg-type]
    return row


def _opcodes(codes: Mapping[str, _Compiled]) -> list[str]:
    used = {name for code in codes.values() for name in code.opcodes}
    return sorted(used, key=lambda name: bytecode.opcodes()[name])


def _parts(codes: Mapping[str, _Compiled]) -> list[str]:
    """Files of the runtime that not every package has."""
    found = {handler for name in _opcodes(codes) if (handler := bytecode.handler(name))}
    if "megcc_op_call_sized" in found:
        found.add("megcc_op_call")
    if any(code.is_shaped for code in codes.values()):
        found.add("megcc_shapes")
    return sorted(found)


def _generated(what: str, ident: str) -> str:
    return f"// {what} of the model package `{ident}`. Generated by tvm_megcc; do not edit.\n"


def _header(ident: str, name: str, codes: Mapping[str, _Compiled], weights: str) -> str:
    upper = ident.upper()
    sizes = {
        arch: _arena_macros(upper, code)
        + f"#define {upper}_CONTEXT_BYTES ({_context_bytes(code)})\n"
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


def _arena_macros(upper: str, code: _Compiled) -> str:
    """The arena's bytes; where they follow from the shapes, those that do for all of them."""
    if code.is_shaped:
        limits = [_limit(found.program) for found in code.codes]
        known = [limit for limit in limits if limit is not None]
        # Without bounds only megcc_arena_bytes knows.
        return f"#define {upper}_ARENA_BYTES {max(known)}\n" if len(known) == len(limits) else ""
    program = code.codes[0].program
    return f"#define {upper}_ARENA_BYTES {program.arena_bytes}\n" + _pool_macros(upper, program)


def _limit(program: Program) -> int | None:
    """Bytes of arena that do for all shapes of a program, where that is known."""
    return program.arena_limit if program.symbols else program.arena_bytes


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


def _context_bytes(code: _Compiled) -> str:
    """Bytes that a context fits in, as C: see megcc_context_bytes (a test compares them)."""
    programs = [c.program for c in code.codes]
    calls = [step for p in programs for step in p.calls if isinstance(step, Call)]
    operands = max((len(call.operands) for call in calls), default=0)
    ports = len(programs[0].inputs) + len(programs[0].outputs)
    pools = max(len(bytecode.pools(p)) for p in programs)
    words = 16 + 2 * ports + pools + MAX_SEGMENTS + ports + operands
    if not code.is_shaped:
        return f"{words} * sizeof(void *)"
    found = [bytecode.counts(p, code.bundle.symbols) for p in programs]
    values, blocks = (max(row[k] for row in found) for k in range(2))
    inputs = sum(len(port.dims) for port in code.bundle.inputs)
    outputs = max(sum(len(p.tensors[q.tensor].shape) for q in p.outputs) for p in programs)
    numbers = len(code.bundle.symbols) + values + 2 * inputs + outputs
    # A block: its base, memory of its own (pointer and bytes), size and offset.
    return (
        f"{words + blocks} * sizeof(void *) + {SHAPED_BYTES} + {blocks} * 2 * sizeof(void *)"
        f" + {2 * blocks + ports} * sizeof(size_t) + {(numbers + 1) // 2 * 8}"
    )


def _model_c(
    ident: str,
    codes: Mapping[str, _Compiled],
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
        text += _plans_c(codes[arch], blobs[arch])
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
    shapes = "&megcc_shapes" if any(code.is_shaped for code in codes.values()) else "0"
    return (
        _generated("Program, kernel table and instruction table", ident)
        + f'#include "{ident}.h"\n#include "megcc_vm.h"\n\n'
        + guards.chain(parts, '#error "this package was not compiled for this architecture"\n')
        + f"\nstatic const megcc_op_t *const kOps[] = {{\n{rows}}};\n"
        + f"\nconst megcc_kernels_t {ident}_kernels = {{\n"
        + "    MEGCC_BUILD_ABI, KERNEL_COUNT, FINGERPRINT, kKernels, kOps,\n"
        + f"    sizeof kOps / sizeof *kOps, {shapes},\n"
        + "#if defined(MEGCC_DEBUG)\n    kPlans,\n#endif\n};\n"
        + image
    )


def _plans_c(code: _Compiled, blob: bytes) -> str:
    """For a debug build: the blocks that die before the last call has returned, by program.

    What lives longer may be an output, which is read after the run.
    """
    text = "\n#if defined(MEGCC_DEBUG)\n"
    text += (
        "// Live during calls [first, last), in this pool (from the number of pools on: in this\n"
    )
    text += "// block), at this offset, so many bytes.\n"
    plans = ""
    for k, found in enumerate(code.codes):
        rows = _plan_rows(found.program, code.bundle.symbols)
        # An empty initialiser is not C99; the count says that this entry is none.
        lines = "".join(f"    {{{', '.join(map(str, row))}}},\n" for row in rows or [(0,) * 5])
        text += f"static const megcc_block_t kBlocks{k}[] = {{\n{lines}}};\n"
        plans += f"    {{{bytecode.checksum(blob):#x}, {len(rows)}, kBlocks{k}}},\n"
    return text + f"static const megcc_plan_t kPlans[] = {{\n{plans}}};\n#endif\n"


def _plan_rows(program: Program, symbols: tuple[Symbol, ...]) -> list[tuple[int, ...]]:
    """(first, last, pool, offset, bytes) of each block that dies; steps count kernel calls.

    What a `Load` reads last dies with the call after it.
    """
    calls = [isinstance(step, Call) for step in program.calls]
    number = [sum(calls[:k]) for k in range(len(calls) + 1)]
    ends = [number[k] + (k > 0 and not calls[k - 1]) for k in range(len(calls) + 1)]
    if program.symbols:
        pools = len(bytecode.pools(program))
        return [
            (number[s.first], ends[s.last], pools + block, 0, 0)
            for s, block in bytecode.placed_blocks(program, symbols)
            if s.last < len(calls)
        ]
    planned = program.plan.blocks if program.plan is not None else ()
    return [(b.first, b.last, b.pool, b.offset, b.bytes) for b in planned if b.last < len(calls)]


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


def _main_c(ident: str, archs: tuple[str, ...], weights: str, shaped: bool) -> str:
    text = _generated("Runner", ident) + f'#define MODEL_HEADER "{ident}.h"\n'
    text += f"#define MODEL_KERNELS {ident}_kernels\n"
    text += f"#define MODEL_HAS_SHAPES {int(shaped)}\n"
    if weights == "c":
        text += f"#define MODEL_IMAGE {ident}_image\n"
    else:
        files = {a: f'#define MODEL_FILE "model/model_{a}.bin"\n' for a in archs}
        text += guards.chain(files, '#error "no model for this architecture"\n')
    return text + "\n" + package_text("main.c")


def _manifest(
    name: str,
    ident: str,
    codes: Mapping[str, _Compiled],
    layout: Layout,
    files: tuple[KernelFile, ...],
    symbols: Mapping[str, tuple[str, ...]],
    blobs: Mapping[str, bytes],
    weights: str,
) -> dict[str, object]:
    bundle = next(iter(codes.values())).bundle
    return {
        "format": FORMAT,
        "program_version": bytecode.VERSION,
        "abi": bytecode.ABI,
        "name": name,
        "c_name": ident,
        "weights": weights,
        "archs": sorted(codes),
        "inputs": _inputs(bundle),
        "outputs": _outputs(bundle),
        "symbols": [{"name": s.name, "low": s.low, "high": s.high} for s in bundle.symbols],
        "opcodes": _opcodes(codes),
        "kernels": {f.symbol: {"template": f.template, "archs": list(f.archs)} for f in files},
        "per_arch": {
            a: {
                **_of_all(codes[a]),
                "weight_bytes": sum(len(layout.segments[k].data) for k in layout.of(a)),
                "program_bytes": len(blobs[a]),
                "kernels": list(symbols[a]),
                "fingerprint": f"{bytecode.fingerprint(symbols[a]):016x}",
            }
            for a in sorted(codes)
        },
    }


def _facts(program: Program) -> dict[str, object]:
    """What is told of each program; ``arena_bytes`` is null where it follows from the shapes."""
    kernels = Counter(
        program.kernels[step.kernel].template or "tir"
        for step in program.calls
        if isinstance(step, Call)
    )
    return {
        "arena_bytes": program.arena_bytes,
        **({"arena_limit": program.arena_limit} if program.symbols else {}),
        **_memory(program),
        "calls": sum(kernels.values()),
        "calls_by_kernel": dict(kernels),
    }


def _of_all(code: _Compiled) -> dict[str, object]:
    """The facts of an architecture's programs.

    Where shapes can change, ``functions`` has those of each program and the sizes that it is for;
    ``arena_bytes`` is null then, ``calls`` the sum.
    """
    if not code.is_shaped:
        return _facts(code.codes[0].program)
    names = [s.name for s in code.bundle.symbols]
    rows = [
        {
            "sizes": {names[r.symbol]: [r.low, r.high] for r in variant.guard},
            "blocks": _block_sizes(found.program),
            **_facts(found.program),
        }
        for variant, found in zip(code.bundle.variants, code.codes, strict=True)
    ]
    calls = sum(len(found.program.calls) for found in code.codes)
    return {"arena_bytes": None, "calls": calls, "functions": rows}


def _block_sizes(program: Program) -> list[dict[str, object]]:
    """The blocks of a program of symbolic shapes: what each is as large as, and stands on.

    A block is as large as the largest of ``sizes`` (`dims.to_json`).
    """
    parts: dict[int, list[Size]] = {}
    for t in program.tensors:
        if t.location.space == "block":
            parts.setdefault(t.location.index, []).append(t.location.offset + t.nbytes)
    return [
        {
            "name": s.name,
            "first": s.first,
            "last": s.last,
            "sizes": [to_json(size) for size in dict.fromkeys(parts.get(k, [0]))],
            "alignment": s.alignment,
            "below": list(s.below),
            "dynamic": s.dynamic,
        }
        for k, s in enumerate(program.storages)
    ]


def _memory(program: Program) -> dict[str, dict[str, object]]:
    """How the addresses came about, for `tvmc inspect`: one entry, none without a plan."""
    plan = program.plan
    if plan is None:
        return {}
    step = program.calls[plan.peak_step] if plan.peak_step < len(program.calls) else None
    memory: dict[str, object] = {
        "planner": plan.planner,
        "lower_bound": plan.lower_bound,
        "naive_bytes": plan.naive_bytes,
        "optimal": program.arena_bytes == plan.lower_bound,
        "peak_step": plan.peak_step,
        "peak_call": "" if step is None else step.name,
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
