"""Advice on a package as sentences, each with its remedy.

Enters: the facts of `tvm_megcc.cli.inspect.summary` of one architecture, and a profile where there
is one. Leaves: sentences. Those about dims are the compiler's own (`tvm_megcc.advice`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

from tvm_megcc.advice import needs_of, of_ports
from tvm_megcc.core.machine import machine
from tvm_megcc.dims import Symbol, factor_of
from tvm_megcc.report.profile import Profile

#: Shares of a run's time from which on a sentence is worth it.
GENERATED, MOVING, OUTSIDE = 0.1, 0.1, 0.2


def better(facts: Mapping[str, Any], arch: str, profile: Profile | None) -> Iterator[str]:
    """Advice on a package as sentences, on the whole package first."""
    entry = facts["archs"][arch]
    if not _is_listed(entry):
        yield from _of_dims(facts, entry, arch)
    yield from _of_package(entry, arch)
    if profile is not None:
        yield from _of_profile(profile)


def _is_listed(entry: Mapping[str, Any]) -> bool:
    """Whether every program is for exactly one size of each dim: that was the user's wish."""
    ranges = [r for function in entry.get("functions", ()) for r in function["sizes"].values()]
    return bool(ranges) and all(high == low + 1 for low, high in ranges)


def _of_dims(facts: Mapping[str, Any], entry: Mapping[str, Any], arch: str) -> Iterator[str]:
    symbols = {s["name"]: Symbol(s["name"], s["low"], s["high"]) for s in facts["symbols"]}
    ports = [
        SimpleNamespace(
            name=port["name"],
            shape=tuple(port["shape"]),
            symbols=tuple(
                symbols[name]
                for name in (factor_of(d)[1] for d in port["shape"] if isinstance(d, str))
                if name in symbols
            ),
        )
        for port in facts["inputs"]
    ]
    outputs = [SimpleNamespace(name=p["name"], shape=tuple(p["shape"])) for p in facts["outputs"]]
    program = (entry.get("functions") or [{}])[-1]
    sizes = [size for block in program.get("blocks", ()) for size in block["sizes"]]
    needs = needs_of([(a, b) for a, b in program.get("equal", ())], sizes)
    fixed = machine(arch).arch.name == "cortexm" and not any(
        block["dynamic"] for block in program.get("blocks", ())
    )
    yield from of_ports(ports, outputs, needs, fixed)


def _of_package(entry: Mapping[str, Any], arch: str) -> Iterator[str]:
    work = entry.get("work", {})
    for name, why in work.get("in_float", {}).items():
        yield f"'{name}' is quantised, but computed in float: {why}"
    for name, why in work.get("widened", {}).items():
        yield f"the weights of '{name}' are integers in the file and floats in the package: {why}"
    integers = work.get("multiply_adds", {}).get("i8", 0)
    if integers and arch == "arm64":
        yield (
            f"{integers} multiply-adds are of 8 bits: most arm64 CPUs since 2018 have dot products;"
            " name the CPU with --mcpu to use them"
        )
    memory = entry.get("memory")
    if memory is not None and not memory["optimal"]:
        factor = entry["arena_bytes"] / max(1, memory["lower_bound"])
        yield (
            f"the arena is {factor:.3f} times its lower bound; --memory-time SECONDS lets the"
            " planner search longer"
        )
    if entry["threads"] == 1 and entry["calls"]:
        yield (
            "memory is planned for one thread: with --threads N, calls with scratch memory are"
            " split among threads, too"
        )


def _of_profile(profile: Profile) -> Iterator[str]:
    generated = [r for r in profile.by("call") if r.template == "generated"]
    share = sum(profile.share(row) for row in generated)
    if share >= GENERATED:
        names = ", ".join(f"'{row.name}'" for row in generated[:3])
        yield (
            f"{100 * share:.0f} % of the calls' time is in generated code, which no kernel of the"
            f" library serves; most in {names}: docs/adding-a-kernel.md says how to write one"
        )
    moving = [r for r in profile.rows if r.template.startswith(("transpose", "slice", "concat"))]
    share = sum(profile.share(row) for row in moving)
    if share >= MOVING:
        yield (
            f"{100 * share:.0f} % of the calls' time only moves data ({len(moving)} transpositions,"
            " slices and concatenations): look at where the model changes its layout"
        )
    run = sum(profile.runs_ms) / len(profile.runs_ms)
    if run > 0 and profile.outside_ms / run >= OUTSIDE:
        yield (
            f"{100 * profile.outside_ms / run:.0f} % of a run is outside of the calls: they are so"
            " short that starting them counts"
        )
    if profile.emulated:
        yield "the times are those of qemu: measure on the device with ./run --trace FILE.json"
