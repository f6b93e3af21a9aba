"""Whether a file can be a model at all, before anything that reads models is loaded.

Enters: a path. Leaves: the format that its name says, or an `InputError`. Nothing of TVM or ONNX is
imported, so that a wrong file is refused at once.

Example
-------
>>> kind("net.TFLite"), kind("net")
('.tflite', '')
"""

from __future__ import annotations

import mmap
import os
import stat
from pathlib import Path

from tvm_megcc.core import wire
from tvm_megcc.errors import InputError

#: The remedy for a damaged ONNX model.
REMEDY = "export the model again or fix it with onnx.checker's help"

#: Models of other formats, by the end of the file's name.
NAMES = {
    ".tflite": "a TFLite model",
    ".pt2": "a PyTorch program",
    ".py": "a Relax module",
}

_EXPORT = "save it with torch.export.save as .pt2, or export it to ONNX"

#: Files that people take for models -> the remedy.
REFUSED = {
    ".json": "TVM 0.27 cannot write a Relax module as JSON (save_json crashes); give its text,"
    " mod.script(), as a .py file",
    ".relax": "give the text of a Relax module, mod.script(), as a .py file",
    ".pt": f"a PyTorch file without its program's text; {_EXPORT}",
    ".pth": f"a PyTorch file without its program's text; {_EXPORT}",
    ".pb": "a TensorFlow graph; convert it to TFLite or ONNX",
    ".keras": "a Keras model; convert it to TFLite or ONNX",
    ".h5": "a Keras model; convert it to TFLite or ONNX",
}


def kind(model: object) -> str:
    """The end of a path's name in lower case; empty for a model that is no path."""
    return Path(model).suffix.lower() if isinstance(model, str | os.PathLike) else ""


def check(model: str | os.PathLike[str], *, has_params: bool = False) -> None:
    """Refuse a file that is no model.

    `has_params`: values of the model's inputs were given, which only a Relax module takes.

    Raises
    ------
    InputError
        There is no such file, it cannot be read, its format is not known, or it is no ONNX model.
    """
    path, found = Path(model), kind(model)
    if has_params and found != ".py":
        raise InputError(
            f"'{path}': --params has values for the inputs of a Relax module (.py); the weights of"
            " other models are in their files"
        )
    if found in REFUSED:
        raise InputError(f"'{path}': {REFUSED[found]}")
    if path.exists() and not (path.is_file() or path.is_dir()):
        return  # a pipe, which can be read once only
    data = content(path, NAMES.get(found, "an ONNX model"))
    if found not in NAMES:
        check_onnx(data, f"'{path}'")


def require_onnx(model: str | os.PathLike[str], why: str) -> None:
    """Raise an `InputError` for a model that is of another format by its name."""
    if kind(model) in NAMES:
        raise InputError(f"'{model}' is {NAMES[kind(model)]}; {why}")


def check_onnx(data: wire.Bytes, what: str) -> None:
    """Refuse bytes that are no protobuf message; `what` is where they come from."""
    try:
        for _ in wire.fields(data):
            pass
    except wire.DamagedError:
        raise not_onnx(data, what) from None


def not_onnx(data: wire.Bytes, what: str) -> InputError:
    """The error about bytes that are no ONNX model."""
    return InputError(f"{what}: not an ONNX model, or cut short ({len(data)} bytes); {REMEDY}")


def read_bytes(path: Path, wanted: str) -> bytes:
    """All bytes of a file; `wanted` says in messages what it should hold. Errors as `content`."""
    found = content(path, wanted)
    return found if isinstance(found, bytes) else found[:]


def content(path: Path, wanted: str) -> mmap.mmap | bytes:
    """The bytes of a file that should be `wanted`: a map of it where that is possible.

    Raises
    ------
    InputError
        There is none, it cannot be read, or it is empty.
    """
    try:
        with path.open("rb") as file:
            state = os.fstat(file.fileno())
            if stat.S_ISREG(state.st_mode) and state.st_size:
                return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            if data := file.read():
                return data
            raise InputError(f"'{path}': the file is empty; give the path of {wanted}")
    except FileNotFoundError:
        raise InputError(f"'{path}': no such file; give the path of {wanted}") from None
    except OSError as err:
        raise InputError(f"'{path}': cannot be read ({err.strerror}); check the path") from None
