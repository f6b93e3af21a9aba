"""A package -> the extra C file that makes it a function for TVM's virtual machine."""

from __future__ import annotations

from tvm_megcc.codegen_c.sources import package_text

TEMPLATE = "tvm_region.c"


def tvm_region_files(
    symbol: str, ident: str, *, has_shapes: bool, can_fail: bool
) -> dict[str, str]:
    """The FFI wrapper around a region, to be compiled with the other sources of its package.

    Parameters
    ----------
    symbol : str
        The name that TVM calls, a C identifier.
    ident : str
        The model's C identifier: ``<ident>.h`` declares ``<ident>_image`` and ``<ident>_kernels``.
    has_shapes : bool
        Whether its shapes can change.
    can_fail : bool
        Whether data can end a run.
    """
    head = (
        f"// From codegen_c/emit/package/{TEMPLATE} for the region {symbol}; do not edit.\n"
        f'#include "{ident}.h"\n\n'
        f"#define MEGCC_REGION __tvm_ffi_{symbol}\n"
        f'#define MEGCC_REGION_NAME "{symbol}"\n'
        f"#define MEGCC_MODEL_IMAGE {ident}_image\n"
        f"#define MEGCC_MODEL_KERNELS {ident}_kernels\n"
        f"#define MEGCC_MODEL_HAS_SHAPES {int(has_shapes)}\n"
        f"#define MEGCC_MODEL_CAN_FAIL {int(can_fail)}\n\n"
    )
    return {f"src/{TEMPLATE}": head + package_text(TEMPLATE)}
