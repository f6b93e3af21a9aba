#!/usr/bin/env python3
"""Measure a change of shapes on this machine: MobileNetV2's, and the choice among buckets.

The C program below sets another batch, asks for the arena (which makes the VM bind symbols, choose
a program, compute sizes and stack blocks), and sets what is set already. Times are the least of
many, in microseconds, on one core.

Usage: ``scripts/bench_shapes.py``
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import onnx

from tvm_megcc import driver, zoo
from tvm_megcc.dynamic_options import DynamicOptions
from tvm_megcc.host import package, toolchain

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include MODEL_HEADER

enum { ROUNDS = 2000 };

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void check(megcc_status_t status) {
  if (status == MEGCC_OK) return;
  fprintf(stderr, "%s\n", megcc_status_string(status));
  exit(1);
}

int main(int argc, char **argv) {
  static uint64_t memory[MEGCC_MODEL_BYTES / 8];
  megcc_model_t *model;
  megcc_context_t *context;
  megcc_tensor_info_t info;
  size_t bytes;
  int32_t dims[2][8], low, high;
  double change = 1e9, same = 1e9;
  int i;
  low = atoi(argv[1]);
  high = argc > 2 ? atoi(argv[2]) : low;
  check(megcc_model_open(&MODEL_IMAGE, &MODEL_KERNELS, memory, sizeof memory, &model));
  check(megcc_context_bytes(model, &bytes));
  check(megcc_context_create(model, malloc(bytes), bytes, &context));
  check(megcc_input_info(context, 0, &info));
  for (i = 0; i < info.rank; ++i) {
    dims[0][i] = info.dims[i] < 0 ? low : info.dims[i];
    dims[1][i] = info.dims[i] < 0 ? high : info.dims[i];
  }
  for (i = 0; i < ROUNDS; ++i) {
    const double begin = now_us();
    double middle, end;
    check(megcc_set_input_shape(context, 0, info.rank, dims[i % 2]));
    check(megcc_arena_bytes(context, &bytes));
    middle = now_us();
    check(megcc_set_input_shape(context, 0, info.rank, dims[i % 2]));
    check(megcc_arena_bytes(context, &bytes));
    end = now_us();
    if (middle - begin < change) change = middle - begin;
    if (end - middle < same) same = end - middle;
  }
  printf("%.3f %.3f\n", change, same);
  return 0;
}
"""


def measured(
    model: onnx.ModelProto, sizes: tuple[int, int], options: DynamicOptions
) -> list[float]:
    """Microseconds of a change between two sizes, and of setting what is set."""
    with tempfile.TemporaryDirectory(prefix="tvm_megcc.") as directory:
        root = Path(directory)
        driver.compile_model(model, root / "pkg", name="model", dynamic=options)
        arch = package.load(root / "pkg").choose("host")
        runner = toolchain.build(root / "pkg", arch, build_dir=root / "build")
        (root / "bench.c").write_text(PROGRAM)
        command = [
            *toolchain.find_compiler(arch).split(), "-O2", "-D_POSIX_C_SOURCE=200112L",
            '-DMODEL_HEADER="model.h"', "-DMODEL_IMAGE=model_image",
            "-DMODEL_KERNELS=model_kernels",
            f"-I{root / 'pkg' / 'include'}", str(root / "bench.c"),
            str(runner.with_name("libmodel.a")), "-o", str(root / "bench"),
        ]  # fmt: skip
        subprocess.run(command, check=True)
        done = subprocess.run(
            [root / "bench", *map(str, sizes)], check=True, capture_output=True, text=True
        )
    return [float(word) for word in done.stdout.split()]


def main() -> int:
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0]).parse_args()
    change, same = measured(zoo.build("mobilenet_v2", batch="N"), (1, 2), DynamicOptions())
    print(f"mobilenet_v2, another batch: {change:.2f} us; the same batch again: {same:.3f} us")
    tiny = zoo.build("tiny_mlp", batch="N")
    name = tiny.graph.input[0].name
    times = {}
    for count in (2, 256):
        found = [(n, n + 1) for n in range(1, count)] + [(count, None)]
        options = DynamicOptions(buckets={name: {0: found}}, max_buckets=256, fallback="none")
        times[count], _ = measured(tiny, (count - 1, count), options)
    choice = times[256] - times[2]
    print(f"tiny_mlp, choice of the last of 256 buckets: {choice:.2f} us of {times[256]:.2f} us")
    return 0


if __name__ == "__main__":
    sys.exit(main())
