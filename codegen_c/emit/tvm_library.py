"""A package -> the extra C files that make it a TVM library.

Enters: the model's name. Leaves: text.

Example
-------
>>> sorted(tvm_library_files("resnet"))[-2:]
['src/tvm_tensors.c', 'src/tvm_values.c']
"""

from __future__ import annotations

from tvm_megcc.codegen_c.sources import generated, package_text

#: The same for every model; what is not is in ``tvm_model.h``.
FILES = ("tvm_execution.c", "tvm_library.c", "tvm_library.h", "tvm_tensors.c", "tvm_values.c")


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
    model = (
        f"{generated('What the TVM library has to know', name)}"
        "#ifndef MEGCC_TVM_MODEL_H\n#define MEGCC_TVM_MODEL_H\n\n"
        # Not the header of this folder, if the model's name is that of one.
        f"#include <{name}.h>\n\n"
        f"#define MEGCC_MODEL_IMAGE {name}_image\n"
        f"#define MEGCC_MODEL_KERNELS {name}_kernels\n"
        f"#define MEGCC_MODEL_HAS_SHAPES {int(has_shapes)}\n"
        f"#define MEGCC_MODEL_CAN_FAIL {int(can_fail)}\n\n"
        "#endif  // MEGCC_TVM_MODEL_H\n"
    )
    return {"src/tvm_model.h": model, **{f"src/{path}": package_text(path) for path in FILES}}
