"""The generated C of a package: its program, tables, weights and runner.

Enters: what was compiled and encoded. Leaves: text (a ``.bin``: bytes).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate

from tvm_megcc.codegen_c.emit import bytecode, guards, instructions
from tvm_megcc.codegen_c.emit.blocks import placed_blocks
from tvm_megcc.codegen_c.emit.compiled import Compiled, handler_of, is_shaped, opcodes_of
from tvm_megcc.codegen_c.emit.function_words import pools as pools_of
from tvm_megcc.codegen_c.emit.weight_segments import Layout, c_literal
from tvm_megcc.codegen_c.sources import generated, guarded
from tvm_megcc.core.contents import Bytes, Parts
from tvm_megcc.core.machine import by_architecture, machine
from tvm_megcc.core.program import ALIGNMENT, Block, Call, Program, Storage
from tvm_megcc.dims import Symbol

#: A program that has two packages of one name takes both files, as their tables' names differ.
_NAMES = """
// A second package of this name in one program is an error of the linker, which says this.
extern const char megcc_two_packages_are_called_{ident}_so_change_a_module_name;
const char megcc_two_packages_are_called_{ident}_so_change_a_module_name = 0;

// The table's plain name, for programs that do not read the header.
#if defined(__GNUC__) && !defined(__APPLE__) && !defined(__TINYC__)
#undef {ident}_kernels
MEGCC_API extern const megcc_kernels_t {ident}_kernels
    __attribute__((alias("{ident}_kernels_{mark}")));
#endif
"""


def model_c(
    ident: str,
    mark: str,
    codes: Mapping[str, Compiled],
    layout: Layout,
    symbols: Mapping[str, tuple[str, ...]],
    blobs: Mapping[str, bytes],
    weights: str,
) -> str:
    groups = by_architecture(codes)
    parts = {
        arch: "".join(
            _tables_c(ident, name, suffix, codes[name], layout, symbols[name], blobs[name], weights)
            for name, suffix in _suffixes(names)
        )
        for arch, names in groups.items()
    }
    names = opcodes_of(codes)
    numbers = {instructions.opcodes()[n]: n for n in names}
    rows = "".join(
        f"    {'&' + h if n in numbers and (h := handler_of(codes, numbers[n])) else '0'},"
        f"  // {numbers.get(n, 'not used')}\n"
        for n in range(max(numbers) + 1)
    )
    shapes = "&megcc_shapes" if is_shaped(codes) else "0"
    chosen = has_builds(codes)
    text = (
        guards.chain(parts)
        + f"\nstatic const megcc_op_t *const kOps[] = {{\n{rows}}};\n"
        + (_builds_c(ident, groups, shapes, weights) if chosen else "")
        + f"\nconst megcc_kernels_t {ident}_kernels = {_table_c('', shapes, chosen)}"
        + (f"\nconst megcc_image_t {ident}_image = {_image_c('')}" if weights != "bin" else "")
        + _NAMES.format(ident=ident, mark=mark)
    )
    return (
        generated("Program, kernel table and instruction table", ident)
        # The header refuses other machines: nothing here then adds errors to its own.
        + f'#include "{ident}.h"\n#include "megcc_vm.h"\n\n'
        + guards.within(text, codes)
    )


def has_builds(codes: Collection[str]) -> bool:
    """Whether a package has to find out what the CPU can do."""
    return any(machine(name).features for name in codes)


def _suffixes(names: Sequence[str]) -> list[tuple[str, str]]:
    """The machines of one architecture with what their tables' names end with.

    The last, with the fewest features, is what a freestanding build has: its names are plain.
    """
    return [*((name, f"_{machine(name).ident}") for name in names[:-1]), (names[-1], "")]


def _hosted(suffix: str, text: str) -> str:
    """Tables of what must be chosen at run time, which takes an operating system."""
    return f"\n#if __STDC_HOSTED__\n{text}#endif  // __STDC_HOSTED__\n" if suffix else text


def _tables_c(
    ident: str,
    name: str,
    suffix: str,
    code: Compiled,
    layout: Layout,
    symbols: Sequence[str],
    blob: bytes,
    weights: str,
) -> str:
    """Kernels, program and plans of one machine."""
    text = "".join(
        f"void {s}(void *const *, const int32_t *, void *, int32_t, int32_t);\n" for s in symbols
    )
    # An empty initialiser is not C99; the count says that this entry is none.
    table = "".join(f"    {s},\n" for s in symbols) or "    0,\n"
    text += f"\nstatic const megcc_kernel_fn kKernels{suffix}[] = {{\n{table}}};\n"
    mark = bytecode.fingerprint(symbols)
    text += f"#define KERNEL_COUNT{suffix} {len(symbols)}\n"
    text += f"#define FINGERPRINT{suffix} {{{mark & 0xFFFFFFFF:#010x}u, {mark >> 32:#010x}u}}\n"
    if weights != "bin":
        text += _program_c(ident, name, suffix, layout, blob)
    return _hosted(suffix, text + _plans_c(code, blob, suffix))


def _table_c(suffix: str, shapes: str, chosen: bool) -> str:
    return (
        "{\n"
        f"    MEGCC_BUILD_ABI, KERNEL_COUNT{suffix}, FINGERPRINT{suffix}, kKernels{suffix}, kOps,\n"
        f"    sizeof kOps / sizeof *kOps, {shapes}, {'MACHINE' if chosen else '0'},\n"
        f"#if defined(MEGCC_DEBUG)\n    kPlans{suffix},\n#endif\n}};\n"
    )


def _image_c(suffix: str) -> str:
    return (
        f"{{\n    {{kProgram{suffix}, sizeof kProgram{suffix}}},\n    {{SEGMENTS{suffix}}},\n}};\n"
    )


def _builds_c(ident: str, groups: Mapping[str, Sequence[str]], shapes: str, weights: str) -> str:
    """C tables of an architecture's builds, one for each set of CPU features.

    megcc_model_open takes the best build that the CPU can run. `groups` has the builds' names by
    architecture; `weights` is ``bin`` where no image is linked.
    """
    parts = {}
    for arch, names in groups.items():
        if not has_builds(names):
            parts[arch] = "#define MACHINE 0\n"
            continue
        text, rows = f"extern const megcc_machine_t {ident}_machine;\n", ""
        text += f"#define MACHINE &{ident}_machine\n"
        for name, suffix in _suffixes(names):
            image = f"{ident}_image"
            if suffix and weights != "bin":
                image = f"kImage{suffix}"
                text += f"static const megcc_image_t {image} = {_image_c(suffix)}"
            text += (
                f"static const megcc_kernels_t kBuild{suffix} = {_table_c(suffix, shapes, True)}"
            )
            bits = ", ".join(f"{word:#x}u" for word in machine(name).bits)
            address = f"&{image}" if weights != "bin" else "0"
            rows += f'    {{"{name}", {{{bits}}}, &kBuild{suffix}, {address}}},\n'
        own = f"&{ident}_image" if weights != "bin" else "0"
        text += f"static const megcc_build_t kBuilds[] = {{\n{rows}}};\n"
        text += (
            f"const megcc_machine_t {ident}_machine = {{\n"
            f"    megcc_machine_choose, &{ident}_kernels, {own}, kBuilds, {len(names)},\n}};\n"
        )
        parts[arch] = f"#if __STDC_HOSTED__\n{text}#else\n#define MACHINE 0\n#endif\n"
    return "\n" + guards.chain(parts)


def _plans_c(code: Compiled, blob: bytes, suffix: str) -> str:
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
        text += f"static const megcc_block_t kBlocks{k}{suffix}[] = {{\n{lines}}};\n"
        plans += f"    {{{bytecode.checksum(blob):#x}, {len(rows)}, kBlocks{k}{suffix}}},\n"
    return text + f"static const megcc_plan_t kPlans{suffix}[] = {{\n{plans}}};\n#endif\n"


def _plan_rows(program: Program, symbols: tuple[Symbol, ...]) -> list[tuple[int, ...]]:
    """(first, last, pool, offset, bytes) of each block that dies in a call; steps count calls."""
    calls = [isinstance(step, Call) for step in program.calls]
    number = [0, *accumulate(map(int, calls))]

    def dies(block: Block | Storage) -> bool:
        return block.last < len(calls) and calls[block.last - 1]

    if program.symbols:
        pools = len(pools_of(program))
        return [
            (number[s.first], number[s.last], pools + block, 0, 0)
            for s, block in placed_blocks(program, symbols)
            if dies(s)
        ]
    planned = program.plan.blocks if program.plan is not None else ()
    begun = {(b.name, b.first) for b in planned}  # of a storage that goes on: it does not die
    return [
        (number[b.first], number[b.last], b.pool, b.offset, b.bytes)
        for b in planned
        if dies(b) and (b.name, b.last) not in begun
    ]


def _program_c(ident: str, arch: str, suffix: str, layout: Layout, blob: bytes) -> str:
    words = [int.from_bytes(blob[i : i + 4], "little") for i in range(0, len(blob), 4)]
    rows = (words[i : i + 8] for i in range(0, len(words), 8))
    text = "\n".join("    " + " ".join(f"{w:#x}," for w in row) for row in rows)
    used = layout.of(arch)
    externs = "".join(f"extern const unsigned char {ident}_weights{k}[];\n" for k in used)
    table = ", ".join(f"{{{ident}_weights{k}, {len(layout.segments[k].data)}}}" for k in used)
    return (
        f"\n{externs}#define SEGMENTS{suffix} {table or '{0, 0}'}\n"
        f"\nstatic const uint32_t kProgram{suffix}[] = {{\n{text}\n}};\n"
    )


def weights_c(
    ident: str, k: int, layout: Layout, archs: tuple[str, ...], *, embedded: bool = False
) -> str:
    """C source of weight segment `k`, guarded for the architectures that use it.

    With `embedded` the assembler's ``.incbin`` takes the bytes from the source's path plus
    ``.bin``, which works from any directory; compilers without it include ``weights<k>.inc``, which
    the build makes. Otherwise the bytes are a string literal.
    """
    segment = layout.segments[k]
    size, symbol = len(segment.data), f"{ident}_weights{k}"
    # One byte more than the data: the literal's terminating 0 has a place of its own.
    array = (
        f"MEGCC_IN_WEIGHTS MEGCC_ALIGNED({ALIGNMENT}) const unsigned char {symbol}[{size} + 1] ="
    )
    declared = f"extern const unsigned char {symbol}[];\n"
    if embedded:
        body = (
            '#include "megcc_align.h"\n#include "megcc_incbin.h"\n\n'
            f"{declared}#if defined(MEGCC_INCBIN)\n"
            f'MEGCC_INCBIN({symbol}, {size}, __FILE__ ".bin")\n'
            f'#else\n{array} {{\n#include "weights{k}.inc"\n}};\n#endif\n'
        )
    else:
        body = f'#include "megcc_align.h"\n\n{declared}{array}\n{c_literal(bytes(segment.data))};\n'
    return generated(f"Weights for {', '.join(segment.archs)}", ident) + guards.wrap(
        body, segment.archs, archs
    )


def binary(blob: bytes, arch: str, layout: Layout) -> Parts:
    """Contents of ``model_<arch>.bin``: the program, then the weights of that machine."""
    pieces: list[Bytes] = [blob]
    length = len(blob)
    for k in layout.of(arch):
        segment, padding = layout.segments[k].data, bytes(-length % ALIGNMENT)
        pieces += [padding, *segment]
        length += len(padding) + len(segment)
    return Parts(pieces)


def runner_h(ident: str, archs: tuple[str, ...], weights: str, *, generates: bool = False) -> str:
    """``runner/model.h``: what ``runner/loading.c`` has to know to reach the model."""
    macros = [
        # Not the header of this folder, if the model's name is that of one.
        f"MODEL_HEADER <{ident}.h>",
        f"MODEL_KERNELS {ident}_kernels",
        f"MODEL_IMAGE {ident}_image" if weights != "bin" else 'MODEL_FILE "model/model_%s.bin"',
    ]
    if generates:
        macros.append(f"MODEL_TOKENIZER {ident}_tokenizer")
    machines = {
        arch: f'#define MODEL_MACHINE "{", ".join(names)}"\n'
        f"#define MODEL_HAS_MACHINES {int(has_builds(names))}\n"
        for arch, names in by_architecture(archs).items()
    }
    lines = "".join(f"#define {macro}\n" for macro in macros) + guards.chain(machines)
    return generated("What the runner has to know", ident) + guarded("MEGCC_RUNNER_MODEL_H", lines)


def tokenizer_c(ident: str, image: bytes, *, embedded: bool) -> str:
    """C source of the tokenizer's image, in the forms of `weights_c`."""
    symbol = f"{ident}_tokenizer_image"
    array = f"MEGCC_ALIGNED({ALIGNMENT}) const unsigned char {symbol}[{len(image)} + 1] ="
    declared = f'#include "{ident}.h"\n#include "megcc_align.h"\n'
    extern = f"extern const unsigned char {symbol}[];\n"
    if embedded:
        body = (
            f'{declared}#include "megcc_incbin.h"\n\n{extern}#if defined(MEGCC_INCBIN)\n'
            f'MEGCC_INCBIN({symbol}, {len(image)}, __FILE__ ".bin")\n'
            f'#else\n{array} {{\n#include "tokenizer.inc"\n}};\n#endif\n'
        )
    else:
        body = f"{declared}\n{extern}{array}\n{c_literal(image)};\n"
    handle = f"\nconst megcc_bytes_t {ident}_tokenizer = {{{symbol}, {len(image)}}};\n"
    return generated("The tokenizer", ident) + body + handle


def runner_features_h(*, shaped: bool, fails: bool, draws: bool, generates: bool) -> str:
    """``runner/features.h``: which parts of the runner a model needs.

    It names no model, so that packages of the same needs have the files that read it in common.
    """
    values = {"HAS_SHAPES": shaped, "CAN_FAIL": fails, "DRAWS": draws, "GENERATES": generates}
    lines = "".join(f"#define MODEL_{name} {int(value)}\n" for name, value in values.items())
    about = "// What the model of this package can do. Generated by tvm_megcc; do not edit.\n"
    return about + guarded("MEGCC_RUNNER_FEATURES_H", lines)
