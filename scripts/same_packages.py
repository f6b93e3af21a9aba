"""Whether two states of the sources compile the same packages: the proof of "must not change".

OLD and NEW are commits or directories. Without --results the packages must be equal: weights,
memory plan, the program but for the names of kernels, and each kernel's machine code. With
--results they may differ: the outputs must be equal to the bit, and a table says how many
instructions one inference takes with each (Arm only; under qemu).

--arch takes any machine words (arm64+dotprod+fp16, cortexm+dsp), with commas; what stands behind
"--" goes to tvmc compile (-- --optimize size --precision fp16). --kernels compares kernels without
models: for every case of tests/kernels/cases what each header says of it (which machines take it,
rank, macros, workspace, work, cost, packed weights), and for every instance its preprocessed C on
each machine. Models of corpus and zoo do not reach all of these.

Models are those of the corpus (../shared/models), with the stored inputs of their first case, and
of the zoo. What has been compiled and run stays in --work, by the contents of the tree, so that an
interrupted run goes on where it was. The exit status is 1 when anything differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import package_facts
import source_trees
import subjects
from subjects import ROOT

from tvm_megcc.core import user_cache
from tvm_megcc.core.machine import machine
from tvm_megcc.errors import MegccError, ToolError
from tvm_megcc.host import arrays, instruction_counts, package, toolchain

#: Growth of a model's instructions that is said in detail.
NOTABLE = 0.005
TIMEOUT_S = 1200

Facts = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two trees, with the process that compiles."""

    tree: source_trees.Tree
    compiler: source_trees.Compiler
    work: Path
    options: tuple[str, ...] = ()

    def facts(self, subject: subjects.Subject, arch: str, results: bool) -> Facts:
        """Facts of a model compiled by the tree, from an earlier run if there was one."""
        stamp = hashlib.sha256(subject.path.read_bytes()).hexdigest()[:8]
        mode = _hash(" ".join(self.options).encode())[:8] if self.options else "plain"
        folder = self.work / self.tree.mark / arch / mode / f"{subject.name}_{stamp}"
        kept = folder / ("results.json" if results else "package.json")
        if kept.is_file():
            return dict(json.loads(kept.read_text()))
        folder.mkdir(parents=True, exist_ok=True)
        try:
            self._compile(subject, arch, folder / "package")
            read = _results if results else _package
            facts = read(subject, package.load(folder / "package"), arch, folder)
        except MegccError as error:
            return {"error": " ".join(str(error).split())[:300]}
        fresh = kept.with_suffix(".part")
        fresh.write_text(json.dumps(facts))
        fresh.replace(kept)
        return facts

    def _compile(self, subject: subjects.Subject, arch: str, out: Path) -> None:
        if package.is_package(out):
            return
        command = [str(subject.path), "-o", str(out), "--arch", arch, "--weights", "bin", "--quiet"]
        command += self.options
        if subject.shapes is not None:
            dims = (f"{n}:[{','.join(map(str, d))}]" for n, d in subject.shapes.items())
            command += ["--input-shapes", " ".join(dims)]
        if said := self.compiler.compile(command):
            raise ToolError(said)


def _build(opened: package.Package, arch: str, folder: Path) -> Path:
    """The path of the built runner; of the library for a machine without operating system."""
    runner = arch == "portable" or bool(machine(arch).arch.qemu)
    flags = ["-include", str(instruction_counts.MARKS)] if runner else []
    return toolchain.build(
        opened.path, arch, build_dir=folder / "build", extra_cflags=flags, runner=runner
    )


def _package(subject: subjects.Subject, opened: package.Package, arch: str, folder: Path) -> Facts:
    """Facts that must be equal for two trees."""
    per_arch = opened.manifest["per_arch"][arch]
    image = _image(opened).read_bytes()
    text = package_facts.image_text(image)
    objects = _build(opened, arch, folder).parent / "obj" / "src"
    src = opened.path / "src"
    sources = {_link_name(file): file.relative_to(src) for file in src.glob("kernels/**/*.c")}
    kernels = []
    for symbol in per_arch["kernels"]:
        path = objects / sources[symbol].with_suffix(".o")
        kernels.append(_hash(package_facts.code_of(path, arch, symbol).encode()))
    runtime = sum(toolchain.text_bytes(path, arch) for path in sorted(objects.glob("*.o")))
    weights = image[per_arch["program_bytes"] :]
    return {
        "weights": _hash(weights),
        "plan": per_arch.get("memory") or per_arch.get("functions"),
        "arena bytes": per_arch["arena_bytes"],
        "image": text,
        "kernels": kernels,
        "names": [opened.manifest["kernels"][s]["template"] or s for s in per_arch["kernels"]],
        "runtime bytes": runtime,
    }


def _image(opened: package.Package) -> Path:
    """The only image of a package for one machine."""
    (path,) = (opened.path / "model").glob("model_*.bin")
    return path


def _link_name(file: Path) -> str:
    """The link name of a kernel's file, from its first line."""
    with file.open() as lines:
        return next(lines).split()[-1]


def _results(subject: subjects.Subject, opened: package.Package, arch: str, folder: Path) -> Facts:
    """Hashes of the outputs, and instructions of one inference."""
    runner = _build(opened, arch, folder)
    inputs, counts = subject.inputs(opened.inputs), None
    if machine(arch).arch.name in ("arm64", "armv7") and not toolchain.is_native(arch):
        done, counts = instruction_counts.of_inference(
            runner, arch, inputs, opened.manifest, timeout=TIMEOUT_S
        )
    else:
        done = toolchain.run_package(runner, arch, inputs, opened.manifest, timeout=TIMEOUT_S)
    arrays.write_npz(done.outputs, folder / "outputs.npz")
    facts: Facts = {"outputs": {n: _hash(_bits(value)) for n, value in done.outputs.items()}}
    if counts is not None:
        facts["instructions"] = counts.totals["instructions"]
        facts["functions"] = counts.functions
        image = _image(opened).read_bytes()
        symbols = opened.manifest["per_arch"][arch]["kernels"]
        facts["calls"] = [
            [symbols[k], name]
            for k, name in package_facts.calls_of(package_facts.image_text(image))
        ]
    return facts


def _bits(value: np.ndarray) -> bytes:
    return f"{value.dtype}{value.shape}".encode() + value.tobytes()


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def package_differences(old: Facts, new: Facts) -> list[str]:
    """Facts that differ, one line each."""
    found = []
    for key in ("weights", "arena bytes", "plan"):
        if old[key] != new[key]:
            found.append(f"{key}: {_short(old[key])}, now {_short(new[key])}")
    if old["image"] != new["image"]:
        pairs = zip(old["image"], new["image"], strict=False)
        first = next((f"{a!r}, now {b!r}" for a, b in pairs if a != b), "one is longer")
        found.append(f"image: {first[:240]}")
    if len(old["kernels"]) != len(new["kernels"]):
        found.append(f"kernels: {len(old['kernels'])}, now {len(new['kernels'])}")
    changed = [
        name
        for a, b, name in zip(old["kernels"], new["kernels"], new["names"], strict=False)
        if a != b
    ]
    if changed:
        found.append(f"machine code of {len(changed)} kernels: {', '.join(changed)[:240]}")
    return found


def _short(value: object) -> str:
    return str(value) if len(str(value)) < 60 else f"{str(value)[:57]}..."


def result_differences(old: Facts, new: Facts) -> list[str]:
    names = [n for n, bits in new["outputs"].items() if old["outputs"].get(n) != bits]
    return [f"outputs differ: {', '.join(names)}"] if names else []


def growth(old: Facts, new: Facts) -> list[tuple[str, int, list[str]]]:
    """(kernel, instructions more, calls that run it) of what takes more, the most first.

    Kernels are matched by their symbols without hashes.
    """
    found = []
    before, after = _by_kernel(old), _by_kernel(new)
    for kernel in before.keys() | after.keys():
        more = after.get(kernel, 0) - before.get(kernel, 0)
        if more:
            calls = [name for symbol, name in new["calls"] if _plain(symbol) == kernel]
            found.append((kernel, more, calls))
    return sorted(found, key=lambda row: -row[1])


def _by_kernel(facts: Facts) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, executed in facts["functions"].items():
        found[_plain(name)] = found.get(_plain(name), 0) + executed
    return found


def _plain(symbol: str) -> str:
    """A kernel's symbol without hashes: of its source, of the function that it was generated from.

    >>> _plain("megcc_tir_add_41b85c34ee_0123abcd"), _plain("megcc_slice_0123abcd")
    ('megcc_tir_add', 'megcc_slice')
    """
    return re.sub(r"(?:_[0-9a-f]{10})?_[0-9a-f]{8}$", "", symbol)


def compare(subject: subjects.Subject, old: Facts, new: Facts, results: bool) -> tuple[str, bool]:
    """A row of the table, and whether all is well."""
    for facts, when in ((old, "before"), (new, "now")):
        if "error" in facts:
            both = "error" in old and "error" in new
            return f"{subject.name:26} {when}: {facts['error']}", both
    wrong = (result_differences if results else package_differences)(old, new)
    cells = [f"{subject.name:26}", f"{'differs' if wrong else 'equal':8}"]
    lines = [f"    {line}" for line in wrong]
    if results and "instructions" in new:
        a, b = old["instructions"], new["instructions"]
        cells.append(f"{a:>15,} {b:>15,} {100 * (b - a) / max(a, 1):+8.2f} %")
        if b > a * (1 + NOTABLE):
            for kernel, more, calls in growth(old, new)[:5]:
                lines.append(f"    {more:+,} {kernel}: {', '.join(calls)[:160]}")
    if not results:
        cells.append(f"{old['runtime bytes']:>9,} {new['runtime bytes']:>9,}")
    return "\n".join(["".join(cells), *lines]), not wrong


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/same_packages",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("old", metavar="OLD", help="a commit or a directory")
    parser.add_argument("new", metavar="NEW", help="another; '.' is the working tree")
    parser.add_argument("--models", nargs="+", default=[], metavar="MODEL", help="only these")
    parser.add_argument(
        "--arch", default="arm64", metavar="A[,B]", help="machines (default: %(default)s)"
    )
    parser.add_argument("--kernels", action="store_true", help="cases and instances, no models")
    parser.add_argument("--only", default="", metavar="STEM", help="kernels whose name begins so")
    parser.add_argument("--results", action="store_true", help="results and instructions")
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    parser.add_argument("--work", type=Path, help="default: tvm_megcc/same in the user's cache")
    given = list(sys.argv[1:] if argv is None else argv)
    at = given.index("--") if "--" in given else len(given)
    args, options = parser.parse_args(given[:at]), tuple(given[at + 1 :])
    work = args.work or user_cache.folder("same")
    if work is None:
        parser.error("no cache that only you write: give a --work folder")
    work.mkdir(parents=True, exist_ok=True)
    try:
        if args.kernels:
            return int(not kernels_are_the_same(args.old, args.new, args.only))
        return int(not packages_are_the_same(args, work, options))
    except MegccError as error:
        print(f"scripts/same_packages: {error}", file=sys.stderr)
        return 1


def packages_are_the_same(args: argparse.Namespace, work: Path, options: tuple[str, ...]) -> bool:
    """Print a row for each model and machine; whether all are the same."""
    columns = "instructions before, now" if args.results else "bytes of runtime before, now"
    found = subjects.chosen(args.shared, work, args.models)
    archs = [machine(word).name for word in args.arch.split(",")]
    with ExitStack() as stack:
        sides = []
        for name in (args.old, args.new):
            tree = stack.enter_context(source_trees.opened(name))
            compiler = stack.enter_context(source_trees.Compiler(tree))
            sides.append(Side(tree, compiler, work, options))
        pool = [stack.enter_context(ThreadPoolExecutor(1)) for _ in sides]
        fine = 0
        for arch in archs:
            tasks = [
                [p.submit(s.facts, subject, arch, args.results) for subject in found]
                for p, s in zip(pool, sides, strict=True)
            ]
            print(f"{arch}: {sides[0].tree.mark} and {sides[1].tree.mark}; {columns}")
            for subject, old, new in zip(found, *tasks, strict=True):
                row, ok = compare(subject, old.result(), new.result(), args.results)
                fine += ok
                print(row, flush=True)
    print(f"{fine} of {len(found) * len(archs)} packages are the same")
    return fine == len(found) * len(archs)


def kernels_are_the_same(old: str, new: str, only: str) -> bool:
    """Print the cases and instances of kernels that two trees do not have alike; whether none."""
    with ExitStack() as stack:
        opened = [stack.enter_context(source_trees.opened(name)) for name in (old, new)]
        compilers = [stack.enter_context(source_trees.Compiler(tree)) for tree in opened]
        script = str(ROOT / "scripts" / "kernel_facts.py")
        facts = []
        for tree, compiler in zip(opened, compilers, strict=True):
            tests = str(tree.path / "tests" / "kernels")
            facts.append(json.loads(compiler.run(script, tests, "--only", only)))
    wrong = kernel_differences(*facts)
    print("\n".join(wrong))
    counts = " and ".join(f"{len(facts[1][kind]):,} {kind}" for kind in ("cases", "code"))
    print(f"{counts} compared, {len(wrong)} differ")
    return not wrong


def kernel_differences(old: Mapping[str, Facts], new: Mapping[str, Facts]) -> list[str]:
    """One line for each case or instance that differs."""
    found = []
    for kind, word in (("cases", "header"), ("code", "code")):
        before, now = old[kind], new[kind]
        for name in sorted(before.keys() | now.keys()):
            if name not in now:
                found.append(f"{name}: gone")
            elif name not in before:
                found.append(f"{name}: new")
            elif before[name] != now[name]:
                said = f" ({now[name]})" if "does not" in now[name] else ""
                found.append(f"{name}: another {word}{said}")
    return found


if __name__ == "__main__":
    raise SystemExit(main())
