"""``.pt2``, a ``torch.export.ExportedProgram`` -> Relax, with TVM's importer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..dims import Symbol
from ..errors import ToolError
from ..frontend import ImportedModel
from .files import importing, read
from .relax_module import from_module

_KIND = "what torch.export.save wrote"
_REMEDY = "export it again with torch.export.save, or to ONNX"


def import_exported_program(
    path: Path, shapes: Mapping[str, Sequence[int | str | Symbol | None]] | None
) -> ImportedModel:
    """Import a PyTorch program; dims that it was exported with as dynamic are symbolic.

    Raises
    ------
    tvm_megcc.errors.MegccError
        The file is none, TVM's importer has no converter for an operator, torch is not installed.
    """
    read(path, _KIND)
    try:
        import torch
    except ImportError:
        raise ToolError(
            f"'{path}': PyTorch programs need torch; pip install 'tvm-megcc[torch]'"
        ) from None
    from tvm.relax.frontend.torch import from_exported_program

    with importing(path, "PyTorch", _REMEDY):
        program = torch.export.load(path)
    with importing(path, "TVM's PyTorch importer", _REMEDY):
        mod = from_exported_program(program, unwrap_unit_return_tuple=True)
    return from_module(mod, shapes, name=path.stem, where=f"'{path}'")
