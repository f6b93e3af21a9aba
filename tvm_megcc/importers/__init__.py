"""Any model in, one form out: Relax with its inputs and outputs, whatever format it came in.

Enters: a path (``.onnx``, ``.tflite``, ``.pt2``, ``.py``) or an ``onnx.ModelProto``, and optionally
shapes and values of its inputs. Leaves: an `ImportedModel`, as `tvm_megcc.frontend` makes of ONNX.

Example
-------
>>> imported = import_model("model.tflite")                              # doctest: +SKIP
>>> [(port.name, port.dtype, port.shape) for port in imported.inputs]    # doctest: +SKIP
[('image', 'f32', (1, 224, 224, 3))]

ONNX has a frontend of our own. For the others TVM's importers make a Relax module, one file here
each, and `relax_module` makes an `ImportedModel` of it; ``relay.build`` takes modules of TVM's
importers through the same `self_contained`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tvm_megcc.core.model_file import REFUSED, kind, require_onnx

from ..dims import GivenDim
from ..errors import InputError
from ..frontend import ImportedModel, from_onnx

if TYPE_CHECKING:
    import onnx

__all__ = ["import_model"]

Shapes = Mapping[str, Sequence[GivenDim]]


def import_model(
    model: str | os.PathLike[str] | onnx.ModelProto,
    shapes: Shapes | None = None,
    params: Mapping[str, Any] | None = None,
    distinct_dims: Sequence[str] = (),
    states: Sequence[str] = (),
) -> ImportedModel:
    """Import a model of any format; the end of the file's name says which (ONNX, if nothing else).

    Parameters
    ----------
    model : path or onnx.ModelProto
    shapes : mapping of input name to dims, optional
        See `tvm_megcc.frontend.from_onnx`.
    params : mapping of str to array, optional
        Values of inputs, which become constants: the weights of a Relax module as text.
    distinct_dims : sequence of str
        See `tvm_megcc.frontend.from_onnx`; dims of other formats have names that say what they are.

    states : sequence of str
        See `tvm_megcc.frontend.from_onnx`; in other formats both ports have equal dims.

    Raises
    ------
    tvm_megcc.errors.MegccError
        The model cannot be read or compiled, its importer is not installed, or what was given does
        not fit it.
    """
    found = kind(model)
    if distinct_dims:
        require_onnx(model, "leave out --distinct-dims, which is for names in ONNX models")
    if found == ".py":
        from .script import import_script

        return import_script(_path(model), shapes, params)
    if params:
        raise InputError(
            f"{_quoted(model)}: --params has values for the inputs of a Relax module (.py); the"
            " weights of other models are in their files"
        )
    if found == ".tflite":
        from .tflite import import_tflite

        return import_tflite(_path(model), shapes)
    if found == ".pt2":
        from .exported_program import import_exported_program

        return import_exported_program(_path(model), shapes)
    if found in REFUSED:
        raise InputError(f"{_quoted(model)}: {REFUSED[found]}")
    return from_onnx(model, shapes, distinct_dims, states)


def _path(model: str | os.PathLike[str] | onnx.ModelProto) -> Path:
    assert isinstance(model, str | os.PathLike)
    return Path(model)


def _quoted(model: object) -> str:
    return f"'{model}'" if isinstance(model, str | os.PathLike) else "the model"
