#!/usr/bin/env python3
"""Write the table of streamed execution in docs/memory-models.md: arenas, bounds, instructions.

Usage: ``scripts/stream_table.py [MODEL ...]`` prints a row per model; ``--write`` puts the table of
all of them in the page. ``--json FILE`` keeps the figures. A model of the corpus is left out, with
a reason, where there is no corpus beside the checkout.

A model is compiled with ``--stream off`` and ``--stream auto``, and one inference of each package
is counted: of int8 networks on qemu's board with a Cortex-M4, of the others by qemu's arm64.
``scripts/stream_bound.py`` has the bound.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import pages
import subjects
from instruction_table import counted
from stream_bound import least_arena
from subjects import corpus
from tiny_networks import NETWORKS, Graph, Network, Value

from tvm_megcc import driver, passes, zoo
from tvm_megcc.core.preference import Preference
from tvm_megcc.core.program import Program
from tvm_megcc.errors import MegccError, ToolError
from tvm_megcc.forward import forward, reorder
from tvm_megcc.frontend import from_onnx
from tvm_megcc.host import arrays, package
from tvm_megcc.host.firmware import Firmware
from tvm_megcc.lower import lower
from tvm_megcc.memory_options import MemoryOptions
from tvm_megcc.options import DEFAULT
from tvm_megcc.target import resolve

PAGE = subjects.ROOT / "docs" / "memory-models.md"
BEGIN = "<!-- Written by scripts/stream_table.py: begin -->"
END = "<!-- end of streaming -->"
COLUMNS = (
    "model", "machine", "off", "auto", "bound", "auto / bound", "wanted", "executed off",
    "executed auto", "executed auto / off",
)  # fmt: skip
BOARD_CPU = "cortex-m4"
#: Largest arena over the bound, and over the arena without streaming, that is wanted of a model of
#: the corpus which has no figure of its own.
OVER_BOUND, OVER_OFF = 1.15, 0.6


@dataclass(frozen=True, slots=True)
class Row:
    """Bytes and instructions of one model; only `problem` where there are none."""

    model: str
    arch: str = ""
    off: int = 0  # arena, layer by layer
    auto: int = 0  # arena, streamed
    bound: int = 0
    wanted: int = 0
    #: Instructions of one inference; 0 where a tool is missing, or the board too small.
    counted_off: int = 0
    counted_auto: int = 0
    problem: str = ""

    @property
    def ratio(self) -> float:
        return self.counted_auto / self.counted_off if self.counted_off else 0.0


@dataclass(frozen=True, slots=True)
class Model:
    """A model of the table: its machine, its ONNX model and input shapes, and the wanted arena."""

    name: str
    arch: str
    load: Callable[[], tuple[onnx.ModelProto | Path, Mapping[str, tuple[int, ...]] | None]]
    wanted: int = 0
    arrays: Callable[[], Mapping[str, np.ndarray]] | None = None

    @property
    def preference(self) -> Preference:
        """Of networks on a board as ``scripts/bench --tiny`` compiles them."""
        return Preference("speed") if self.arrays else DEFAULT.preference


def _channels(count: float) -> int:
    """The multiple of 8 for a number of channels, as MobileNetV2 rounds it."""
    found = max(8, int(count + 4) // 8 * 8)
    return found + 8 if found < 0.9 * count else found


def _inverted_residual(g: Graph, x: Value, expand: int, made: int, stride: int) -> Value:
    y = x if expand == 1 else g.conv(x, x.channels * expand)
    y = g.conv(g.depthwise(y, (3, 3), stride), made, relu=False)
    if stride > 1 or made != x.channels:
        return y
    total = g.op("Add", g.real(y), g.real(x))
    return g.ranged(total, Value("", 0, 0, x.square + y.square, made, x.sides), False)


def mobilenet_v2(g: Graph, width: float, size: int) -> None:
    """MobileNetV2 in int8: layers and sizes of the paper's network."""
    x = g.conv(g.image(size, size, 3), _channels(32 * width), (3, 3), 2)
    rows = [
        # expand, channels, blocks, stride of the first
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
        (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
    ]  # fmt: skip
    for expand, made, blocks, stride in rows:
        for block in range(blocks):
            x = _inverted_residual(g, x, expand, _channels(made * width), 1 if block else stride)
    g.classes(g.flat(g.pool(g.conv(x, max(1280, _channels(1280 * width))))), 1000)


def _drawn(width: float, size: int) -> Network:
    draw = partial(mobilenet_v2, width=width, size=size)
    return Network(f"mobilenet_v2_{width}", draw, (1, size, size, 3), 1000)


def _int8(name: str, network: Network, wanted: int) -> Model:
    (arch,) = resolve([], [BOARD_CPU])
    return Model(name, arch, lambda: (network.build(), None), wanted, network.arrays)


def _zoo(name: str, wanted: int) -> Model:
    return Model(f"zoo: {name}", "arm64", lambda: (zoo.build(name), None), wanted)


def _corpus(shared: Path, name: str, wanted: int = 0) -> Model:
    def load() -> tuple[Path, Mapping[str, tuple[int, ...]] | None]:
        stored = shared / "models"
        found = corpus.load(stored) if stored.is_dir() else {}
        if name not in found:
            raise ToolError(f"no corpus at {stored}")
        return found[name].path, found[name].cases[0].shapes

    return Model(name, "arm64", load, wanted)


def models(shared: Path) -> dict[str, Model]:
    """The models of the table by name, in its order."""
    rows = [
        _int8("vww", NETWORKS["vww"], 20_000),
        _int8("ic", NETWORKS["ic"], 18_000),
        _int8("mobilenet_v2 0.35, 144 px", _drawn(0.35, 144), 58_000),
        _int8("mobilenet_v2 1.0, 224 px", _drawn(1.0, 224), 290_000),
        _zoo("mobilenet_v2", 1_200_000),
        _zoo("mobilenet_v1", 1_300_000),
        _zoo("resnet18", 1_900_000),
        _corpus(shared, "selfie_seg_landscape", 1_250_000),
        *(
            _corpus(shared, name)
            for name in ("ultraface_rfb320", "yolox_nano", "fastestdet", "blazeface_front")
        ),
    ]
    return {row.name: row for row in rows}


def bound_of(
    model: onnx.ModelProto | Path,
    arch: str,
    shapes: Mapping[str, tuple[int, ...]] | None,
    preference: Preference = DEFAULT.preference,
) -> int:
    """The least arena of a streamed execution of a model's program on a machine."""
    imported = from_onnx(model, shapes)
    mod = imported.mod
    for transform in passes.stages(arch, preference=preference).values():
        mod = transform(mod)
    ports = [[p.name for p in side] for side in (imported.inputs, imported.outputs)]
    lowered = lower(mod, arch, "model", *ports)
    return least_arena(reorder(lowered, "caller"), forward(lowered, "caller"))


def compiled(
    row: Model,
    loaded: tuple[onnx.ModelProto | Path, Mapping[str, tuple[int, ...]] | None],
    stream: str,
    folder: Path,
) -> int:
    """Compile a model into a folder; bytes of the arena."""
    model, shapes = loaded
    (program,) = driver.compile_model(
        model,
        folder,
        archs=[row.arch],
        input_shapes=shapes,
        preference=row.preference,
        memory=MemoryOptions(stream=stream),
    ).values()
    assert isinstance(program, Program) and isinstance(program.arena_bytes, int)
    return program.arena_bytes


def instructions(row: Model, folder: Path) -> int:
    """Executed instructions of one inference of a package; 0 where it cannot run."""
    try:
        if row.arrays is not None:
            answer = Firmware(folder, BOARD_CPU).counted(row.arrays())
            return answer.counts.totals["instructions"]
        opened = package.load(folder)
        (count,) = counted(opened, [arrays.fill(opened.inputs, "random")])
    except ToolError as error:
        print(f"{row.name}: {' '.join(str(error).split())[:200]}", file=sys.stderr)
        return 0
    return count


def measure(row: Model, count: bool = True) -> Row:
    """Measure one model; instructions only where `count` is true."""
    try:
        loaded = row.load()
        bound = bound_of(loaded[0], row.arch, loaded[1], row.preference)
        arenas, counts = {}, {"off": 0, "auto": 0}
        for stream in counts:
            with tempfile.TemporaryDirectory(prefix="megcc_stream_") as folder:
                arenas[stream] = compiled(row, loaded, stream, Path(folder, "package"))
                if count:
                    counts[stream] = instructions(row, Path(folder, "package"))
    except MegccError as error:
        return Row(row.name, problem=" ".join(str(error).split()))
    off, auto = arenas["off"], arenas["auto"]
    wanted = int(bound * OVER_BOUND)
    if bound <= off * OVER_OFF:
        wanted = min(wanted, int(off * OVER_OFF))
    wanted = row.wanted or wanted
    return Row(row.name, row.arch, off, auto, bound, wanted, counts["off"], counts["auto"])


def table(rows: list[Row]) -> str:
    """The rows as Markdown."""
    cells = []
    for r in rows:
        if r.problem:
            continue
        bytes_ = [f"{n:,}" for n in (r.off, r.auto, r.bound)]
        counts = [f"{n / 1e6:#.4g} M" if n else "-" for n in (r.counted_off, r.counted_auto)]
        ratio = f"{r.ratio:.3f}" if r.ratio else "-"
        cells.append(
            [r.model, r.arch, *bytes_, f"{r.auto / r.bound:.2f}", f"{r.wanted:,}", *counts, ratio]
        )
    text = pages.table(COLUMNS, cells, words=("model", "machine"))
    if missing := [f"{r.model} ({r.problem})" for r in rows if r.problem]:
        text += f"\n\nWithout figures: {'; '.join(missing)}."
    return text


def main(argv: list[str] | None = None) -> int:
    parser = subjects.parser("scripts/stream_table.py", __doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the figures there")
    parser.add_argument("--no-count", action="store_true", help="leave the instructions out")
    parser.add_argument("--write", action="store_true", help="put the table into the docs")
    args = parser.parse_args(argv)
    known = models(args.shared)
    if unknown := sorted(set(args.names) - set(known)):
        parser.error(f"not known: {', '.join(unknown)}; choose from {', '.join(known)}")
    if args.write and (args.names or args.no_count):
        parser.error("--write is for the whole table; leave names and --no-count out")
    rows = []
    for name in args.names or known:
        row = measure(known[name], not args.no_count)
        rows.append(row)
        said = row.problem or (
            f"{row.off:>12,}{row.auto:>12,}{row.bound:>12,}{row.wanted:>12,}"
            f"{row.counted_off:>16,}{row.counted_auto:>16,}{row.ratio:>8.4f}"
        )
        print(f"{name:28}{said}", flush=True)
        if args.json:
            args.json.write_text(json.dumps([asdict(r) for r in rows], indent=1) + "\n")
    if args.write:
        pages.write(PAGE, table(rows), BEGIN, END)
    return 0


if __name__ == "__main__":
    sys.exit(main())
