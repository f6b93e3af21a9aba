"""Many compiled packages as one program, whose first argument says which of them runs.

Runtime and kernels that they share are compiled once, and nothing is linked but this one program.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

from tvm_megcc.backend import CFLAGS, Compiled
from tvm_megcc.codegen_c.emit.model_source import runner_features_h
from tvm_megcc.codegen_c.sources import package_text
from tvm_megcc.core.contents import Content, to_bytes
from tvm_megcc.host import files, toolchain

#: ``runner/model.h``: the model is what `_MAIN` chose.
_MODEL = """\
#define MODEL_HEADER <megcc.h>
#define MODEL_HAS_MACHINES 0
#define MODEL_MACHINE "{machine}"
#define MODEL_IMAGE (*the_image)
#define MODEL_KERNELS (*the_kernels)

extern const megcc_image_t *the_image;
extern const megcc_kernels_t *the_kernels;
"""

_MAIN = """\
#define main run_chosen
{runner}
#undef main

#include <string.h>
{headers}

const megcc_image_t *the_image;
const megcc_kernels_t *the_kernels;

static const struct {{
  const char *name;
  const megcc_image_t *image;
  const megcc_kernels_t *kernels;
}} kModels[] = {{
{rows}}};

int main(int argc, char **argv) {{
  size_t i;
  for (i = 0; i < sizeof kModels / sizeof *kModels; ++i) {{
    if (argc > 1 && !strcmp(argv[argc - 1], kModels[i].name)) {{
      the_image = kModels[i].image;
      the_kernels = kModels[i].kernels;
      return run_chosen(argc - 1, argv);
    }}
  }}
  return 2;
}}
"""


def build(packages: Mapping[str, Compiled], folder: Path, *, sanitize: bool = False) -> Path:
    """Build one program of packages whose names are their keys, all of one architecture.

    With `sanitize` sanitizers watch it, and the memory of every tensor that dies is poisoned.

    Run one of them by its `Compiled.run(program, inputs, [name])`.

    Raises
    ------
    tvm_megcc.errors.ToolError
        The C compiler refuses one of them.
    """
    merged: dict[str, Content] = {}
    for found in packages.values():
        for path, text in found.package.items():
            merged[_place(path, text, found)] = text
    (arch,) = next(iter(packages.values())).manifest["archs"]
    merged["runner/model.h"] = _MODEL.format(machine=arch)
    shaped = any("src/megcc_shapes.c" in p.package for p in packages.values())
    merged["runner/features.h"] = runner_features_h(
        shaped=shaped, fails=False, draws=False, generates=False
    )
    merged["main.c"] = _main(packages)
    files.write_tree(merged, folder / "package")
    return toolchain.build(
        folder / "package", arch, build_dir=folder / "build", sanitize=sanitize,
        extra_cflags=["-DMEGCC_DEBUG"] if sanitize else CFLAGS,  # the sanitizers bring -O1
    )  # fmt: skip


def _place(path: str, text: Content, found: Compiled) -> str:
    """Where a file of a package stands among those of the others."""
    if path.startswith("model/"):
        return path.replace("model/", f"model/{found.manifest['c_name']}_")
    if path.startswith("src/kernels/"):
        # Kernels of one file name may differ; equal ones are one file.
        mark = hashlib.sha256(to_bytes(text)).hexdigest()[:12]
        return re.sub(r"\.c$", f"_{mark}.c", path)
    return path


def _main(packages: Mapping[str, Compiled]) -> str:
    idents = {name: found.manifest["c_name"] for name, found in packages.items()}
    return _MAIN.format(
        headers="\n".join(f'#include "{ident}.h"' for ident in idents.values()),
        runner=package_text("main.c"),
        rows="".join(
            f'    {{"{name}", &{ident}_image, &{ident}_kernels}},\n'
            for name, ident in idents.items()
        ),
    )
