"""One model, compiled, built and run for each architecture: what scripts/demo shows.

With no MODEL it takes the zoo's MobileNetV2, whose weights are random. Random inputs; the reference
is ONNX Runtime where it is installed, else onnx.reference.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

from tvm_megcc import driver, reference, target, zoo
from tvm_megcc.cli import options
from tvm_megcc.errors import MegccError, ToolError
from tvm_megcc.host import arrays, package, toolchain

ROOT = Path(__file__).resolve().parents[1]

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class Result:
    """One architecture's run; ``times_ms`` is empty where the time would mean nothing (qemu)."""

    outputs: Arrays
    times_ms: tuple[float, ...]
    arena_bytes: int
    weight_bytes: int
    text_bytes: int
    compile_s: float
    build_s: float


def say(text: str = "") -> None:
    print(text, flush=True)


def zoo_model(folder: Path) -> Path:
    path = folder / "mobilenet_v2.onnx"
    say("No model given: this is the zoo's MobileNetV2, with seeded random weights. Its classes")
    say("mean nothing; its arithmetic, memory and code are those of the trained network.")
    onnx.save(zoo.build("mobilenet_v2"), path)
    return path


def compile_build_run(model: Path, arch: str, folder: Path, args: argparse.Namespace) -> Result:
    out = folder / f"{model.stem}_{arch}"
    start = time.perf_counter()
    driver.compile_model(model, out, archs=[arch], input_shapes=options.shapes(args.input_shapes))
    compiled = time.perf_counter()
    opened = package.load(out)
    runner = toolchain.build(out, arch, build_dir=folder / "build" / out.name)
    built = time.perf_counter()
    inputs = arrays.fill(opened.inputs, "random", args.seed)
    native = toolchain.is_native(arch)
    run = toolchain.run_package(
        runner,
        arch,
        inputs,
        opened.manifest,
        repeat=args.repeat if native else 1,
        warmup=2 if native else 0,
    )
    facts = opened.manifest["per_arch"][arch]
    return Result(
        run.outputs,
        run.times_ms if native else (),
        facts["arena_bytes"],
        facts["weight_bytes"] + facts["program_bytes"],
        toolchain.text_bytes(runner.with_name("libmodel.a"), arch),
        compiled - start,
        built - compiled,
    )


def show(arch: str, result: Result) -> None:
    how = "" if toolchain.is_native(arch) else ", under qemu"
    say(f"\n{arch}{how}: compiled in {result.compile_s:.1f} s, built in {result.build_s:.1f} s")
    for name, value in result.outputs.items():
        flat = value.ravel()
        top = np.argsort(-flat.astype(np.float64), kind="stable")[:5]
        values = "  ".join(f"{i}: {flat[i]:.6g}" for i in top)
        say(f"  output {name!r} {value.dtype}{list(value.shape)}, largest at  {values}")
    if result.times_ms:
        least, middle = min(result.times_ms), statistics.median(result.times_ms)
        say(f"  latency  min {least:.3f} ms, median {middle:.3f} ms of {len(result.times_ms)} runs")
    say(
        f"  bytes    arena {result.arena_bytes:,}, weights and program {result.weight_bytes:,}, "
        f"machine code {result.text_bytes:,}"
    )


def show_differences(name: str, want: Arrays, results: dict[str, Result]) -> bool:
    """Print the largest difference per architecture; whether all are small."""
    say(f"\nLargest difference from {name}:")
    good = True
    for arch, result in results.items():
        for output, value in want.items():
            got = result.outputs[output].astype(np.float64)
            difference = np.abs(got - value.astype(np.float64)).max(initial=0.0)
            scale = np.abs(value.astype(np.float64)).max(initial=0.0)
            relative = difference / scale if scale else difference
            good &= bool(relative <= 1e-3)
            say(f"  {arch:8} {output!r}: {difference:.3g}, {relative:.1e} of the largest magnitude")
    return good


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/demo", description=__doc__)
    parser.add_argument("model", nargs="?", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--arch", default="host,arm64,armv7", help="default: %(default)s")
    parser.add_argument("--input-shapes", help='for symbolic dims, as in "x:[1,3,224,224]"')
    parser.add_argument("--repeat", type=options.count, default=20, help="timed runs on the host")
    parser.add_argument("--seed", type=int, default=0, help="of the random inputs")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "demo", help="where to write")
    args = parser.parse_args(argv)
    try:
        archs = target.resolve(args.arch.split(","))
        args.out.mkdir(parents=True, exist_ok=True)
        model = args.model or zoo_model(args.out)
        say(f"{model}: for {', '.join(archs)}")
        results: dict[str, Result] = {}
        for arch in archs:
            try:
                results[arch] = compile_build_run(model, arch, args.out, args)
            except ToolError as error:
                say(f"\n{arch}: not run: {error}")
                continue
            show(arch, results[arch])
        if not results:
            return 1
        ports = package.load(args.out / f"{model.stem}_{next(iter(results))}").inputs
        proto = onnx.load(model)
        names = [port.name for port in proto.graph.output]
        inputs = arrays.fill(ports, "random", args.seed)
        name, want = reference.values(proto, inputs, names)
        good = show_differences(name, want, results)
    except MegccError as error:
        print(f"scripts/demo: {error}", file=sys.stderr)
        return 1
    say(f"\nThe packages are in {args.out}; try: make -C {args.out / model.stem}_{archs[0]}")
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
