#!/usr/bin/env python3
"""Memory and time that ``tvmc compile`` takes to make a C package.

Usage: ``scripts/compiler_memory.py [MODEL ...]`` prints a row per model: names of the zoo, of the
made models (``encoder_300mb``, ``encoder_1200mb``, each ``_external`` or ``_embedded``), or files.
``--write`` measures all of the page's and puts the table into docs/measuring.md.

Peak memory is anonymous memory: what the system cannot take back by dropping pages of mapped
files. It is read from /proc every few milliseconds (Linux). CPU time is user and system.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pages
from onnx import TensorProto, helper

from tvm_megcc import zoo
from tvm_megcc.core import wire

PAGE = Path(__file__).resolve().parents[1] / "docs" / "measuring.md"
BEGIN = "<!-- Written by scripts/compiler_memory.py: begin -->"
END = "<!-- end -->"

#: Name -> layers, width: an encoder as in ViT-base and ViT-large.
ENCODERS = {"encoder_300mb": (12, 768), "encoder_1200mb": (24, 1024)}
TOKENS, HEADS = 197, 16
ZOO = ("mobilenet_v1", "mobilenet_v2", "resnet18", "resnet50")
MADE = tuple(f"{name}_{data}" for name in ENCODERS for data in ("external", "embedded"))

MB = 1e6
#: What a compilation may take: times the weights' bytes and bytes beside; seconds and per GB.
MEMORY, SECONDS = (2.0, 350 * MB), (12.0, 10.0)


@dataclass(frozen=True, slots=True)
class Row:
    """One compilation: bytes of weights and of anonymous memory at the peak, seconds of CPU."""

    name: str
    weights: int
    peak: int
    seconds: float

    @property
    def allowed(self) -> tuple[float, float]:
        """Most bytes and seconds that the compilation may take."""
        (times, beside), (begin, per_gb) = MEMORY, SECONDS
        return times * self.weights + beside, begin + per_gb * self.weights / 1e9


# ---- made models -------------------------------------------------------------------------------


class Encoder:
    """A transformer's encoder whose weights are drawn one at a time, in the order of their names.

    Each of its layers has 12 * width * width weights.
    """

    def __init__(self, layers: int, width: int) -> None:
        self.width = width
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.nodes: list[onnx.NodeProto] = []
        value = "x"
        for _ in range(layers):
            value = self._add("Add", value, self._attention(self._norm(value)))
            hidden = self._dense(self._norm(value), 4 * width)
            gate = self._add("Erf", self._add("Mul", hidden, self._weight("half", ())))
            gelu = self._add("Mul", hidden, self._add("Add", gate, self._weight("one", ())))
            value = self._add("Add", value, self._dense(gelu, width))
        self.result = self._norm(value)

    def _weight(self, role: str, shape: tuple[int, ...]) -> str:
        name = f"w{len(self.shapes):04d}_{role}"
        self.shapes[name] = shape
        return name

    def _add(self, op: str, *inputs: str, **attrs: object) -> str:
        name = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name, **attrs))
        return name

    def _norm(self, x: str) -> str:
        shape = (self.width,)
        weights = self._weight("scale", shape), self._weight("shift", shape)
        return self._add("LayerNormalization", x, *weights, axis=-1)

    def _dense(self, x: str, out: int) -> str:
        rows = 4 * self.width if self.shapes and x.startswith("mul") else self.width
        product = self._add("MatMul", x, self._weight("kernel", (rows, out)))
        return self._add("Add", product, self._weight("bias", (out,)))

    def _attention(self, x: str) -> str:
        split, merged = self._weight("split_shape", (4,)), self._weight("merged_shape", (3,))
        q, k, v = (
            self._add("Transpose", self._add("Reshape", self._dense(x, self.width), split), perm=p)
            for p in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])
        )
        chosen = self._add("Softmax", self._add("MatMul", q, k), axis=-1)
        mixed = self._add("Transpose", self._add("MatMul", chosen, v), perm=[0, 2, 1, 3])
        return self._dense(self._add("Reshape", mixed, merged), self.width)

    def weights(self) -> Iterator[tuple[str, np.ndarray]]:
        """The weights, each drawn when it is asked for; the same ones each time."""
        rng = np.random.default_rng(0)
        known = {
            "split_shape": np.array([1, TOKENS, HEADS, self.width // HEADS], np.int64),
            "merged_shape": np.array([1, TOKENS, self.width], np.int64),
            "half": np.array(2**-0.5, np.float32),
            "one": np.array(1.0, np.float32),
        }
        for name, shape in self.shapes.items():
            drawn = known.get(name.split("_", 1)[1])
            if drawn is None:
                drawn = rng.standard_normal(shape, np.float32) * np.float32(0.02)
            yield name, drawn

    def model(self, weights: Sequence[onnx.TensorProto] = ()) -> onnx.ModelProto:
        shape = [1, TOKENS, self.width]
        graph = helper.make_graph(
            self.nodes,
            "encoder",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info(self.result, TensorProto.FLOAT, shape)],
            weights,
        )
        opset = [helper.make_opsetid("", 17)]
        return helper.make_model(graph, opset_imports=opset, ir_version=8)


def _described(name: str, array: np.ndarray) -> onnx.TensorProto:
    """A weight without its data."""
    return TensorProto(
        name=name, dims=array.shape, data_type=helper.np_dtype_to_tensor_dtype(array.dtype)
    )


def write_external(encoder: Encoder, path: Path) -> int:
    """Write the model beside a file of its weights; bytes of weights.

    Offsets are multiples of 4096, as exporters make them.
    """
    found, at, total = [], 0, 0
    with path.with_suffix(".data").open("wb") as file:
        for name, array in encoder.weights():
            tensor = _described(name, array)
            tensor.data_location = TensorProto.EXTERNAL
            at = -(-at // 4096) * 4096
            for key, value in (
                ("location", f"{path.stem}.data"),
                ("offset", str(at)),
                ("length", str(array.nbytes)),
            ):
                tensor.external_data.add(key=key, value=value)
            file.seek(at)
            file.write(array.data)
            at += array.nbytes
            total += array.nbytes
            found.append(tensor)
    path.write_bytes(encoder.model(found).SerializeToString())
    return total


def write_embedded(encoder: Encoder, path: Path) -> int:
    """Write the model with its weights inside, one after the other; bytes of weights."""
    model = encoder.model()
    graph = model.graph.SerializeToString()
    model.ClearField("graph")
    heads, total, length = [], 0, len(graph)
    for name, array in encoder.weights():
        tensor = _described(name, array).SerializeToString()
        tensor += wire.varint(9 << 3 | 2) + wire.varint(array.nbytes)  # raw_data, without it
        field = wire.varint(5 << 3 | 2) + wire.varint(len(tensor) + array.nbytes)
        heads.append(field + tensor)
        total += array.nbytes
        length += len(heads[-1]) + array.nbytes
    with path.open("wb") as file:
        file.write(model.SerializeToString() + wire.varint(7 << 3 | 2) + wire.varint(length))
        file.write(graph)
        for head, (_, array) in zip(heads, encoder.weights(), strict=True):
            file.write(head)
            file.write(array.data)
    return total


# ---- measuring ---------------------------------------------------------------------------------


def model_of(name: str, folder: Path) -> tuple[Path, int]:
    """The model's file, and the bytes of its weights."""
    path = folder / f"{name}.onnx"
    stem, _, data = name.rpartition("_")
    if stem in ENCODERS:
        write = {"external": write_external, "embedded": write_embedded}[data]
        return path, write(Encoder(*ENCODERS[stem]), path)
    if name in zoo.NAMES:
        onnx.save(zoo.build(name), path)
        return path, path.stat().st_size
    path = Path(name)
    proto = onnx.load(path, load_external_data=False)
    places = {e.value for t in proto.graph.initializer for e in t.external_data
              if e.key == "location"}  # fmt: skip
    return path, path.stat().st_size + sum((path.parent / p).stat().st_size for p in places)


def measured(path: Path, out: Path, options: Sequence[str]) -> tuple[int, float]:
    """Peak bytes of anonymous memory and seconds of CPU of a compilation."""
    command = [sys.executable, "-m", "tvm_megcc", "compile", str(path), "-o", str(out), *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    peak, ended = 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not ended.wait(0.004):
            peak = max(peak, _anonymous(process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    _, status, usage = os.wait4(process.pid, 0)
    ended.set()
    watcher.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed")
    return peak, usage.ru_utime + usage.ru_stime


def _anonymous(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    for line in status.splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0


def table(rows: Sequence[Row]) -> str:
    head = ("model", "weights, MB", "peak memory, MB", "allowed", "CPU, s", "allowed")
    cells = []
    for row in rows:
        memory, seconds = row.allowed
        sizes = (f"{size / MB:.0f}" for size in (row.weights, row.peak, memory))
        cells.append([f"`{row.name}`", *sizes, f"{row.seconds:.1f}", f"{seconds:.0f}"])
    return pages.table(head, cells, words=head)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", help="default: the page's")
    parser.add_argument("--write", action="store_true", help="put the table into the page")
    parser.add_argument("--arch", default="arm64", help="of the package (default: %(default)s)")
    parser.add_argument("--folder", type=Path, help="where made models are kept (2 GB)")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="tvm_megcc.") as scratch:
        folder = args.folder or Path(scratch)
        for name in args.models or (*ZOO, *MADE):
            begin = time.monotonic()
            path, weights = model_of(name, folder)
            print(f"{name}: made in {time.monotonic() - begin:.1f} s", file=sys.stderr)
            peak, seconds = measured(path, Path(scratch) / "pkg", ["--arch", args.arch, "--quiet"])
            rows.append(Row(Path(name).stem, weights, peak, seconds))
            print(table(rows[-1:]).splitlines()[-1], file=sys.stderr)
            if not args.folder and path.parent == folder:
                for made in folder.glob(f"{name}.*"):
                    made.unlink()
    print(table(rows))
    if args.write:
        pages.write(PAGE, table(rows), BEGIN, END)
    return 0 if all(r.peak <= r.allowed[0] and r.seconds <= r.allowed[1] for r in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
