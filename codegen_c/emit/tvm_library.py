"""A package -> the extra C files that make it a TVM library, or a function for TVM's VM.

Enters: the model's name. Leaves: text.

Example
-------
>>> sorted(tvm_library_files("resnet"))[:2]
['src/tvm_execution.c', 'src/tvm_library.c']
"""

from __future__ import annotations

from tvm_megcc.codegen_c.sources import generated, package_text

#: The same for every model; what is not is in ``tvm_model.h``.
_SHARED = ("tvm_library.h", "tvm_shapes.c", "tvm_tensors.c", "tvm_values.c")
_LIBRARY = ("tvm_execution.c", "tvm_library.c", *_SHARED)
_REGION = ("tvm_region.c", *_SHARED)


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
    return _files(_LIBRARY, name, has_shapes, can_fail)


def tvm_region_files(
    symbol: str, name: str, *, has_shapes: bool = False, can_fail: bool = False
) -> dict[str, str]:
    """The FFI function around a region of a Relax module, otherwise as `tvm_library_files`.

    Parameters
    ----------
    symbol : str
        The function's name in TVM, a C identifier.
    """
    region = f'#define MEGCC_REGION __tvm_ffi_{symbol}\n#define MEGCC_REGION_NAME "{symbol}"\n'
    return _files(_REGION, name, has_shapes, can_fail, region)


def _files(
    paths: tuple[str, ...], name: str, has_shapes: bool, can_fail: bool, more: str = ""
) -> dict[str, str]:
    model = (
        f"{generated('What the TVM library has to know', name)}"
        "#ifndef MEGCC_TVM_MODEL_H\n#define MEGCC_TVM_MODEL_H\n\n"
        # Not the header of this folder, if the model's name is that of one.
        f"#include <{name}.h>\n\n"
        f"#define MEGCC_MODEL_IMAGE {name}_image\n"
        f"#define MEGCC_MODEL_KERNELS {name}_kernels\n"
        f"#define MEGCC_MODEL_HAS_SHAPES {int(has_shapes)}\n"
        f"#define MEGCC_MODEL_CAN_FAIL {int(can_fail)}\n{more}\n"
        "#endif  // MEGCC_TVM_MODEL_H\n"
    )
    return {"src/tvm_model.h": model, **{f"src/{path}": package_text(path) for path in paths}}
