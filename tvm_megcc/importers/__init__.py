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

from ..dims import GivenDim
from ..errors import InputError
from ..frontend import ImportedModel, from_onnx

if TYPE_CHECKING:
    import onnx

__all__ = ["import_model", "require_onnx"]

Shapes = Mapping[str, Sequence[GivenDim]]


def import_model(
    model: str | os.PathLike[str] | onnx.ModelProto,
    shapes: Shapes | None = None,
    params: Mapping[str, Any] | None = None,
    distinct_dims: Sequence[str] = (),
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

    Raises
    ------
    tvm_megcc.errors.MegccError
        The model cannot be read or compiled, its importer is not installed, or what was given does
        not fit it.
    """
    kind = _kind(model)
    if distinct_dims:
        require_onnx(model, "leave out --distinct-dims, which is for names in ONNX models")
    if kind == ".py":
        from .script import import_script

        return import_script(_path(model), shapes, params)
    if params:
        raise InputError(
            f"{_quoted(model)}: --params has values for the inputs of a Relax module (.py); the"
            " weights of other models are in their files"
        )
    if kind == ".tflite":
        from .tflite import import_tflite

        return import_tflite(_path(model), shapes)
    if kind == ".pt2":
        from .exported_program import import_exported_program

        return import_exported_program(_path(model), shapes)
    if kind in _REFUSED:
        raise InputError(f"{_quoted(model)}: {_REFUSED[kind]}")
    return from_onnx(model, shapes, distinct_dims)


def require_onnx(model: str | os.PathLike[str], why: str) -> None:
    """Refuse a model that is of another format by its name.

    Raises
    ------
    InputError
    """
    if _kind(model) in _NAMES:
        raise InputError(f"'{model}' is {_NAMES[_kind(model)]}; {why}")


#: What models of other formats are, by the end of the file's name.
_NAMES = {
    ".tflite": "a TFLite model",
    ".pt2": "a PyTorch program",
    ".py": "a Relax module",
}

_EXPORT = "save it with torch.export.save as .pt2, or export it to ONNX"

#: What to do about files that people take for models.
_REFUSED = {
    ".json": "TVM 0.27 cannot write a Relax module as JSON (save_json crashes); give its text,"
    " mod.script(), as a .py file",
    ".relax": "give the text of a Relax module, mod.script(), as a .py file",
    ".pt": f"a PyTorch file without its program's text; {_EXPORT}",
    ".pth": f"a PyTorch file without its program's text; {_EXPORT}",
    ".pb": "a TensorFlow graph; convert it to TFLite or ONNX",
    ".keras": "a Keras model; convert it to TFLite or ONNX",
    ".h5": "a Keras model; convert it to TFLite or ONNX",
}


def _kind(model: str | os.PathLike[str] | onnx.ModelProto) -> str:
    return Path(model).suffix.lower() if isinstance(model, str | os.PathLike) else ""


def _path(model: str | os.PathLike[str] | onnx.ModelProto) -> Path:
    assert isinstance(model, str | os.PathLike)
    return Path(model)


def _quoted(model: object) -> str:
    return f"'{model}'" if isinstance(model, str | os.PathLike) else "the model"
