"""Latency on this machine beside ONNX Runtime, and executed instructions on Arm, per model.

A MODEL is a name of the zoo or an ONNX file. One thread, pinned to one core; our runner and ONNX
Runtime take turns in the same run. Arm instructions are counted under qemu for one inference
(scripts/count_instructions). Nothing here is a test: no number is compared with a limit.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import subjects
import timing

from tvm_megcc import driver, zoo
from tvm_megcc.cli import options
from tvm_megcc.core.preference import DEFAULT, OPTIMIZE, Preference
from tvm_megcc.errors import InputError, MegccError, ToolError
from tvm_megcc.host import arrays, instruction_counts, package, toolchain

#: For one inference under qemu.
TIMEOUT_S = 1200


@dataclass(slots=True)
class Row:
    """Figures of one model; None where it was not measured, with a note on the reason."""

    model: str
    compile_s: float | None = None
    build_s: float | None = None
    ours_ms: list[float] = field(default_factory=list)
    ort_ms: list[float] = field(default_factory=list)
    relative_difference: float | None = None
    instructions: dict[str, int] = field(default_factory=dict)
    moved_bytes: dict[str, tuple[int, int]] = field(default_factory=dict)  # loaded, stored
    arena_bytes: dict[str, int] = field(default_factory=dict)
    text_bytes: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def bench_host(model: Path, folder: Path, row: Row, args: argparse.Namespace, shapes) -> None:
    """Our runner and ONNX Runtime in turn, `rounds` times `repeat` runs each."""
    preference = Preference(args.optimize)
    ours = timing.Ours(model, folder / "host", input_shapes=shapes, preference=preference)
    row.compile_s = max(row.compile_s or 0, ours.compile_s)
    row.build_s = ours.build_s
    row.arena_bytes[ours.arch] = ours.arena_bytes
    library = ours.runner.with_name("libmodel.a")
    row.text_bytes[ours.arch] = toolchain.text_bytes(library, ours.arch)
    inputs = arrays.fill(ours.inputs, "random")
    try:
        peer = timing.OnnxRuntime(model)
    except ImportError:
        peer = None
        row.notes.append("ONNX Runtime is not installed (pip install onnxruntime): no ratio")
    with timing.pinned(args.core):
        for _ in range(args.rounds):
            outputs, times = ours.run(inputs, args.repeat)
            row.ours_ms += times
            if peer:
                want, times = peer.run(inputs, args.repeat)
                row.ort_ms += times
                row.relative_difference = timing.largest_relative(outputs, want)


def count_instructions(
    model: Path,
    arch: str,
    folder: Path,
    row: Row,
    shapes,
    preference: Preference = DEFAULT,
    cpu: str | None = None,
    given: arrays.Arrays | None = None,
) -> None:
    """Executed instructions of one inference, between the runner's bench brackets.

    Of the inputs that are given, else of random ones.
    """
    start = time.perf_counter()
    out = folder / arch
    driver.compile_model(model, out, archs=[arch], input_shapes=shapes, preference=preference)
    row.compile_s = max(row.compile_s or 0, time.perf_counter() - start)
    opened = package.load(out)
    row.arena_bytes[arch] = opened.manifest["per_arch"][arch]["arena_bytes"]
    marks = ["-include", str(instruction_counts.MARKS)]
    runner = toolchain.build(opened.path, arch, extra_cflags=marks)
    row.text_bytes[arch] = toolchain.text_bytes(runner.with_name("libmodel.a"), arch)
    inputs = given or arrays.fill(opened.inputs, "random")
    _, counts = instruction_counts.of_inference(
        runner, arch, inputs, opened.manifest, cpu=cpu, timeout=TIMEOUT_S
    )
    row.instructions[arch] = counts.totals["instructions"]
    row.moved_bytes[arch] = counts.totals["load_bytes"], counts.totals["store_bytes"]


def bench(name: str, folder: Path, args: argparse.Namespace) -> Row:
    folder.mkdir()
    model = subjects.file_of(name, folder)
    row = Row(model.stem)
    shapes = options.shapes(args.input_shapes)
    for arch in args.arch.split(","):
        try:
            if arch == "host":
                bench_host(model, folder, row, args, shapes)
            else:
                count_instructions(model, arch, folder, row, shapes, Preference(args.optimize))
        except ToolError as error:
            row.notes.append(f"{arch}: {error}")
    return row


def line(row: Row) -> str:
    def number(value: float | None, form: str) -> str:
        return format(value, form) if value is not None else "-"

    def least_and_middle(times: list[float]) -> str:
        found = (min(times), statistics.median(times)) if times else (None, None)
        return "".join(f"{number(value, '.3f'):>9}" for value in found)

    ratio = min(row.ours_ms) / min(row.ort_ms) if row.ours_ms and row.ort_ms else None
    host = toolchain.host_arch()
    cells = [
        f"{row.model:22}",
        least_and_middle(row.ours_ms),
        least_and_middle(row.ort_ms),
        f"{number(ratio, '.2f'):>7}",
        *(f"{number(row.instructions.get(a), ','):>15}" for a in ("arm64", "armv7")),
        f"{number(row.arena_bytes.get(host), ','):>12}",
        f"{number(row.text_bytes.get('arm64', row.text_bytes.get(host)), ','):>10}",
        f"{number(row.compile_s, '.1f'):>7}{number(row.build_s, '.1f'):>7}",
        f"{number(row.relative_difference, '.0e'):>8}",
    ]
    return "".join(cells) + "".join(f"\n    {note}" for note in row.notes)


HEAD = (
    f"{'':22}{'ours, ms':>18}{'ORT, ms':>18}{'ours':>7}{'instructions':>30}"
    f"{'arena':>12}{'text':>10}{'seconds':>14}{'':>8}\n"
    f"{'model':22}{'min':>9}{'median':>9}{'min':>9}{'median':>9}{'/ORT':>7}{'arm64':>15}{'armv7':>15}"
    f"{'bytes':>12}{'bytes':>10}{'compile':>7}{'make':>7}{'differ':>8}"
)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="default: mobilenet_v2")
    parser.add_argument("--arch", default="host,arm64,armv7", help="default: %(default)s")
    parser.add_argument("--input-shapes", help='for symbolic dims, as in "x:[1,3,224,224]"')
    parser.add_argument(
        "--optimize", choices=OPTIMIZE, default="balanced", help="default: %(default)s"
    )
    parser.add_argument("--repeat", type=options.count, default=20, help="runs per round")
    parser.add_argument("--rounds", type=options.count, default=3, help="turns of ours and ORT")
    parser.add_argument("--core", type=int, help="the core to be pinned to; default: the last")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything there, too")
    args = parser.parse_args(argv)
    names = args.models or ["mobilenet_v2"]
    try:
        for name in names:
            if name not in zoo.NAMES and not Path(name).is_file():
                raise InputError(f"{name!r} is neither a file nor one of {', '.join(zoo.NAMES)}")
        print(HEAD, flush=True)
        rows = []
        with tempfile.TemporaryDirectory(prefix="megcc_bench_") as folder:
            for i, name in enumerate(names):
                rows.append(bench(name, Path(folder) / str(i), args))
                print(line(rows[-1]), flush=True)
    except MegccError as error:
        print(f"scripts/bench: {error}", file=sys.stderr)
        return 1
    if args.json:
        args.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
