"""The contents of a package's ``manifest.json``, and its ``README.md``.

Enters: what was compiled. Leaves: a dictionary for `manifest_text`, and text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import prod

from tvm_megcc.codegen_c.emit import bytecode
from tvm_megcc.codegen_c.emit.compiled import Compiled, opcodes_of
from tvm_megcc.codegen_c.emit.description import graph
from tvm_megcc.codegen_c.emit.kernel_files import KernelFile
from tvm_megcc.codegen_c.emit.weight_segments import Layout
from tvm_megcc.codegen_c.sources import filled
from tvm_megcc.core import dtypes
from tvm_megcc.core.machine import machine
from tvm_megcc.core.program import (
    Bundle,
    Call,
    Kernel,
    Program,
    Quantisation,
    streamed_groups,
)
from tvm_megcc.dims import Dim, Size, symbols

FORMAT = 1  #: of manifest.json and the package layout


def manifest(
    name: str,
    ident: str,
    codes: Mapping[str, Compiled],
    layout: Layout,
    files: tuple[KernelFile, ...],
    symbols: Mapping[str, tuple[str, ...]],
    blobs: Mapping[str, bytes],
    weights: str,
) -> dict[str, object]:
    bundle = next(iter(codes.values())).bundle
    externs = sorted({f.extern for f in files if f.extern})
    return {
        "format": FORMAT,
        "program_version": bytecode.VERSION,
        "abi": bytecode.ABI,
        "name": name,
        "c_name": ident,
        "weights": weights,
        "archs": sorted(codes),
        "inputs": input_ports(bundle),
        "outputs": output_ports(bundle),
        **_states(bundle),
        "symbols": [{"name": s.name, "low": s.low, "high": s.high} for s in bundle.symbols],
        "opcodes": opcodes_of(codes),
        **({"externs": externs} if externs else {}),
        "kernels": {f.symbol: {"template": f.template, "archs": list(f.archs)} for f in files},
        "per_arch": {
            a: {
                **_of_all(codes[a], symbols[a]),
                "needs": list(machine(a).needs),
                **_spending(codes[a]),
                **_work(codes[a]),
                "threads": _threads(codes[a]),
                "weight_bytes": sum(len(layout.segments[k].data) for k in layout.of(a)),
                "program_bytes": len(blobs[a]),
                "kernels": list(symbols[a]),
                "fingerprint": f"{bytecode.fingerprint(symbols[a]):016x}",
            }
            for a in sorted(codes)
        },
    }


def _facts(program: Program, links: Mapping[Kernel, str]) -> dict[str, object]:
    """The facts of one program; ``arena_bytes`` is null where it follows from the shapes."""
    kernels = Counter(
        kernel.template or kernel.extern or "tir"
        for step in program.calls
        if isinstance(step, Call)
        for kernel in [program.kernels[step.kernel]]
    )
    return {
        "arena_bytes": program.arena_bytes,
        **({"arena_limit": program.arena_limit} if program.symbols else {}),
        **_memory(program),
        "calls": sum(kernels.values()),
        "calls_by_kernel": dict(kernels),
        **_streamed(program),
        "graph": graph(program, links),
    }


def _streamed(program: Program) -> dict[str, object]:
    """The calls that run in bands of rows; empty where none does."""
    groups = [
        {
            "first_call": group.first_call,
            "last_call": group.last_call,
            "first_step": group.first_step,
            "last_step": group.last_step,
            "band_rows": group.band_rows,
            "iterations": group.iterations,
            "moved_bytes": group.moved_bytes,
            "bands": list(group.bands),
            "buffers": [
                {"name": b.name, "rows": b.rows, "height": b.height, "bytes": b.bytes}
                for b in group.buffers
            ],
        }
        for group in streamed_groups(program)
    ]
    return {"streamed": groups} if groups else {}


def _spending(code: Compiled) -> dict[str, object]:
    """The cost of the choice of kernels over all programs; empty where there was no choice."""
    spent = code.codes[0].program.spending
    if spent is None:
        return {}
    facts = asdict(spent)
    if spent.preference.precision == "model":
        del facts["preference"]["precision"]
    if spent.preference.softmax == "float":
        del facts["preference"]["softmax"]
    return {"spending": facts}


def _work(code: Compiled) -> dict[str, object]:
    """Multiply-adds of all programs by element type; empty where they are not known."""
    work = code.codes[0].program.work
    return {} if work is None else {"work": asdict(work)}


def _threads(code: Compiled) -> int:
    """Most threads that the calls have workspace for."""
    steps = (step for found in code.codes for step in found.program.calls)
    return max((step.workers for step in steps if isinstance(step, Call)), default=1)


def _of_all(code: Compiled, symbols: Sequence[str]) -> dict[str, object]:
    """Manifest entry of an architecture: calls, arena and kernels of its program.

    With dynamic shapes there is a program for each range of sizes. ``functions`` lists them: facts,
    ranges, and pairs of sizes that have to be equal for this program to be chosen. Then
    ``arena_bytes`` is null and ``calls`` is the sum over all programs.
    """
    links = dict(zip(code.kernels, symbols, strict=True))
    if not code.is_shaped:
        return _facts(code.codes[0].program, links)
    names = [s.name for s in code.bundle.symbols]
    rows = [
        {
            "sizes": {names[r.symbol]: [r.low, r.high] for r in variant.guard},
            "equal": _equal(found.program, names),
            "blocks": _block_sizes(found.program),
            **_facts(found.program, links),
        }
        for variant, found in zip(code.bundle.variants, code.codes, strict=True)
    ]
    steps = (step for found in code.codes for step in found.program.calls)
    calls = sum(isinstance(step, Call) for step in steps)
    return {"arena_bytes": None, "calls": calls, "functions": rows}


def _equal(program: Program, names: Sequence[str]) -> list[list[object]]:
    """Pairs of sizes, known when the shapes are set, that must be equal."""
    return [
        [r.a, r.b]
        for r in program.requirements
        if all(s.name in names for size in (r.a, r.b) for s in symbols(size))
    ]


def _block_sizes(program: Program) -> list[dict[str, object]]:
    """The blocks of a program of symbolic shapes: each is as large as the largest of ``sizes``."""
    parts: dict[int, list[Size]] = {}
    for t in program.tensors:
        if t.location.space == "block":
            parts.setdefault(t.location.index, []).append(t.location.offset + t.nbytes)
    return [
        {
            "name": s.name,
            "first": s.first,
            "last": s.last,
            "sizes": list(dict.fromkeys(parts.get(k, [0]))),
            "alignment": s.alignment,
            "below": list(s.below),
            "dynamic": s.dynamic,
        }
        for k, s in enumerate(program.storages)
    ]


def _memory(program: Program) -> dict[str, dict[str, object]]:
    """The memory plan, for `tvmc inspect`; empty without one."""
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


def _states(bundle: Bundle) -> dict[str, object]:
    """The pairs of ports that share memory; empty where there are none."""
    program = bundle.variants[0].program
    pairs = [
        {"input": program.inputs[a].name, "output": program.outputs[b].name}
        for a, b in program.states
    ]
    return {"states": pairs} if pairs else {}


def input_ports(bundle: Bundle) -> list[dict[str, object]]:
    return [_port(p.name, p.dtype, p.dims, p.quantisation) for p in bundle.inputs]


def output_ports(bundle: Bundle) -> list[dict[str, object]]:
    """The outputs: where the programs differ, the dims of the last, which takes the most."""
    programs = [variant.program for variant in bundle.variants]
    rows = []
    for k, port in enumerate(programs[-1].outputs):
        tensors = [p.tensors[p.outputs[k].tensor] for p in programs]
        dims = tuple(
            found[-1] if isinstance(found[-1], Dim) or len(set(found)) == 1 else "?"
            for found in zip(*(t.shape for t in tensors), strict=True)
        )
        rows.append(_port(port.name, tensors[-1].dtype, dims, port.quantisation))
    return rows


def _port(
    name: str, dtype: str, dims: Sequence[Size | str], quantisation: Quantisation | None
) -> dict[str, object]:
    """A port for the manifest; a dim that is not fixed is text, and then there is no ``bytes``."""
    shape = [d if isinstance(d, int) else str(d) for d in dims]
    row: dict[str, object] = {"name": name, "dtype": dtype, "shape": shape}
    sizes = [d for d in dims if isinstance(d, int)]
    if len(sizes) == len(dims):
        row["bytes"] = dtypes.nbytes(dtype, prod(sizes))
    if quantisation is not None:
        row |= {"scale": quantisation.scale, "zero_point": quantisation.zero_point}
    return row


_CHOICE = """\
On a CPU without them `megcc_model_open` answers `MEGCC_ERR_MACHINE`; of several machines of one
architecture it takes the best that the CPU is. Bare-metal builds do not ask the CPU: they take the
machine with the fewest features.
"""


def _needs(archs: Sequence[str]) -> str:
    """The CPU features that machines need, as text of the README; empty where there are none."""
    rows = [
        f"* {name}: a CPU with {', '.join(machine(name).needs)}"
        for name in archs
        if machine(name).needs
    ]
    if not rows:
        return ""
    return "\n" + "\n".join(rows) + "\n\n" + _CHOICE


_GENERATE = """
    ./run generate -p "Once upon a time" -n 64 # from text to text (megcc_generate.h)"""


def readme(name: str, ident: str, manifest: dict[str, object]) -> str:
    def rows(side: str) -> str:
        ports = manifest[side]
        assert isinstance(ports, list)
        return "\n".join(f"| `{p['name']}` | {p['dtype']} | {p['shape']} |" for p in ports)

    archs = manifest["archs"]
    assert isinstance(archs, list)
    return filled(
        "README.md",
        NAME=name,
        IDENT=ident,
        UPPER=ident.upper(),
        ARCHS=", ".join(archs),
        NEEDS=_needs(archs),
        GENERATE=_GENERATE if manifest.get("generates") else "",
        INPUTS=rows("inputs"),
        OUTPUTS=rows("outputs"),
    )
