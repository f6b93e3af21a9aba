"""``tvmc inspect``: ports, memory and kernels of a package, without running it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tvm_megcc.cli import changing, html_page, options, profiling
from tvm_megcc.errors import InputError
from tvm_megcc.report.labels import group_at, group_text, kept_text

HELP = "show a package's inputs, outputs, memory and kernels"

#: Blocks that are listed at the peak; the others are summed up.
LISTED = 8


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("package", metavar="OUT", help="what tvmc compile wrote: directory or .tar")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--plot", metavar="FILE.svg", help="draw the memory plan: address over time, peak marked"
    )
    parser.add_argument(
        "--shapes",
        metavar="SHAPES",
        help="where shapes can change: the program and the arena for these, as in"
        ' "x:[1,3,320,320]"',
    )
    parser.add_argument(
        "--for",
        dest="cpu",
        metavar="CPU|BOARD",
        help="flash, RAM, stack and executed instructions on a Cortex-M (cortex-m4, ...) or a board"
        " (nrf52840, ...), of the program in the package's examples/cortexm",
    )
    parser.add_argument(
        "--arch", metavar="A", help="whose plan to draw (default: this machine's, or the first)"
    )
    parser.add_argument(
        "--profile",
        metavar="TRACE.json",
        help="show what the package's `run --trace TRACE.json` has measured, perhaps on a device",
    )
    profiling.add_output(parser, default=None)
    html_page.arguments(parser)


def run(args: argparse.Namespace) -> None:
    from tvm_megcc.host import footprint, package
    from tvm_megcc.report import executed

    html_page.check(args)
    args.by = args.by or ("call" if args.cpu is None else "operator")
    if args.profile is not None and args.html is None:
        show_profile(args)
        return
    if args.profile_output and args.profile is None and args.measure is None:
        raise InputError("--profile-output: there is no profile; add --profile TRACE.json")
    with package.opened(args.package) as opened:
        facts = summary(opened.manifest)
        arch = opened.choose(args.arch)
        inputs = opened.inputs
        found = None if args.cpu is None else footprint.footprint(opened, args.cpu)
        calls = executed.rows(found.executed, opened) if found and found.executed.calls else ()
    if found is not None:
        moving = moved_bytes(facts["archs"][found.executed.arch]) and found.executed.copying
        facts["for"] = {
            **found.facts,
            **({"moving_instructions": moving} if moving else {}),
            **executed.facts(calls),
        }
    if args.shapes is not None:
        facts["at"] = changing.at_shapes(
            facts, inputs, options.shapes(args.shapes, "--shapes") or {}
        )
    if args.plot is not None:
        plot(facts, arch, args.plot)
    if args.html is not None:
        html_page.write(args, facts)
        return
    if args.json:
        print(json.dumps(facts, indent=2))
        return
    print(f"model {facts['name']}")
    for side in ("inputs", "outputs"):
        for port in facts[side]:
            print(
                f"  {side[:-1]:<7} {port['name']}: {port['dtype']}{port['shape']}{step_text(port)}"
            )
    head = ("arch", "arena bytes", "weight bytes", "kernels", "calls", "threads")
    rows = [
        [
            arch,
            *map(str, (_arena(a), a["weight_bytes"], len(a["kernels"]), a["calls"], a["threads"])),
        ]
        for arch, a in facts["archs"].items()
    ]
    options.print_table(head, rows)
    print(f"instructions: {', '.join(facts['opcodes'])}")
    for pair in facts.get("states", ()):
        print(f"state: input '{pair['input']}' and output '{pair['output']}' share memory")
    for line in changing.lines(facts):
        print(line)
    for arch, a in facts["archs"].items():
        if "memory" in a:
            print(f"memory for {arch}:")
            for line in memory_lines(a["arena_bytes"], a["memory"]):
                print(f"  {line}")
    for arch, a in facts["archs"].items():
        for number, program in enumerate(a.get("functions", [a])):
            if "streamed" in program:
                several = f", program {number}" if "functions" in a else ""
                print(f"calls in bands of rows for {arch}{several}:")
                shown = facts.get("at", {}).get(arch, {})
                groups = [group_at(group, {}) for group in program["streamed"]]
                if shown.get("function") == number:
                    groups = shown["streamed"]
                for line in streamed_lines(groups):
                    print(f"  {line}")
    for arch, a in facts["archs"].items():
        if "spending" in a:
            print(f"choice of kernels for {arch}: {spending_line(a['spending'])}")
    for arch, a in facts["archs"].items():
        for line in work_lines(a.get("work", {})):
            print(f"{line} on {arch}")
    for arch, a in facts["archs"].items():
        print(f"kernels for {arch}:")
        for symbol in a["kernels"]:
            print(f"  {symbol}")
    if found is not None:
        moved = moved_bytes(facts["archs"][found.executed.arch])
        for line in (*found.lines(), *executed.lines(found.executed, calls, args.by, moved)):
            print(line)


def show_profile(args: argparse.Namespace) -> None:
    """The profile in a file in place of the package's facts."""
    from tvm_megcc.host.trace import read_trace
    from tvm_megcc.report import formats

    profiling.check_outputs(args)
    profile = profiling.profile_of(read_trace(Path(args.profile)), args.package)
    profiling.show(profile, args, print_table=not args.json)
    if args.json:
        print(formats.as_json(profile, args.by), end="")


def _arena(facts: Mapping[str, Any]) -> object:
    return "by shape" if facts["arena_bytes"] is None else facts["arena_bytes"]


def summary(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest's facts in the order in which a reader asks for them."""
    ports = ("name", "dtype", "shape", "bytes")  # no bytes where a dim is open
    return {
        "name": manifest["name"],
        "c_name": manifest["c_name"],
        "weights": manifest["weights"],
        **{
            side: [{key: p.get(key) for key in ports} | _step(p) for p in manifest[side]]
            for side in ("inputs", "outputs")
        },
        "symbols": manifest.get("symbols", []),
        "opcodes": manifest["opcodes"],
        "archs": {arch: _facts(manifest["per_arch"][arch]) for arch in manifest["archs"]},
    }


def _step(port: Mapping[str, Any]) -> dict[str, Any]:
    """What the integers of a port stand for; empty where they stand for themselves."""
    return {key: port[key] for key in ("scale", "zero_point") if key in port}


def step_text(port: Mapping[str, Any]) -> str:
    """Scale and zero point of a port behind its shape; empty for a port without."""
    return f", scale {port['scale']:.9g}, zero point {port['zero_point']}" if _step(port) else ""


def _facts(entry: Mapping[str, Any]) -> dict[str, Any]:
    keys = ("arena_bytes", "weight_bytes", "program_bytes", "calls", "kernels")
    facts = {key: entry[key] for key in keys}
    facts["threads"] = entry.get("threads", 1)
    if "functions" in entry:
        facts["functions"] = [
            {key: value for key, value in function.items() if key != "graph"}
            for function in entry["functions"]
        ]
    if "spending" in entry:
        facts["spending"] = entry["spending"]
    for key in ("work", "streamed"):
        if key in entry:
            facts[key] = entry[key]
    if "memory" in entry:  # a package of an earlier version has none
        memory = dict(entry["memory"])
        facts["memory"] = {
            **memory,
            "peak_number": _number_of(entry, memory["peak_step"]),
            "live_at_peak": live(memory, memory["peak_step"]),
        }
    return facts


def _number_of(entry: Mapping[str, Any], step: int) -> int | None:
    """The number, as profiles count calls, of the call at a step; None if it is no call."""
    calls = entry.get("graph", {}).get("calls", ())
    return next((number for number, call in enumerate(calls) if call["step"] == step), None)


def moved_bytes(facts: Mapping[str, Any]) -> int:
    """Bytes of line buffers that a run of an architecture's only program moves."""
    return sum(group["moved_bytes"] for group in facts.get("streamed", ()))


def streamed_lines(groups: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Lines on each group: its calls and bands, then its line buffers."""
    for group in groups:
        yield f"{group_text(group)}; {group['moved_bytes']} bytes moved in a run"
        for buffer in group["buffers"]:
            yield f"{buffer['bytes']:>12}  {buffer['name']}, {kept_text(buffer)}"


def work_lines(work: Mapping[str, Any]) -> Iterator[str]:
    """The share of multiply-adds by type, quantised operators in float, tables of two uses."""
    counts = work.get("multiply_adds", {})
    total = sum(counts.values())
    if total:
        shares = sorted(counts.items(), key=lambda row: -row[1])
        said = ", ".join(f"{100 * n / total:.4g} % {dtype}" for dtype, n in shares)
        yield f"{total} multiply-adds: {said}"
    for name, why in work.get("in_float", {}).items():
        yield f"quantised, but in float: '{name}', {why};"
    for name, why in work.get("widened", {}).items():
        yield f"weights that the file has as integers: '{name}', {why};"
    for name, how in work.get("tied", {}).items():
        yield f"table of '{name}' and of a product: {how}"


def spending_line(spent: Mapping[str, Any]) -> str:
    """Weight bytes spent on speed, and instructions saved, in a line."""
    preference = spent["preference"]
    asked = f"--optimize {preference['optimize']}{' --exact' if preference['exact'] else ''}"
    if "precision" in preference:
        asked += f" --precision {preference['precision']}"
    if preference.get("softmax", "float") != "float":
        asked += f" --softmax {preference['softmax']}"
    if not spent["calls"]:
        return f"{asked}; no call has a choice"
    allowed = spent["allowed_bytes"]
    bound = "without bound" if allowed is None else f"of {allowed} allowed"
    return (
        f"{asked}; weights grow by {spent['spent_bytes']} bytes {bound};"
        f" {spent['calls']} calls take about {spent['instructions']} instructions"
        f" instead of {spent['instructions_before']}"
    )


def live(memory: Mapping[str, Any], step: int) -> list[dict[str, Any]]:
    """The blocks that are live during a call, largest first."""
    found = [b for b in memory["blocks"] if b["bytes"] and b["first"] <= step < b["last"]]
    return sorted(found, key=lambda b: (-b["bytes"], b["pool"], b["offset"]))


def memory_lines(arena: int, memory: Mapping[str, Any]) -> Iterator[str]:
    """Lines on the arena: its size, the lower bound, and the largest blocks at the peak."""
    bound = memory["lower_bound"]
    verdict = "optimal" if memory["optimal"] else f"{arena / max(bound, 1):.3f} times as much"
    yield f"arena {arena} bytes, lower bound {bound}: {verdict}"
    yield f"planned by {memory['planner']}; {memory['naive_bytes']} bytes without sharing"
    if len(memory["pools"]) > 1:
        for pool in memory["pools"]:
            yield f"pool {pool['name']}: {pool['bytes']} bytes"
    blocks = memory["live_at_peak"]
    if not blocks:
        return
    number = memory.get("peak_number")
    where = f"at step {memory['peak_step']}" if number is None else f"during call {number}"
    yield f"peak {where}, '{memory['peak_call']}': {sum(b['bytes'] for b in blocks)} bytes live"
    for block in blocks[:LISTED]:
        yield f"{block['bytes']:>12}  {block['name']}"
    if rest := blocks[LISTED:]:
        yield f"{sum(b['bytes'] for b in rest):>12}  in {len(rest)} smaller ones"


def plot(facts: Mapping[str, Any], arch: str, file: str) -> None:
    """Draw the memory plan of one architecture into a file.

    Raises InputError if the file is no ``.svg``, its place cannot be written to, or the package
    does not say how its memory was planned.
    """
    from tvm_megcc.host import files
    from tvm_megcc.report.plan_picture import plan_svg

    try:
        text = plan_svg(facts, arch)
    except InputError as error:
        raise InputError(f"--plot: {error}") from error
    if not file.endswith(".svg"):
        raise InputError(f"--plot: '{file}' must end in .svg, the only format; rename it")
    files.write_file(text.encode(), Path(file))
