"""A package -> the extra C file that makes it a TVM library.

Enters: the model's name. Leaves: text.

Example
-------
>>> sorted(tvm_library_files("resnet"))
['src/tvm_library.c']
"""

from __future__ import annotations

from tvm_megcc.codegen_c.sources import package_text

TEMPLATE = "tvm_library.c"


def tvm_library_files(
    name: str, has_shapes: bool = False, can_fail: bool = False
) -> dict[str, str]:
    """The FFI wrapper around a model, to be compiled with the other sources of its package.

    Parameters
    ----------
    name : str
        The model's C identifier: ``<name>.h`` declares ``<name>_image`` and ``<name>_kernels``.
    has_shapes : bool
        Whether its shapes can change.
    can_fail : bool
        Whether data can end a run.
    """
    head = (
        f"// From codegen_c/emit/package/{TEMPLATE} for the model {name}; do not edit.\n"
        f'#include "{name}.h"\n\n'
        f"#define MEGCC_MODEL_IMAGE {name}_image\n"
        f"#define MEGCC_MODEL_KERNELS {name}_kernels\n"
        f"#define MEGCC_MODEL_HAS_SHAPES {int(has_shapes)}\n"
        f"#define MEGCC_MODEL_CAN_FAIL {int(can_fail)}\n\n"
    )
    return {f"src/{TEMPLATE}": head + package_text(TEMPLATE)}
