"""How much machine code a package has: MobileNetV1, which takes six kernels; the runtime alone."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.runtime import programs
from tvm_megcc import driver, zoo
from tvm_megcc.core.machine import ROWS
from tvm_megcc.core.preference import Preference
from tvm_megcc.host import toolchain

pytestmark = pytest.mark.slow

#: Bytes for arm64. `size` has its kernels compiled for size, which have fewer tiles then.
LIMITS = {"balanced": 40_000, "size": 24_000}


@pytest.mark.parametrize("optimize", LIMITS)
def test_machine_code_stays_small(optimize: str, tmp_path: Path) -> None:
    if not shutil.which(ROWS["arm64"].compiler):
        pytest.skip(f"needs a compiler for arm64: apt install {ROWS['arm64'].packages}")
    model, package = tmp_path / "m.onnx", tmp_path / "package"
    model.write_bytes(zoo.build("mobilenet_v1", size=32).SerializeToString())
    driver.compile_model(model, package, archs=["arm64"], preference=Preference(optimize))
    runner = toolchain.build(package, "arm64")
    code = toolchain.text_bytes(runner.with_name("libmodel.a"), "arm64")
    assert code < LIMITS[optimize], f"{code:,} bytes of machine code in {optimize}"


#: What a program of one model says to the runtime.
PROGRAM = """#include "corners.h"

static union {
  char bytes[MEGCC_MODEL_BYTES];
  void *align;
} model_memory;
static union {
  char bytes[CORNERS_CONTEXT_BYTES];
  void *align;
} context_memory;
static char arena[CORNERS_ARENA_BYTES + MEGCC_ALIGNMENT];

megcc_status_t start(const void *const *in, void *const *out, const size_t *bytes);
megcc_status_t start(const void *const *in, void *const *out, const size_t *bytes) {
  megcc_model_t *model;
  megcc_context_t *context;
  megcc_status_t s;
  char *place = arena + (MEGCC_ALIGNMENT - (uintptr_t)arena % MEGCC_ALIGNMENT) % MEGCC_ALIGNMENT;
  if ((s = megcc_model_open(&corners_image, &corners_kernels, &model_memory, sizeof model_memory,
                            &model)) ||
      (s = megcc_context_create(model, &context_memory, sizeof context_memory, &context)) ||
      (s = megcc_set_arena(context, place, CORNERS_ARENA_BYTES)) ||
      (s = megcc_bind_input(context, 0, in[0], bytes[0])) ||
      (s = megcc_bind_output(context, 0, out[0], bytes[1]))) {
    return s;
  }
  return megcc_run(context);
}
"""


def test_runtime_of_a_static_package_is_small(tmp_path: Path) -> None:
    """In a program, which takes what it calls; the three kernels are some dozen instructions."""
    compiler = ROWS["arm64"].compiler
    if not shutil.which(compiler):
        pytest.skip(f"needs a compiler for arm64: apt install {ROWS['arm64'].packages}")
    package = programs.write_corners(tmp_path / "package", "arm64")
    library = toolchain.build(package, "arm64", extra_cflags=["-Os"], runner=False)
    (tmp_path / "app.c").write_text(PROGRAM)
    command = [compiler, "-Os", "-r", "-nostdlib", "-Wl,--gc-sections", "-Wl,-e,start"]
    command += [f"-I{package / 'include'}", tmp_path / "app.c", library, "-o", tmp_path / "app.o"]
    subprocess.run(command, check=True)
    code = toolchain.text_bytes(tmp_path / "app.o", "arm64")
    assert 4_000 < code < 6_300, f"{code:,} bytes of machine code in a program"
    parts = list((library.parent / "obj" / "src").glob("megcc_*.o"))
    code = sum(toolchain.text_bytes(part, "arm64") for part in parts)
    assert code <= 8_100, f"{code:,} bytes of machine code in the library"
