"""``.pt2``, a ``torch.export.ExportedProgram`` -> Relax, with TVM's importer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tvm_megcc.core.model_file import read_bytes

from ..dims import GivenDim
from ..errors import ToolError, UnsupportedError
from ..frontend import ImportedModel
from .failures import importing
from .relax_module import from_module

if TYPE_CHECKING:
    from torch.export import ExportGraphSignature

_KIND = "what torch.export.save wrote"
_REMEDY = "export it again with torch.export.save, or to ONNX"


def import_exported_program(
    path: Path, shapes: Mapping[str, Sequence[GivenDim]] | None
) -> ImportedModel:
    """Import a PyTorch program; dims that it was exported with as dynamic are symbolic.

    Raises
    ------
    tvm_megcc.errors.MegccError
        The file is none, TVM's importer has no converter for an operator, torch is not installed.
    """
    read_bytes(path, _KIND)
    try:
        import torch
    except ImportError:
        raise ToolError(f"'{path}': PyTorch programs need torch; pip install torch") from None
    from tvm.relax.frontend.torch import from_exported_program

    with importing(path, "PyTorch", _REMEDY):
        # Only of what is decomposed does the signature say what a run changes.
        program = torch.export.load(path).run_decompositions()
    _check_state(path, program.graph_signature)
    with importing(path, "TVM's PyTorch importer", _REMEDY):
        mod = from_exported_program(
            program, unwrap_unit_return_tuple=True, run_ep_decomposition=False
        )
    return from_module(mod, shapes, name=path.stem, where=f"'{path}'")


def _check_state(path: Path, signature: ExportGraphSignature) -> None:
    """Refuse what a run changes besides its outputs: TVM's importer leaves it out."""
    changed = [*signature.buffers_to_mutate.values(), *signature.user_inputs_to_mutate.values()]
    if changed:
        raise UnsupportedError(
            f"'{path}': a run changes '{changed[0]}', and a package keeps nothing between runs;"
            " return the new value as an output, and give it to the next run"
        )
