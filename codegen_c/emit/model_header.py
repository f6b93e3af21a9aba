"""``include/<name>.h`` of a package: declarations, and sizes for static allocation.

Enters: what was compiled. Leaves: text. Machines of one architecture share the sizes: the greatest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tvm_megcc.codegen_c.emit import guards
from tvm_megcc.codegen_c.emit.blocks import counts
from tvm_megcc.codegen_c.emit.compiled import Compiled
from tvm_megcc.codegen_c.emit.function_words import DRAW_OPERANDS
from tvm_megcc.codegen_c.emit.function_words import pools as pools_of
from tvm_megcc.codegen_c.sources import generated
from tvm_megcc.core.machine import by_architecture
from tvm_megcc.core.program import Call, Port, PortType, Program
from tvm_megcc.dims import fixed
from tvm_megcc.errors import InputError

MAX_POOLS = 8  #: MEGCC_MAX_POOLS
SHAPED_BYTES = 512  #: MEGCC_SHAPED_BYTES


_KERNELS = """\
// Its name for the linker says which package it is of, so that the library of another package of
// this name cannot be linked in place of this one's.
#define {ident}_kernels {ident}_kernels_{mark}
MEGCC_API extern const megcc_kernels_t {ident}_kernels;
"""


_STEPS = """
// Integers of ports stand for numbers: (integer - ZERO_POINT) * SCALE.
"""


_ROWS = """
// Images that come in by rows (megcc_put_rows): images, planes of each (1: interleaved, each pixel
// has all its channels; else planar), rows of a plane, bytes of such a row, and the most rows of
// each plane that a run waits for at a time.
"""

_STATES = """
// An input and an output that share memory, which a run changes in place: binding one binds both.
"""


_TOKENIZER = """
// For megcc_tokenizer_open.
MEGCC_API extern const megcc_bytes_t {ident}_tokenizer;
"""


def header(
    ident: str,
    mark: str,
    codes: Mapping[str, Compiled],
    weights: str,
    *,
    generates: bool = False,
) -> str:
    """The header of a package with these contents (`assemble.content_mark`)."""
    upper = ident.upper()
    sizes = {
        arch: _size_macros(upper, [codes[machine] for machine in machines])
        for arch, machines in by_architecture(codes).items()
    }
    image = (
        f"MEGCC_API extern const megcc_image_t {ident}_image;\n"
        if weights != "bin"
        else "// The image is a file, model/model_<arch>.bin: see megcc_image_from_bytes.\n"
    )
    declared = declarations(codes)
    ports = _port_macros(upper, codes)
    rows = _row_macros(upper, codes)
    states = _state_lines(upper, codes)
    known = "".join(sizes.values())
    for key in (*ports, *rows):
        if f"#define {key} " in known:
            raise InputError(f"{key} is taken by a memory pool; rename the port or the pool")
    return (
        generated("What C code needs to know", ident)
        + f"#ifndef MEGCC_MODEL_{upper}_H\n#define MEGCC_MODEL_{upper}_H 0x{mark}\n\n"
        + ('#include "megcc_extern.h"\n\n' if declared else '#include "megcc.h"\n\n')
        + "// For static allocation; at run time ask megcc_arena_bytes, megcc_context_bytes.\n"
        + guards.chain(sizes, guards.refusal(sizes))
        + (_STEPS if ports else "")
        + "".join(f"#define {key} {value}\n" for key, value in ports.items())
        + (_ROWS if rows else "")
        + "".join(f"#define {key} {value}\n" for key, value in rows.items())
        + states
        + '\n#ifdef __cplusplus\nextern "C" {\n#endif\n\n'
        + image
        + _KERNELS.format(ident=ident, mark=mark)
        + declared
        + (_TOKENIZER.format(ident=ident) if generates else "")
        + "\n#ifdef __cplusplus\n}\n#endif\n\n"
        + f"#elif MEGCC_MODEL_{upper}_H != 0x{mark}\n"
        + f"#error \"two packages are called '{ident}': compile one with another --module-name\"\n"
        + f"#endif  // MEGCC_MODEL_{upper}_H\n"
    )


def declarations(codes: Mapping[str, Compiled]) -> str:
    """Functions that the package's user defines, each after the calls that the model has of it."""
    found: dict[str, dict[str, None]] = {}
    programs = [found.program for arch in sorted(codes) for found in codes[arch].codes]
    for program, call in ((p, step) for p in programs for step in p.calls):
        if not isinstance(call, Call) or not program.kernels[call.kernel].extern:
            continue
        tensors = [program.tensors[t] for t in call.operands]
        types = [f"{t.dtype}[{', '.join(map(str, t.shape))}]" for t in tensors]
        read, written = types[: -call.n_outputs], types[-call.n_outputs :]
        count = len(call.attrs) - sum(len(t.shape) for t in tensors)
        line = f"//   ({', '.join(read)}) -> ({', '.join(written)}), integers: {count}\n"
        found.setdefault(program.kernels[call.kernel].extern, {})[line] = None
    text = "\n// You define these functions, see megcc_extern.h; the model calls them with\n"
    rows = [
        f"{''.join(lines)}void {name}(const megcc_extern_tensor_t *tensor, const int32_t *attr);\n"
        for name, lines in sorted(found.items())
    ]
    return text + "".join(rows) if rows else ""


def _size_macros(upper: str, codes: Sequence[Compiled]) -> str:
    """The sizes of an architecture's machines: of each the greatest, if all of them have one."""
    rows = [{**_arena_macros(upper, code), **_pool_macros(upper, code)} for code in codes]
    common = [key for key in rows[0] if all(key in row for row in rows)]
    text = "".join(f"#define {key} {max(row[key] for row in rows)}\n" for key in common)
    contexts = sorted({_context_bytes(code) for code in codes})
    bytes_ = contexts.pop()
    for other in contexts:
        bytes_ = f"({other}) > ({bytes_}) ? ({other}) : ({bytes_})"
    return text + f"#define {upper}_CONTEXT_BYTES ({bytes_})\n"


def _arena_macros(upper: str, code: Compiled) -> dict[str, int]:
    """The arena's bytes; where they follow from the shapes, those that do for all of them."""
    programs = [found.program for found in code.codes]
    limits = [p.arena_limit if p.symbols else p.arena_bytes for p in programs]
    known = [limit for limit in limits if limit is not None]
    # Without bounds only megcc_arena_bytes knows.
    return {f"{upper}_ARENA_BYTES": max(known)} if len(known) == len(limits) else {}


def _pool_macros(upper: str, code: Compiled) -> dict[str, int]:
    """Number and bytes of each pool; the usual one has ``<NAME>_ARENA_BYTES`` and no more."""
    pools = () if code.is_shaped else pools_of(code.codes[0].program)
    if [pool.name for pool in pools] == ["arena"]:
        return {}
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
    return rows


def _port_macros(upper: str, codes: Mapping[str, Compiled]) -> dict[str, str]:
    """Scale and zero point of each port whose integers stand for other numbers."""
    bundle = next(iter(codes.values())).bundle
    rows: dict[str, str] = {}
    ports: list[PortType | Port] = [*bundle.inputs, *bundle.variants[0].program.outputs]
    for port in ports:
        if port.quantisation is None:
            continue
        ident = re.sub(r"\W", "_", port.name, flags=re.ASCII).upper()
        found = {
            f"{upper}_{ident}_SCALE": _c_float(port.quantisation.scale),
            f"{upper}_{ident}_ZERO_POINT": _c_int(port.quantisation.zero_point),
        }
        for key, value in found.items():
            if rows.setdefault(key, value) != value:
                raise InputError(f"port '{port.name}': {key} is taken; rename the port")
    return rows


def _state_lines(upper: str, codes: Mapping[str, Compiled]) -> str:
    """The state pairs: how many, and in a comment the names of each; empty where there are none."""
    program = next(iter(codes.values())).codes[0].program
    if not program.states:
        return ""
    lines = ""
    for a, b in program.states:
        names = (_in_comment(port.name) for port in (program.inputs[a], program.outputs[b]))
        lines += f"//   {' = '.join(names)}{_row_remark(program, b)}\n"
    return f"{_STATES}{lines}#define {upper}_STATES {len(program.states)}\n"


def _row_remark(program: Program, output: int) -> str:
    """What a row of an output is, of a cache whose rows are rounded; else empty."""
    tensor = program.tensors[program.outputs[output].tensor]
    kernels = {kernel.template for kernel in program.kernels}
    size = tensor.shape[-1] if tensor.shape else 0
    if tensor.dtype != "i8" or "cache_append_i8" not in kernels or not isinstance(size, int):
        return ""
    return f": rows of {size - 4} numbers in int8, then their scale, a float"


def _in_comment(name: str) -> str:
    """A name that neither ends nor continues a line of comment."""
    return name.encode("unicode_escape").decode().replace("\\", "/")


def _row_macros(upper: str, codes: Mapping[str, Compiled]) -> dict[str, int]:
    """What C code has to know of each image that comes in by rows: of each the greatest."""
    rows: dict[str, int] = {}
    for step in (step for code in codes.values() for step in code.feeds):
        ident = re.sub(r"\W", "_", step.name, flags=re.ASCII).upper()
        found = {
            f"{upper}_{ident}_IMAGES": step.images.count,
            f"{upper}_{ident}_PLANES": step.planes,
            f"{upper}_{ident}_ROWS": fixed(step.made.height),
            f"{upper}_{ident}_ROW_BYTES": step.row_bytes,
            f"{upper}_{ident}_MOST_ROWS": min(step.made.step, fixed(step.made.height)),
        }
        for key, value in found.items():
            rows[key] = max(value, rows.get(key, 0))
    return rows


def _c_int(value: int) -> str:
    return f"({value})" if value < 0 else str(value)


def _c_float(value: float) -> str:
    """A float of C with the digits that tell it from all others."""
    text = f"{value:.9g}"
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"


def _context_bytes(code: Compiled) -> str:
    """Bytes that a context fits in, as C: see megcc_context_bytes (a test compares them)."""
    programs = [c.program for c in code.codes]
    calls = [step for p in programs for step in p.calls if isinstance(step, Call)]
    operands = max((len(call.operands) for call in calls), default=0)
    operands += code.draws * DRAW_OPERANDS
    ports = len(programs[0].inputs) + len(programs[0].outputs)
    pools = max(len(pools_of(p)) for p in programs)
    words = 16 + 2 * ports + pools + ports + operands
    if not code.is_shaped:
        return f"{words} * sizeof(void *)"
    found = [counts(p, code.bundle.symbols) for p in programs]
    values, blocks = (max(row[k] for row in found) for k in range(2))
    inputs = sum(len(port.dims) for port in code.bundle.inputs)
    outputs = max(sum(len(p.tensors[q.tensor].shape) for q in p.outputs) for p in programs)
    numbers = len(code.bundle.symbols) + values + 2 * inputs + outputs
    # A block: its base, memory of its own (pointer and bytes), size, offset and room.
    return (
        f"{words + blocks} * sizeof(void *) + {SHAPED_BYTES} + {blocks} * 2 * sizeof(void *)"
        f" + {3 * blocks + ports} * sizeof(size_t) + {(numbers + 1) // 2 * 8}"
    )
