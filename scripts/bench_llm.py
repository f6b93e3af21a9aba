"""Write the tables of docs/language-models.md that hold us beside other runtimes.

    scripts/bench --llm                                          all tables, of all forms
    scripts/bench --llm int4 --on host --llama-bench PATH        some rows, beside llama.cpp, too
    scripts/bench --llm --on memory                              compile time and memory
    scripts/bench --llm --llama-bench PATH --write               all, into the page

The model is scripts/llm_models.py's decoder. For Arm the executed instructions of one decoded token
are counted behind a short and a long past, and those of a multiply-add in the prefill's products;
the peers' stand in docs/peers.json, counted the same way. Here ours, ONNX Runtime and llama.cpp's
llama-bench, if its path is given, take turns on one pinned core with one thread. A turn's tokens/s
are those of CPU time, so that other processes matter little. The whole model, of 30 layers in int4,
is what compile time and memory are measured with. Nothing here is a test.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import llm_models
import numpy as np
import onnx
import optimum_models
import pages
import timing
from bench_peers import FIGURES, commit
from llm_models import FORMS, Dims
from subjects import ROOT

from tvm_megcc import driver
from tvm_megcc.cli import options
from tvm_megcc.errors import MegccError, ToolError
from tvm_megcc.host import instruction_counts, package, toolchain

PAGE = ROOT / "docs" / "language-models.md"
ARM_BEGIN, ARM_END = "<!-- Written by scripts/bench --llm: begin -->", "<!-- end of llm -->"
HOST_BEGIN = "<!-- Written by scripts/bench --llm --on host: begin -->"
HOST_END = "<!-- end of host -->"
MEMORY_BEGIN = "<!-- Written by scripts/bench --llm --on memory: begin -->"
MEMORY_END = "<!-- end of memory -->"

#: The program that maps a package's file and says what it has in memory.
MAPPED = Path(__file__).resolve().with_name("mapped_memory.c")

DIMS, LAYERS = Dims(), 30
#: Rows of the caches of what is counted, and filled ones.
CAPACITY, PASTS = 1024, (1, 512)
#: Tokens whose prefill is counted; a vocabulary that leaves the products of layers alone.
COUNTED_PROMPT, FEW_TOKENS = 32, 32
#: Tokens that are decoded in a run of llama-bench, from an empty cache on, and those of a prompt.
DECODED, PROMPT = 64, 128
HOST_CAPACITY = 256
TIMEOUT_S = 1800
PEERS = ("llama.cpp", "ONNX Runtime")

#: Takes a number of runs, gives the tokens in a second of CPU time.
Rate = Callable[[int], float]


@dataclass(frozen=True, slots=True)
class Counted:
    """A row of the first table: what was counted, by past or as one figure; and the peers'."""

    figure: Mapping[str, Any]
    ours: Sequence[float]

    def cells(self) -> list[str]:
        figure = self.figure
        digits = 3 if figure["what"] == "prefill" else 1
        others = [figure.get(name, ()) for name in (*PEERS, "wanted")]
        what = "prefill, per multiply-add" if figure["what"] == "prefill" else "a token, M"
        cells = [_pasts(values, digits) for values in (self.ours, *others)]
        operators = f"{figure['operators']}'s operators, " if "operators" in figure else ""
        return [f"{figure['form']}, {operators}{what}", figure["arch"], *cells]


def _pasts(values: Sequence[float], digits: int) -> str:
    """``8.5 (10.0)``: a short past, and a long one."""
    texts = [f"{value:.{digits}f}" for value in values]
    return " ".join([*texts[:1], *(f"({text})" for text in texts[1:])]) or "-"


@dataclass(slots=True)
class Timed:
    """A row of the second table: tokens/s of every turn, by runtime."""

    form: str
    what: str
    rates: dict[str, list[float]] = field(default_factory=dict)

    def cells(self) -> list[str]:
        found = [f"{self.form}, {self.what}"]
        for name in ("ours", *PEERS):
            rates = self.rates.get(name)
            text = f"{statistics.median(rates):,.0f} ({max(rates):,.0f})" if rates else "-"
            found.append(text)
        return [*found, self.ratio("llama.cpp"), self.ratio("ONNX Runtime")]

    def ratio(self, peer: str) -> str:
        """Ours to a peer's, pair by pair: median, tenth and ninetieth percentile."""
        if peer not in self.rates:
            return "-"
        pairs = np.array(self.rates["ours"]) / np.array(self.rates[peer])
        low, middle, high = np.percentile(pairs, (10, 50, 90))
        return f"{middle:.2f} x ({low:.2f} to {high:.2f})"


# ---- instructions on Arm ------------------------------------------------------------------------


def counts(figure: Mapping[str, Any], dims: Dims, folder: Path) -> Counted:
    """What is counted for a figure of docs/peers.json; ToolError if a tool is missing."""
    form, arch, cpu = figure["form"], figure["arch"], figure["cpu"]
    prefill = figure["what"] == "prefill"
    dims = replace(dims, vocabulary=FEW_TOKENS) if prefill else dims
    model, out = folder / "model.onnx", folder / "package"
    built = optimum_models.built if "operators" in figure else llm_models.built
    onnx.save(built(dims, form), model)
    driver.compile_model(model, out, archs=[arch], states=llm_models.STATES)
    opened = package.load(out)
    flags = ["-include", str(instruction_counts.MARKS)]
    runner = toolchain.build(out, arch, extra_cflags=flags)
    asked = [(0, COUNTED_PROMPT)] if prefill else [(past, 1) for past in PASTS]
    found = []
    for past, length in asked:
        given = llm_models.step(dims, form, past, length, CAPACITY)
        if "operators" in figure:
            given["position_ids"] = np.arange(past, past + length)[None]
        _, counted = instruction_counts.of_inference(
            runner, arch, given, opened.manifest, cpu=cpu, timeout=TIMEOUT_S
        )
        if prefill:
            products = sum(n for name, n in counted.functions.items() if "wq" in name)
            found.append(products / (length * dims.layer_products))
        else:
            found.append(counted.totals["instructions"] / 1e6)
    return Counted(figure, found)


# ---- tokens/s here ------------------------------------------------------------------------------


def ours(dims: Dims, form: str, folder: Path) -> dict[str, Rate]:
    """Our rates by what is done."""
    model = folder / "model.onnx"
    onnx.save(llm_models.built(dims, form), model)
    package_ = timing.Ours(
        model, folder / "package", cpu_clock=True, states=llm_models.STATES, logits="last"
    )

    def rate(past: int, length: int) -> Rate:
        given = llm_models.step(dims, form, past, length, HOST_CAPACITY)

        def run(count: int) -> float:
            return length * 1e3 / statistics.mean(package_.run(given, count)[1])

        return run

    return {"decode": rate(DECODED // 2, 1), "prefill": rate(0, PROMPT)}


def onnx_runtime(dims: Dims, form: str, folder: Path) -> dict[str, Rate]:
    """ONNX Runtime's rates; past and present are bound to one memory, as its generate loop does."""
    from onnxruntime import OrtValue

    model = folder / "last.onnx"
    onnx.save(llm_models.built(dims, form, last=True), model)
    session = timing.OnnxRuntime(model).session

    def rate(past: int, length: int) -> Rate:
        given = llm_models.step(dims, form, past, length, HOST_CAPACITY)
        binding = session.io_binding()
        for name, array in given.items():
            value = OrtValue.ortvalue_from_numpy(array)
            binding.bind_ortvalue_input(name, value)
            if name.startswith("past_key_values."):
                binding.bind_ortvalue_output(name.replace("past_key_values", "present"), value)
        binding.bind_output("logits")

        def run(count: int) -> float:
            for _ in range(3):
                session.run_with_iobinding(binding)
            begin = time.process_time()
            for _ in range(count):
                session.run_with_iobinding(binding)
            return length * count / (time.process_time() - begin)

        return run

    return {"decode": rate(DECODED // 2, 1), "prefill": rate(0, PROMPT)}


def llama_cpp(program: Path, dims: Dims, form: str, folder: Path) -> dict[str, Rate]:
    """llama.cpp's rates, with caches of f16.

    CPU time is that of a child with more runs less that of one with a single run, which both load
    the model and warm up. Raises ToolError if llama-bench or the package gguf does not work.
    """
    model = folder / "model.gguf"
    llm_models.write_gguf(dims, form, model)

    def seconds(asked: Sequence[str], runs: int) -> float:
        command = [str(program), "-m", str(model), "-t", "1", "-r", str(runs), "-o", "json", *asked]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        try:
            done = subprocess.run(command, capture_output=True, text=True)
        except OSError as error:
            raise ToolError(f"{program}: {error.strerror}; give the path of llama-bench") from None
        if done.returncode:
            raise ToolError(f"{program}: {(done.stderr or done.stdout).strip()[-300:]}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def rate(asked: Sequence[str], length: int, tokens: int) -> Rate:
        def run(count: int) -> float:
            more = max(1, round(count * length / tokens))
            spent = seconds(asked, 1 + more) - seconds(asked, 1)
            return tokens * more / max(spent, 1e-6)

        return run

    return {
        "decode": rate(["-p", "0", "-n", str(DECODED)], 1, DECODED),
        "prefill": rate(["-p", str(PROMPT), "-n", "0"], PROMPT, PROMPT),
    }


def turns(form: str, dims: Dims, folder: Path, args: argparse.Namespace) -> list[Timed]:
    """All runtimes that run a form, in turns."""
    running = {"ours": ours(dims, form, folder)}
    if args.llama_bench is not None:
        running["llama.cpp"] = llama_cpp(args.llama_bench, dims, form, folder)
    try:
        running["ONNX Runtime"] = onnx_runtime(dims, form, folder)
    except ImportError:
        print("    ONNX Runtime is not installed", file=sys.stderr)
    rows = []
    for what, runs in (("decode", args.repeat), ("prefill", max(1, args.repeat // 8))):
        row = Timed(form, what)
        for _ in range(args.rounds):
            for name, rates in running.items():
                row.rates.setdefault(name, []).append(rates[what](runs))
        rows.append(row)
    return rows


# ---- compile time and memory --------------------------------------------------------------------

#: Runs a program; its peak of memory in bytes and its CPU seconds go into a file.
PEAK = """
import json, resource, subprocess, sys
status = subprocess.run(sys.argv[2:]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], "w") as file:
    json.dump([1024 * used.ru_maxrss, used.ru_utime + used.ru_stime], file)
sys.exit(status)
"""


@dataclass(frozen=True, slots=True)
class Size:
    """A row of the third table."""

    what: str
    ours: str
    wanted: str

    def cells(self) -> list[str]:
        return [self.what, self.ours, self.wanted]


def sizes(dims: Dims, folder: Path) -> list[Size]:
    """What compiling a whole model in int4 takes, and what running it does."""
    model, out, report = folder / "model.onnx", folder / "package", folder / "peak.json"
    onnx.save(llm_models.built(dims, "int4"), model)
    measured = [sys.executable, "-c", PEAK, str(report)]
    command = [*measured, sys.executable, "-m", "tvm_megcc", "compile", str(model), "-o", str(out)]
    command += ["--state", *llm_models.STATES, "--logits", "last", "--weights", "bin", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise ToolError(done.stderr.strip()[-300:])
    peak, seconds = json.loads(report.read_text())
    written = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    more = written / model.stat().st_size - 1
    rows = [
        Size("CPU time of compiling", f"{seconds:.0f} s", "60 s"),
        Size("memory of compiling", f"{peak / 1e9:.2f} GB", "1.5 GB"),
        Size("package, beside the model's file", f"{more:+.1%}", "+5 %"),
    ]
    for length in (1, 64):
        found = resident(out, llm_models.step(
            dims, "int4", dims.context - length, length, dims.context
        ))  # fmt: skip
        if length == 1:
            what = "memory of opening the package, beyond its mapped file"
            rows.append(Size(what, f"{found.opening / 1e6:.1f} MB", "no packing"))
        tokens = "a token" if length == 1 else f"{length} tokens"
        what = f"resident memory of {tokens} at once, with weights that are mapped, beyond them and"
        what += f" caches of {dims.context:,} rows"
        rows.append(Size(what, f"{found.beyond / 1e6:.1f} MB", "24 MB"))
    return rows


@dataclass(frozen=True, slots=True)
class Resident:
    """Bytes that a process with a mapped package has in memory.

    Attributes
    ----------
    opening : int
        Anonymous memory that opening the package and making a context takes.
    weights : int
        Pages of the package's file, after a run.
    states : int
        Caches.
    beyond : int
        All else of the process, after a run.
    """

    opening: int
    weights: int
    states: int
    beyond: int


def resident(out: Path, given: Mapping[str, np.ndarray]) -> Resident:
    """Run a package of one machine, compiled with ``--weights bin``, once in a process of its own.

    Its file is mapped, and its states have one memory each. Raises ToolError if a tool is missing,
    or where the system does not say what a process has in memory (Linux does).
    """
    opened = package.load(out)
    arch, name = opened.choose(None), opened.manifest["name"]
    library = toolchain.build(out, arch, runner=False)
    program, inputs = library.with_name("mapped_memory"), library.with_name("inputs")
    command = [*toolchain.find_compiler(arch).split(), "-std=c11", "-O2"]
    command += [f'-DHEADER="{name}.h"', f"-DKERNELS={name}_kernels", f"-I{out / 'include'}"]
    command += [str(MAPPED), str(library), "-lm", "-o", str(program)]
    arrays = [given[port.name] for port in opened.inputs]
    with inputs.open("wb") as file:
        for array in arrays:
            array.tofile(file)
    (image,) = (out / "model").glob("*.bin")
    dims = [",".join(map(str, array.shape)) for array in arrays]
    for words in (command, [str(program), str(image), str(inputs), *dims]):
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            raise ToolError(f"{Path(words[0]).name}: {done.stderr.strip()[-300:]}")
    found = json.loads(done.stdout)
    start, open_, run = (found[when] for when in ("start", "opened", "run"))
    weights = min(run["files"] - start["files"], image.stat().st_size)
    return Resident(
        open_["anonymous"] - start["anonymous"], weights, found["states"],
        run["anonymous"] + run["files"] - weights - found["states"],
    )  # fmt: skip


def size_rows() -> Iterator[Size]:
    """The third table's rows."""
    with tempfile.TemporaryDirectory(prefix="megcc_llm_") as folder:
        yield from sizes(replace(DIMS, layers=LAYERS), Path(folder))


# ---- tables -------------------------------------------------------------------------------------

ARM_HEAD = ("M instructions", "machine", "ours", *PEERS, "wanted")
MEMORY_HEAD = ("int4", "ours", "wanted")
HOST_HEAD = ("tokens/s", "ours", *PEERS, "ours / llama.cpp", "ours / ONNX Runtime")


def figures() -> dict[str, Any]:
    """The versions and rows of docs/peers.json about language models."""
    known = json.loads(FIGURES.read_text())
    return {"versions": known["llm_versions"], "rows": known["llm"]}


def counted_rows(forms: Sequence[str]) -> Iterator[Counted]:
    """The first table's rows of some forms."""
    for figure in figures()["rows"]:
        if figure["form"] in forms:
            with tempfile.TemporaryDirectory(prefix="megcc_llm_") as folder:
                yield counts(figure, DIMS, Path(folder))


def timed_rows(forms: Sequence[str], args: argparse.Namespace) -> Iterator[Timed]:
    """The second table's rows of some forms."""
    with timing.pinned(args.core):
        for form in forms:
            with tempfile.TemporaryDirectory(prefix="megcc_llm_") as folder:
                yield from turns(form, DIMS, Path(folder), args)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/bench --llm",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("forms", nargs="*", metavar="FORM", help=f"of {', '.join(FORMS)}")
    parser.add_argument("--on", choices=("arm", "host", "memory"), help="one table; all by default")
    parser.add_argument("--llama-bench", type=Path, metavar="PATH", help="llama.cpp's program")
    parser.add_argument("--rounds", type=options.count, default=10, help="turns; default: 10")
    parser.add_argument("--repeat", type=options.count, default=64, help="tokens in a turn; 64")
    parser.add_argument("--core", type=int, help="the core to be pinned to; default: the last")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything there, too")
    parser.add_argument("--write", action="store_true", help="write the tables into the page")
    args = parser.parse_args(argv)
    if unknown := sorted(set(args.forms) - set(FORMS)):
        parser.error(f"not known: {', '.join(unknown)}; choose from {', '.join(FORMS)}")
    if args.write and args.forms:
        parser.error("--write is for whole tables; leave forms out")
    at = commit()  # before the page is written, which is a change, too
    everything: dict[str, list[Any]] = {}
    tables = {
        "arm": (lambda: counted_rows(args.forms or FORMS), ARM_HEAD, ARM_BEGIN, ARM_END),
        "host": (lambda: timed_rows(args.forms or FORMS, args), HOST_HEAD, HOST_BEGIN, HOST_END),
        "memory": (size_rows, MEMORY_HEAD, MEMORY_BEGIN, MEMORY_END),
    }
    try:
        for name, (rows, head, begin, end) in tables.items():
            if args.on not in (None, name):
                continue
            lines: list[list[str]] = []
            for row in rows():
                lines.append(row.cells())
                everything.setdefault(name, []).append(asdict(row))
                print(" | ".join(lines[-1]), flush=True)
            if args.write:
                text = pages.table(head, lines, words=(head[0], "machine"))
                said = f"Ours is commit {at}." + (f" {args.rounds} turns." * (name == "host"))
                pages.write(PAGE, f"\n{text}\n\n{said}\n", begin, end)
    except MegccError as error:
        print(f"scripts/bench: {error}", file=sys.stderr)
        return 1
    if args.json:
        args.json.write_text(json.dumps(everything, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
