"""Write the tables of docs/performance.md that hold us beside other runtimes.

    scripts/bench --peers                        the rows of the first table
    scripts/bench --peers resnet18 conv3x3       some of them
    scripts/bench --peers --corpus --write       and the models of the corpus; into the page

On x86 our package and every peer (ONNX Runtime, OpenVINO, ncnn, MNN; each in a process of its own)
take turns on one pinned core; what is printed is the median over the pairs of our least time to the
best peer's, with the tenth and ninetieth percentile. For Arm our executed instructions are counted
(scripts/count_instructions) and stand beside the peers' of docs/peers.json, which were counted the
same way, and beside the bytes that they load and store in the first mode: instructions alone do not
see caches. Nothing here is a test: no number is compared with a limit.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bench
import numpy as np
import onnx
import pages
import timing
from bench_threads import write
from onnx import TensorProto, helper, numpy_helper
from subjects import ROOT, corpus

from tvm_megcc import zoo
from tvm_megcc.cli import options
from tvm_megcc.core.preference import OPTIMIZE, Preference
from tvm_megcc.errors import InputError, MegccError, ToolError
from tvm_megcc.host import arrays
from tvm_megcc.quantisation import quantise

PAGE = ROOT / "docs" / "performance.md"
FIGURES = ROOT / "docs" / "peers.json"
PEER_PYTHON = ROOT / ".venv-peers" / "bin" / "python"
PEERS = ("onnxruntime", "openvino", "ncnn", "mnn")

ROWS_BEGIN, ROWS_END = "<!-- Written by scripts/bench --peers: begin -->", "<!-- end of peers -->"
CORPUS_BEGIN = "<!-- Written by scripts/bench --peers --corpus: begin -->"
CORPUS_END = "<!-- end of corpus -->"

Arrays = dict[str, np.ndarray]


def conv3x3() -> onnx.ModelProto:
    """A convolution 3x3, 32 to 64 channels at 56x56, with relu."""
    rng = np.random.default_rng(0)
    weights = {
        "w": rng.standard_normal((64, 32, 3, 3)).astype("f4") / 17,
        "b": rng.standard_normal(64).astype("f4"),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["y"]),
    ]
    ports = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, channels, 56, 56))
        for name, channels in (("x", 32), ("y", 64))
    ]
    held = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "conv3x3", ports[:1], ports[1:], held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@dataclass(frozen=True, slots=True)
class Model:
    """A model to compile, and the shapes of its inputs with dynamic dims.

    `inputs` are its own: random ones may be none that it takes.
    """

    name: str
    path: Path
    shapes: dict[str, list[int]] | None = None
    precision: str = "model"
    inputs: Arrays | None = None


def model_of(name: str, folder: Path, shared: Path) -> Model:
    """A network of the zoo, `conv3x3`, a model of the corpus, or a file; else InputError.

    ``NETWORK:int8`` is a network of the zoo that is quantised, ``NETWORK:fp16`` one that is
    compiled with ``--precision fp16``.
    """
    network, _, form = name.partition(":")
    if network in zoo.NAMES and form == "int8":
        return Model(name, quantised(network, folder))
    if network in zoo.NAMES or name == "conv3x3":
        path = folder / f"{network}.onnx"
        onnx.save(conv3x3() if name == "conv3x3" else zoo.build(network), path)
        return Model(name, path, precision=form or "model")
    if Path(name).is_file():
        return Model(Path(name).stem, Path(name))
    for entry in entries(shared):
        if entry["name"] == name:
            (path,) = (shared / "models" / name).glob("*.onnx")
            case = entry["cases"][0]
            return Model(name, path, case["input_shapes"], inputs=stored(path.parent, case))
    raise InputError(f"{name!r} is no network of the zoo, no model of the corpus and no file")


def stored(folder: Path, case: dict[str, Any]) -> Arrays | None:
    """The inputs of a stored case; None where there are none. Some scalars have one element."""
    shapes = case["input_shapes"]
    found = corpus.Case(case.get("name", ""), folder / case.get("dir", ""), shapes, {}).inputs()
    return {n: a.reshape(shapes.get(n, a.shape)) for n, a in found.items()} or None


def quantised(network: str, folder: Path) -> Path:
    """A network of the zoo with 8-bit operators, a scale per channel, of four random images."""
    path, samples, made = (folder / name for name in ("float.onnx", "samples.npz", "int8.onnx"))
    onnx.save(zoo.build(network), path)
    port = zoo.build(network).graph.input[0]
    shape = [d.dim_value for d in port.type.tensor_type.shape.dim[1:]]
    images = np.random.default_rng(0).standard_normal((4, *shape)).astype("f4")
    np.savez(samples, **{port.name: images})
    quantise(path, made, samples, per_channel=True)
    return made


def entries(shared: Path) -> list[Any]:
    """The entries of the corpus's index; empty without a corpus."""
    index = shared / "models" / "INDEX.json"
    return list(json.loads(index.read_text())) if index.is_file() else []


class Peer:
    """A peer's process; ToolError if it cannot run the model."""

    def __init__(self, name: str, model: Model, inputs: Path, folder: Path) -> None:
        self.name, self.answer = name, folder / f"{name}.npz"
        words = [PEER_PYTHON, ROOT / "scripts" / "peers.py", name, model.path, inputs, self.answer]
        self.process = subprocess.Popen(
            [str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert self.process.stdout
        if self.process.stdout.readline().strip() != "ready":
            self.close()
            raise ToolError(f"{name} does not run {model.name}")

    def run(self, repeat: int) -> list[float]:
        assert self.process.stdin and self.process.stdout
        print(repeat, file=self.process.stdin, flush=True)
        return list(json.loads(self.process.stdout.readline()))

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@dataclass(slots=True)
class Timed:
    """Least times in ms of every turn, by runtime; ours by mode."""

    model: str
    ours: dict[str, list[float]] = field(default_factory=dict)
    peers: dict[str, list[float]] = field(default_factory=dict)
    differ: float = 0.0

    @property
    def best(self) -> str | None:
        """The peer with the least median."""
        return min(self.peers, key=lambda p: statistics.median(self.peers[p]), default=None)

    def ratio(self, mode: str) -> tuple[float, float, float] | None:
        """(tenth percentile, median, ninetieth) of ours to the best peer's, pair by pair."""
        if self.best is None:
            return None
        pairs = np.array(self.ours[mode]) / np.array(self.peers[self.best])
        low, middle, high = np.percentile(pairs, (10, 50, 90))
        return float(low), float(middle), float(high)


def time_host(
    model: Model, folder: Path, modes: Sequence[str], peers: Sequence[str], args: argparse.Namespace
) -> Timed:
    """Ours in every mode and every peer that runs the model, in turns."""
    row = Timed(model.name)
    ours = {
        mode: timing.Ours(
            model.path,
            folder / f"host_{mode}",
            input_shapes=model.shapes,
            preference=Preference(mode, precision=model.precision),
        )
        for mode in modes
    }
    first = ours[modes[0]]
    inputs = model.inputs or arrays.fill(arrays.sized(first.inputs, None), "random")
    given = folder / "inputs.npz"
    np.savez(given, **inputs)
    with ExitStack() as stack:
        running = []
        for name in peers:
            try:
                running.append(Peer(name, model, given, folder))
            except ToolError as error:
                print(f"    {error}", flush=True)
                continue
            stack.callback(running[-1].close)
        for peer in running:
            if peer.name == "onnxruntime":
                answer = dict(np.load(peer.answer))
                row.differ = timing.largest_relative(first.run(inputs, 1)[0], answer)
        for _ in range(args.rounds):
            for mode, one in ours.items():
                row.ours.setdefault(mode, []).append(min(one.run(inputs, args.repeat)[1]))
            for peer in running:
                row.peers.setdefault(peer.name, []).append(min(peer.run(args.repeat)))
    return row


@dataclass(frozen=True, slots=True)
class Counted:
    """One inference in millions: executed instructions, bytes loaded and bytes stored by them."""

    instructions: float
    loaded: float
    stored: float

    @property
    def moved(self) -> list[str]:
        """The cells of the bytes."""
        return [f"{self.loaded:,.2f} MB", f"{self.stored:,.2f} MB"]


def count(model: Model, arch: str, cpu: str, mode: str, folder: Path) -> Counted:
    """Instructions and bytes of one inference on Arm."""
    row = bench.Row(model.name)
    where = folder / f"{arch}_{mode}"
    where.mkdir()
    preference = Preference(mode, precision=model.precision)
    bench.count_instructions(
        model.path, arch, where, row, model.shapes, preference, cpu, model.inputs
    )
    return Counted(row.instructions[arch] / 1e6, *(b / 1e6 for b in row.moved_bytes[arch]))


def arm_line(figure: dict[str, object], folder: Path, args: argparse.Namespace) -> list[str]:
    """A row of the table: one model on one Arm architecture."""
    name, arch = str(figure["model"]), str(figure["arch"])
    model = model_of(name, folder, args.shared)
    counts = [count(model, arch, str(figure["cpu"]), mode, folder) for mode in args.modes]
    cells = [name, arch, *(f"{one.instructions:,.2f} M" for one in counts), *counts[0].moved]
    best, wanted = figure["best"], figure["wanted"]
    cells += [f"{figure['peer']} {best:,} M", f"{wanted:,} M"]
    return cells


def host_line(figure: dict[str, object], folder: Path, args: argparse.Namespace) -> list[str]:
    """A row of the table: one model on this machine."""
    model = model_of(str(figure["model"]), folder, args.shared)
    timed = time_host(model, folder, args.modes, PEERS, args)
    cells = [model.name, str(figure["arch"])]
    cells += [f"{min(timed.ours[mode]):.2f} ms" for mode in args.modes] + ["-", "-"]
    ratio = timed.ratio(args.modes[0])
    if timed.best is None or ratio is None:
        return [*cells, "-", f"{figure['wanted']} x"]
    low, middle, high = ratio
    best = f"{timed.best} {min(timed.peers[timed.best]):.2f} ms"
    return [*cells, f"{best}: {middle:.2f} x ({low:.2f} to {high:.2f})", f"{figure['wanted']} x"]


def rows(names: Sequence[str], args: argparse.Namespace) -> Iterator[list[str]]:
    """The rows of the first table, for all figures of docs/peers.json or for some models."""
    for figure in figures():
        if names and figure["model"] not in names:
            continue
        if args.arch and figure["arch"] not in args.arch.split(","):
            continue
        line = host_line if figure["arch"] == "x86" else arm_line
        with tempfile.TemporaryDirectory(prefix="megcc_peers_") as folder:
            try:
                yield line(figure, Path(folder), args)
            except MegccError as error:
                yield [figure["model"], figure["arch"], str(error)]


def corpus_rows(names: Sequence[str], args: argparse.Namespace) -> Iterator[list[str]]:
    """A row for each model of the corpus: arm64's instructions, and ONNX Runtime beside ours."""
    for entry in entries(args.shared):
        if names and entry["name"] not in names:
            continue
        with tempfile.TemporaryDirectory(prefix="megcc_peers_") as name:
            folder = Path(name)
            model = model_of(entry["name"], folder, args.shared)
            cells = [model.name]
            try:
                counted = count(model, "arm64", "cortex-a57", "balanced", folder)
                cells += [f"{counted.instructions:,.2f} M", *counted.moved]
                timed = time_host(model, folder, ["balanced"], ["onnxruntime"], args)
                cells.append(f"{min(timed.ours['balanced']):.3f} ms")
                if ratio := timed.ratio("balanced"):
                    cells += [f"{min(timed.peers['onnxruntime']):.3f} ms", f"{ratio[1]:.2f}"]
            except MegccError as error:
                cells.append(str(error))
        yield cells


@dataclass(frozen=True, slots=True)
class Page:
    """A table between two marks of docs/performance.md: rows are replaced one by one."""

    #: `begin`, `end`: the marks.
    begin: str
    end: str
    head: tuple[str, ...]
    keys: int  # number of leading cells that identify a row

    def write(self, row: Sequence[str], order: Sequence[tuple[str, ...]]) -> None:
        """Put a row into the table, which is in this order of keys."""
        text = PAGE.read_text().partition(self.begin)[2].partition(self.end)[0]
        lines = [line for line in text.splitlines() if line.startswith("| ")][1:]
        known = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        found = {tuple(cells[: self.keys]): cells for cells in [*known, list(row)]}
        body = [found[key] for key in order if key in found]
        filled = [[*cells, *[""] * (len(self.head) - len(cells))] for cells in body]
        write(PAGE, pages.table(self.head, filled), self.begin, self.end)


ROWS_HEAD = ("model", "machine", *OPTIMIZE, "loaded", "stored", "best peer", "wanted", "at")
ROWS = Page(ROWS_BEGIN, ROWS_END, ROWS_HEAD, 2)
CORPUS_HEAD = ("model", "arm64", "loaded", "stored", "x86", "ONNX Runtime", "ratio", "at")
CORPUS = Page(CORPUS_BEGIN, CORPUS_END, CORPUS_HEAD, 1)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench --peers", description=__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="default: all of the table")
    parser.add_argument("--arch", help="of the table; default: all")
    parser.add_argument("--modes", default=",".join(OPTIMIZE), help="of --optimize; all by default")
    parser.add_argument("--corpus", action="store_true", help="the corpus's models instead")
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared", metavar="DIR")
    parser.add_argument("--rounds", type=options.count, default=30, help="turns; default: 30")
    parser.add_argument("--repeat", type=options.count, default=5, help="runs in a turn; 5")
    parser.add_argument("--core", type=int, help="the core to be pinned to; default: the last")
    parser.add_argument("--write", action="store_true", help="write the table into the page")
    args = parser.parse_args(argv)
    args.modes = args.modes.split(",")
    if args.write and not args.corpus and args.modes != list(OPTIMIZE):
        parser.error("--write is for rows of all modes; leave --modes out")
    page, measured = (CORPUS, corpus_rows) if args.corpus else (ROWS, rows)
    named = [e["name"] for e in entries(args.shared)] if args.corpus else []
    order = [(name,) for name in named] or [(f["model"], f["arch"]) for f in figures()]
    at = commit()  # before the page is written, which is a change, too
    try:
        with timing.pinned(args.core):
            for row in measured(args.models, args):
                print(" | ".join(row), flush=True)
                if args.write:
                    page.write([*row, *[""] * (len(page.head) - 1 - len(row)), at], order)
    except MegccError as error:
        print(f"scripts/bench: {error}", file=sys.stderr)
        return 1
    return 0


def figures() -> list[Any]:
    """The rows of docs/peers.json."""
    return list(json.loads(FIGURES.read_text())["rows"])


def commit() -> str:
    """The commit that is measured, as git describes it."""
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True
    )
    return done.stdout.strip() or "an unknown commit"


if __name__ == "__main__":
    raise SystemExit(main())
